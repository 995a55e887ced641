// What holds a loader back, out of what was measured of it.
#pragma once

#include <optional>
#include <string>

#include "lib/measure/consumer_waits.h"
#include "tools/bench_feed.h"

namespace prep {

struct FeedVerdict {
  // The step on which the workers spend most of their time.
  enum class Step { read, decode, crop } step = Step::decode;
  // What there would have to be more of.
  enum class Cause {
    input,    // a single stream is being read all the time: workers wait for it
    storage,  // workers wait for files; more of them would wait at the same time
    workers,  // CPUs are idle
    cpu       // all CPUs are at work
  } cause = Cause::cpu;

  double rate = 0;                        // images/s delivered
  double read = 0, decode = 0, crop = 0;  // shares of the workers' time
  double waiting = 0;                     // the rest: for other workers to fill a batch
  double cpu_use = 0;                     // of the CPUs that the workers may use
  double cpu_seconds_an_image = 0;        // of one CPU
  double input_rate = 0;                  // images/s that the source could give; 0: no limit seen
  double possible_rate = 0;               // with a worker on every CPU, as far as can be told
  bool was_disturbed = false;             // others took CPU time away
};

FeedVerdict judge(const FeedMeasurements& feed);
std::string_view name(FeedVerdict::Step step);
std::string_view name(FeedVerdict::Cause cause);

// How long a GPU that takes `need` images/s would have waited. By replaying the batches; by the
// mean rate where there were too few of them.
measure::ConsumerWaits waits_of(const FeedMeasurements& feed, const FeedVerdict& verdict, int batch,
                                double need);

}  // namespace prep
