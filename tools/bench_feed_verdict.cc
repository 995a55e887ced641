#include "tools/bench_feed_verdict.h"

#include <algorithm>

namespace prep {
namespace {

using Step = FeedVerdict::Step;
using Cause = FeedVerdict::Cause;

// A source that is being read for more of the time than this has nothing left to give.
constexpr double kBusySource = 0.8;
// Workers that wait for longer than they work while they read wait for the storage.
constexpr double kWaitingReader = 0.5;
constexpr double kBusyCpus = 0.85;
// Decoding needs nothing but CPU: what it takes longer than that, others had.
constexpr double kDisturbed = 1.25;
// Loaders keep a few batches ready; PyTorch's default is two for each worker.
constexpr std::size_t kBuffered = 4;
constexpr std::size_t kFewBatches = 10;

double read_seconds(const std::array<double, kFeedSteps>& times) {
  return times[static_cast<std::size_t>(FeedStep::wait_for_source)] +
         times[static_cast<std::size_t>(FeedStep::find)] +
         times[static_cast<std::size_t>(FeedStep::load)];
}

double sum(const std::array<double, kFeedSteps>& times) {
  double sum = 0;
  for (const double time : times) sum += time;
  return sum;
}

Step largest(const FeedVerdict& verdict) {
  if (verdict.read >= std::max(verdict.decode, verdict.crop)) return Step::read;
  return verdict.decode >= verdict.crop ? Step::decode : Step::crop;
}

Cause cause_of(const FeedMeasurements& feed, const FeedVerdict& verdict) {
  if (verdict.step == Step::read) {
    if (feed.times.wall_of(FeedStep::find) > kBusySource * feed.seconds) return Cause::input;
    const double wall = read_seconds(feed.times.wall), cpu = read_seconds(feed.times.cpu);
    if (wall - cpu > kWaitingReader * wall) return Cause::storage;
  }
  const bool idle = verdict.cpu_use < kBusyCpus && feed.workers < feed.cpus;
  return idle ? Cause::workers : Cause::cpu;
}

// CPUs allow so much, and a source that can be read by one at a time no more than that.
double possible_rate(const FeedMeasurements& feed, const FeedVerdict& verdict) {
  const double by_cpu = feed.cpus / std::max(verdict.cpu_seconds_an_image, 1e-9);
  const double rate = verdict.input_rate > 0 ? std::min(by_cpu, verdict.input_rate) : by_cpu;
  return std::max(rate, verdict.rate);
}

}  // namespace

FeedVerdict judge(const FeedMeasurements& feed) {
  FeedVerdict verdict;
  const auto pictures = static_cast<double>(feed.pictures);
  const double wall = std::max(sum(feed.times.wall), 1e-9), cpu = sum(feed.times.cpu);
  verdict.rate = pictures / std::max(feed.seconds, 1e-9);
  verdict.read = read_seconds(feed.times.wall) / wall;
  verdict.decode = feed.times.wall_of(FeedStep::decode) / wall;
  verdict.crop = feed.times.wall_of(FeedStep::crop) / wall;
  verdict.waiting = feed.times.wall_of(FeedStep::wait_for_batch) / wall;
  verdict.cpu_use = cpu / std::max(feed.seconds * feed.cpus, 1e-9);
  verdict.cpu_seconds_an_image = cpu / std::max(pictures, 1.0);
  const double finding = feed.times.wall_of(FeedStep::find);
  if (feed.is_stream && finding > 0) verdict.input_rate = pictures / finding;
  const double decoding = feed.times.wall_of(FeedStep::decode);
  verdict.was_disturbed = feed.workers <= feed.cpus && decoding > 0.1 * wall &&
                          decoding > kDisturbed * feed.times.cpu_of(FeedStep::decode);
  verdict.step = largest(verdict);
  verdict.cause = cause_of(feed, verdict);
  verdict.possible_rate = possible_rate(feed, verdict);
  return verdict;
}

std::string_view name(Step step) {
  switch (step) {
    case Step::read:
      return "read";
    case Step::decode:
      return "decode";
    case Step::crop:
      break;
  }
  return "crop";
}

std::string_view name(Cause cause) {
  switch (cause) {
    case Cause::input:
      return "input";
    case Cause::storage:
      return "storage";
    case Cause::workers:
      return "workers";
    case Cause::cpu:
      break;
  }
  return "cpu";
}

measure::ConsumerWaits waits_of(const FeedMeasurements& feed, const FeedVerdict& verdict, int batch,
                                double need) {
  const double work = batch / need;
  if (feed.batch_ready.size() >= kFewBatches) {
    return measure::replay_consumer(feed.batch_ready, work, kBuffered);
  }
  measure::ConsumerWaits waits;
  waits.items = 1;
  waits.working = work;
  waits.waiting = std::max(0.0, batch / verdict.rate - work);
  return waits;
}

}  // namespace prep
