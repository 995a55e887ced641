// prep-bench decode: how fast each decoder turns a data set's pictures into pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/tool.h"
#include "tools/bench_decoders.h"
#include "tools/bench_pictures.h"
#include "tools/bench_samples.h"

namespace prep {

struct DecodeBenchOptions {
  std::vector<const DecoderKind*> decoders;
  bool from_memory = true, from_disk = true;
  // Of "raw", "resized", "recompressed", "both", in the order in which they are told of.
  std::vector<std::string> variants = {"raw"};
  ChoiceOptions choice;
  int warmup = 1, runs = 5;
  std::vector<int> threads = {1};
  PictureLimits limits;
};

// Pictures that are measured together, because the same decoders take all of them.
struct PictureSet {
  std::string name;     // "JPEG", "other JPEG", "PNG", …
  std::string variant;  // "raw", "resized", …
  std::vector<BenchPicture> pictures;
  bool on_disk = false;  // all can be read again
  bool are_files = false;

  std::uint64_t bytes() const;
  double megapixels() const;
};

struct DecodeCase {
  const PictureSet* set = nullptr;
  const DecoderKind* decoder = nullptr;
  bool from_disk = false;
  int threads = 1;
  std::vector<double> seconds;      // of each run
  std::vector<double> cpu_seconds;  // likewise, of all threads together
};

// How a decoder's pictures compare with those of libjpeg-turbo's RGB.
struct Agreement {
  const DecoderKind* decoder = nullptr;
  std::uint64_t pictures = 0, differing = 0;
  double worst = 0;  // mean difference of one picture, in steps of 255
  std::string worst_origin;
};

struct DecodeMeasurements {
  SampleChoice choice;  // without its samples
  std::vector<PictureSet> sets;
  std::vector<DecodeCase> cases;
  std::vector<Agreement> agreements;
  std::string digest;  // of the pictures' bytes
  bool memory_was_short = false;
};

// Chooses samples, checks them, and measures. throws Error empty where nothing can be measured.
DecodeMeasurements measure_decoding(const RunContext& run, const DecodeBenchOptions& options);

}  // namespace prep
