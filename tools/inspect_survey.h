// A look at every sample of a data set: what its headers say, counted in bounded memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/tool.h"
#include "tools/inspect_counts.h"
#include "tools/inspect_duplicates.h"
#include "tools/inspect_facts.h"
#include "tools/lowest_ranks.h"

namespace prep {

// To what size pictures are shrunk by default (prep-resize).
inline constexpr int kShortSide = 256;

struct SurveyOptions {
  std::uint64_t samples = 2000;  // that are chosen to be tried
  std::uint64_t seed = 0;
  PictureLimits limits;
};

// A sample that was chosen: by a hash of its key, the same whatever the order and the threads.
struct ChosenSample {
  Sample sample;
  std::vector<PartFacts> facts;  // of each part
};

// A picture that is worth being looked at.
struct OddPicture {
  std::shared_ptr<const Content> content;
  PictureFacts facts;
  std::uint64_t bytes = 0;
};

// What is known of all samples with pictures, for what is measured on some: see CalibratedSample.
using Auxiliaries = std::vector<double>;
Auxiliaries auxiliaries_of(const std::vector<PartFacts>& parts);

// Whether a picture is one of labels, whose values must stay: a PNG with a palette, or a grey one
// beside another picture.
bool is_mask(const PictureFacts& facts, const std::vector<PartFacts>& parts);

struct Survey {
  std::uint64_t samples = 0, parts = 0, bytes = 0;
  std::uint64_t bad = 0;  // samples with something that their headers say cannot be used
  double seconds = 0;
  bool is_rereadable = true;

  NameCounts part_names{1000}, part_sets{1000}, formats{100};
  LogCounts part_bytes;  // of pictures and recordings

  std::uint64_t pictures = 0, picture_bytes = 0;  // that can be read
  std::uint64_t unsupported = 0;                  // pictures of formats that nothing here decodes
  std::uint64_t jpegs = 0, jpeg_bytes = 0, plain_jpegs = 0;
  LogCounts short_sides, megapixels, aspects;  // aspects: width / height
  std::uint64_t small = 0;                     // short side of at most kShortSide
  std::uint64_t qualities[101] = {};
  Tally subsamplings, colors;
  std::uint64_t progressive = 0, rotated = 0, with_icc = 0, deep = 0;
  std::map<std::string, std::uint64_t> mask_parts;  // by the name of the part
  std::uint64_t masks = 0;

  std::uint64_t recordings = 0, recording_bytes = 0;

  NameCounts directories{100'000}, labels{100'000};
  std::uint64_t unlabelled = 0;  // samples without a "cls"

  // Of samples with pictures, and with recordings: how many, and the sums of what is known.
  std::uint64_t picture_samples = 0, recording_samples = 0;
  Auxiliaries picture_totals, recording_totals;

  DuplicateFinder duplicates;
  std::vector<ChosenSample> chosen;  // by rank: any first ones are a random choice, too
  bool memory_was_short = false;
  std::map<std::string, std::vector<OddPicture>> odd;  // by what is odd
  Tally left_out;

  int quality_quantile(double p) const;
};

// Goes through all inputs. Bad samples are given to the run's reporter. throws Error as sources do.
std::unique_ptr<Survey> survey(const RunContext& run, const SurveyOptions& options);

}  // namespace prep
