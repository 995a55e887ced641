// prep-bench feed: a training loader's whole path, from the container to batches of pixels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/tool.h"
#include "tools/bench_decoders.h"
#include "tools/bench_pictures.h"
#include "tools/bench_samples.h"

namespace prep {

enum class FeedOrder { by_kind, sequential, random };
enum class FeedCrop { random_resized, center };

struct FeedBenchOptions {
  const DecoderKind* decoder = nullptr;  // of plain JPEGs; OpenCV decodes everything else
  FeedOrder order = FeedOrder::by_kind;  // by_kind: loose files at random, containers as they lie
  FeedCrop crop = FeedCrop::random_resized;
  int side = 224;  // of a crop
  int batch = 256;
  int workers = 0;      // 0: as many as may work
  double seconds = 10;  // how long is measured
  double need = 0;      // images/s that the GPU takes; 0: not told
  bool cold = false;
  ChoiceOptions choice;
  PictureLimits limits;
};

// What a worker does, one after the other, for each picture.
enum class FeedStep {
  wait_for_source,  // another worker is at the source
  find,             // the source finds the next sample; in a stream that is reading it
  load,             // the bytes of the sample's parts
  decode,
  wait_for_batch,  // the batch that comes next is still being filled
  crop
};
inline constexpr std::size_t kFeedSteps = 6;

// Seconds by step, summed over workers.
struct FeedTimes {
  std::array<double, kFeedSteps> wall{}, cpu{};

  double wall_of(FeedStep step) const { return wall[static_cast<std::size_t>(step)]; }
  double cpu_of(FeedStep step) const { return cpu[static_cast<std::size_t>(step)]; }
  void add(const FeedTimes& other);
};

struct FeedMeasurements {
  int workers = 0;
  int cpus = 0;        // on which the workers may run
  double seconds = 0;  // from the common start to the end of the last worker
  std::uint64_t pictures = 0, bytes = 0;
  double megapixels = 0;
  std::uint64_t passes = 0;  // over the data, begun
  bool is_stream = false;    // read as it lies, instead of at random
  FeedTimes times;
  std::vector<double> batch_ready;  // seconds after the start
};

// throws Error empty where no picture came, usage where the order cannot be had.
FeedMeasurements measure_feeding(const RunContext& run, const FeedBenchOptions& options);

}  // namespace prep
