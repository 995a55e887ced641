#include "tools/bench_feed.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "lib/core/interrupt.h"
#include "lib/core/key_hash.h"
#include "tools/bench_batches.h"
#include "tools/bench_crop.h"
#include "tools/bench_feed_supply.h"
#include "tools/bench_threads.h"

namespace prep {
namespace {

constexpr std::size_t kChannels = 3;

// Reads both clocks between steps, and books what has passed since.
class StepClock {
 public:
  explicit StepClock(FeedTimes& times) : times_(times) { start(); }

  void start() {
    wall_ = wall_seconds();
    cpu_ = thread_cpu_seconds();
  }
  void end(FeedStep step) {
    const double wall = wall_, cpu = cpu_;
    start();
    times_.wall[static_cast<std::size_t>(step)] += wall_ - wall;
    times_.cpu[static_cast<std::size_t>(step)] += cpu_ - cpu;
  }
  double now() const { return wall_; }

 private:
  FeedTimes& times_;
  double wall_ = 0, cpu_ = 0;
};

struct Worker {
  std::unique_ptr<PictureDecoder> jpeg, other;
  FeedTimes times;
  std::uint64_t pictures = 0, bytes = 0;
  double megapixels = 0;
};

class Feed {
 public:
  Feed(const RunContext& run, const FeedBenchOptions& options, int workers)
      : run_(run),
        options_(options),
        supply_(make_supply(run, options)),
        ring_(static_cast<std::size_t>(options.batch), item_bytes(options)),
        crew_(static_cast<std::size_t>(workers)) {}

  FeedMeasurements measure() {
    FeedMeasurements results;
    results.seconds = run_pinned(
        static_cast<int>(crew_.size()), [this](int i) { prepare(worker(i)); },
        [this](int i) { work(worker(i)); });
    results.workers = static_cast<int>(crew_.size());
    results.cpus = static_cast<int>(usable_cpus().size());
    for (const Worker& one : crew_) {
      results.times.add(one.times);
      results.pictures += one.pictures;
      results.bytes += one.bytes;
      results.megapixels += one.megapixels;
    }
    results.passes = supply_->passes();
    results.is_stream = supply_->is_stream();
    results.batch_ready = ring_.ready();
    for (double& ready : results.batch_ready) ready -= begin_;
    return results;
  }

 private:
  static std::size_t item_bytes(const FeedBenchOptions& options) {
    return static_cast<std::size_t>(options.side) * static_cast<std::size_t>(options.side) *
           kChannels;
  }
  Worker& worker(int index) { return crew_[static_cast<std::size_t>(index)]; }

  void prepare(Worker& worker) const {
    worker.jpeg = options_.decoder->make();
    worker.other = decoder_named("imdecode").make();
  }

  // A worker that fails ends the others, too.
  void work(Worker& worker) {
    std::call_once(began_, [this] { begin_ = wall_seconds(); });
    try {
      StepClock clock(worker.times);
      while (!stop_ && clock.now() < begin_ + options_.seconds) {
        check_interrupt();
        if (!feed_one(worker, clock)) break;
      }
    } catch (...) {
      stop_ = true;
      throw;
    }
  }

  bool feed_one(Worker& worker, StepClock& clock) {
    Sample sample;
    bool is_first_pass = false;
    {
      const std::lock_guard lock(source_mutex_);
      clock.end(FeedStep::wait_for_source);
      // What was waited for may have taken all the time that there was.
      if (clock.now() >= begin_ + options_.seconds || stop_) return false;
      const bool more = is_worth_going_on() && supply_->next(sample);
      is_first_pass = supply_->passes() == 1;
      clock.end(FeedStep::find);
      if (!more) return false;
    }
    Outcome outcome;
    outcome.key = sample.key;
    try {
      take(sample, worker, clock, outcome);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted || error.code() == Code::internal) throw;
      clock.start();
      outcome.kind = Outcome::Kind::failed;
      outcome.code = error.code();
      outcome.message = error.what();
      if (error.code() == Code::empty && !sample.fault) {
        outcome.kind = Outcome::Kind::skipped;
        outcome.message = "no picture";
      }
    }
    if (!is_first_pass) return true;
    const std::lock_guard lock(report_mutex_);
    run_.reporter.add(outcome);
    return true;
  }

  // Data without a picture would be gone through again and again.
  bool is_worth_going_on() const { return supply_->passes() == 1 || delivered_ > 0; }

  void take(const Sample& sample, Worker& worker, StepClock& clock, Outcome& outcome) {
    if (sample.fault) throw *sample.fault;
    // A loader reads all of a sample, its label, too.
    std::vector<Bytes> parts;
    for (const Part& part : sample.parts) parts.push_back(part.content->load());
    clock.end(FeedStep::load);
    const std::size_t index = find_picture(parts);
    if (index == parts.size()) fail(Code::empty, "{}: no picture", printable(sample.key));
    outcome.origin = sample.parts[index].content->origin();
    outcome.bytes_in = parts[index].size();
    try {
      put_into_batch(decode(parts[index], worker), sample.key, worker, clock);
    } catch (const Error& error) {
      throw Error(error.code(), printable(outcome.origin) + ": " + error.what());
    }
    worker.bytes += parts[index].size();
  }

  static std::size_t find_picture(const std::vector<Bytes>& parts) {
    const auto found = std::find_if(parts.begin(), parts.end(), [](const Bytes& bytes) {
      return image::sniff(bytes.view()) != image::Format::unknown;
    });
    return static_cast<std::size_t>(found - parts.begin());
  }

  Decoded decode(const Bytes& data, Worker& worker) const {
    const BenchPicture picture = describe_picture(data, options_.limits);
    const Decoded decoded =
        (options_.decoder->takes(picture) ? worker.jpeg : worker.other)->decode(data);
    worker.megapixels += picture.megapixels();
    return decoded;
  }

  void put_into_batch(const Decoded& decoded, const std::string& key, Worker& worker,
                      StepClock& clock) {
    clock.end(FeedStep::decode);
    const BatchRing::Place place = ring_.take();
    clock.end(FeedStep::wait_for_batch);
    try {
      crop(decoded.pixels, mixed(key_hash(key) ^ place.number), place.memory);
    } catch (...) {
      // Others wait for the batch to be full.
      ring_.fill(place, wall_seconds());
      throw;
    }
    clock.end(FeedStep::crop);
    ring_.fill(place, clock.now());
    ++worker.pictures;
    ++delivered_;
  }

  void crop(const image::ConstPlane& pixels, std::uint64_t seed, std::uint8_t* out) const {
    const CropBox box = options_.crop == FeedCrop::center
                            ? center_box(pixels.width, pixels.height)
                            : random_resized_box(pixels.width, pixels.height, seed);
    crop_to(pixels, box, options_.side, out);
  }

  const RunContext& run_;
  const FeedBenchOptions& options_;
  std::unique_ptr<FeedSupply> supply_;
  BatchRing ring_;
  std::vector<Worker> crew_;
  std::mutex source_mutex_, report_mutex_;
  std::once_flag began_;
  double begin_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> delivered_{0};
};

}  // namespace

void FeedTimes::add(const FeedTimes& other) {
  for (std::size_t i = 0; i < kFeedSteps; ++i) {
    wall[i] += other.wall[i];
    cpu[i] += other.cpu[i];
  }
}

FeedMeasurements measure_feeding(const RunContext& run, const FeedBenchOptions& options) {
  FeedMeasurements results;
  if (options.workers > 0) {
    results = Feed(run, options, options.workers).measure();
  } else {
    const BorrowedThreads threads(run.slots);
    results = Feed(run, options, threads.count()).measure();
  }
  if (results.pictures == 0) {
    fail(Code::empty, "no picture came in {:.1f} s", results.seconds);
  }
  return results;
}

}  // namespace prep
