#include "tools/bench_read.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <numeric>

#include "lib/core/interrupt.h"
#include "lib/core/key_hash.h"
#include "tools/bench_page_cache.h"
#include "tools/bench_threads.h"

namespace prep {
namespace {

Outcome outcome_of(const Sample& sample) {
  Outcome outcome;
  outcome.key = sample.key;
  if (!sample.parts.empty()) outcome.origin = sample.parts[0].content->origin();
  return outcome;
}

void mark_failed(Outcome& outcome, const Error& error) {
  outcome.kind = Outcome::Kind::failed;
  outcome.code = error.code();
  outcome.message = error.what();
}

std::uint64_t read_all(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Part& part : sample.parts) bytes += part.content->load().size();
  return bytes;
}

// What one run saw; each thread has its own, so that they do not wait for each other.
struct Tape {
  std::uint64_t samples = 0, bytes = 0;
  std::vector<double> latencies;

  void add(std::uint64_t size, double seconds) {
    ++samples;
    bytes += size;
    latencies.push_back(seconds);
  }
};

// One run: its time, and what all threads saw.
struct ReadRun {
  double seconds = 0;
  Tape tape;
};

ReadRun join(double seconds, std::vector<Tape>& tapes) {
  ReadRun run{seconds, {}};
  for (const Tape& tape : tapes) {
    run.tape.samples += tape.samples;
    run.tape.bytes += tape.bytes;
    run.tape.latencies.insert(run.tape.latencies.end(), tape.latencies.begin(),
                              tape.latencies.end());
  }
  std::sort(run.tape.latencies.begin(), run.tape.latencies.end());
  return run;
}

// Reads samples whose places are known, in the given order, shared out among the threads.
ReadRun read_listed(const std::vector<Sample>& samples, const std::vector<std::size_t>& order,
                    int threads) {
  std::vector<Tape> tapes(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> next{0};
  const double seconds = run_pinned(
      threads, [](int) {},
      [&](int thread) {
        Tape& tape = tapes[static_cast<std::size_t>(thread)];
        for (std::size_t i; (i = next++) < order.size();) {
          check_interrupt();
          const double start = wall_seconds();
          const std::uint64_t bytes = read_all(samples[order[i]]);
          tape.add(bytes, wall_seconds() - start);
        }
      });
  return join(seconds, tapes);
}

// Reads what can only be read as it comes, up to `count` samples.
class StreamReader {
 public:
  StreamReader(std::unique_ptr<Source> source, std::uint64_t count, Task task,
               std::vector<Outcome>* outcomes)
      : source_(std::move(source)), left_(count), task_(task), outcomes_(outcomes) {}

  ReadRun read(int threads) {
    std::vector<Tape> tapes(static_cast<std::size_t>(threads));
    const double seconds = run_pinned(
        threads, [](int) {}, [&](int thread) { work(tapes[static_cast<std::size_t>(thread)]); });
    return join(seconds, tapes);
  }

 private:
  void work(Tape& tape) {
    Sample sample;
    for (double start = wall_seconds(); next(sample); start = wall_seconds()) {
      check_interrupt();
      Outcome outcome = outcome_of(sample);
      try {
        if (sample.fault) throw *sample.fault;
        outcome.bytes_in = read_all(sample);
        tape.add(outcome.bytes_in, wall_seconds() - start);
      } catch (const Error& error) {
        if (error.code() == Code::interrupted) throw;
        mark_failed(outcome, error);
      }
      report(std::move(outcome));
    }
  }

  bool next(Sample& sample) {
    const std::lock_guard lock(mutex_);
    do {
      sample = Sample();
      if (left_ == 0 || !source_->next(sample)) {
        left_ = 0;
        return false;
      }
    } while (!task_.has(sample.key));
    --left_;
    return true;
  }

  void report(Outcome outcome) {
    if (!outcomes_) return;
    const std::lock_guard lock(mutex_);
    outcomes_->push_back(std::move(outcome));
  }

  std::mutex mutex_;
  std::unique_ptr<Source> source_;
  std::uint64_t left_;
  const Task task_;
  std::vector<Outcome>* outcomes_;
};

void keep(const ReadRun& run, ReadCase& what) {
  what.samples = run.tape.samples;
  what.bytes = run.tape.bytes;
  what.seconds.push_back(run.seconds);
  what.latencies = run.tape.latencies;
}

// A case and how to do a run of it.
struct PreparedCase {
  ReadCase what;
  bool once = false;  // one run is all there can be
  std::function<ReadRun(const ReadCase&, int)> read;
};

class Meter {
 public:
  Meter(const RunContext& run, const ReadBenchOptions& options) : run_(run), options_(options) {}

  void prepare(ReadInput& input) {
    input.input.can_read_again ? prepare_listed(input) : prepare_streamed(input);
  }

  // Every run has all cases in an order of its own, so that whatever changes with time meets all of
  // them alike.
  std::vector<ReadCase> measure() {
    for (PreparedCase& one : cases_) {
      if (one.once) keep(one.read(one.what, 0), one.what);
    }
    for (int run = options_.cold ? 0 : -options_.warmup; run < options_.runs; ++run) {
      for (const std::size_t index : random_order(cases_.size(), seed_of(run))) {
        PreparedCase& one = cases_[index];
        if (one.once) continue;
        const ReadRun seen = one.read(one.what, run);
        if (run >= 0) keep(seen, one.what);
      }
    }
    std::vector<ReadCase> cases;
    for (PreparedCase& one : cases_) cases.push_back(std::move(one.what));
    return cases;
  }

 private:
  using Samples = std::shared_ptr<const std::vector<Sample>>;

  std::uint64_t seed_of(int run) const {
    return options_.choice.seed * 1000 + static_cast<std::uint64_t>(run + 1000);
  }

  // --- files and shards whose samples can be found again

  void prepare_listed(ReadInput& input) {
    KeySet told;
    Samples samples;
    for (const ReadOrder order : options_.orders) {
      // What can be listed only once is listed for one order, which serves the other, too.
      if (!samples || !input.input.once) samples = list(input, order, told);
      for (const int threads : options_.threads) {
        cases_.push_back({{&input.input, order, threads, 0, 0, {}, {}},
                          false,
                          [this, &input, samples](const ReadCase& what, int run) {
                            return read_again(input, *samples, what, run);
                          }});
      }
    }
  }

  ReadRun read_again(ReadInput& input, const std::vector<Sample>& samples, const ReadCase& what,
                     int run) const {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (what.order == ReadOrder::random) order = random_order(samples.size(), seed_of(run));
    if (options_.cold) {
      CachedFiles files;
      files.add(samples);
      forget(files, input);
    }
    return read_listed(samples, order, what.threads);
  }

  // Finds the samples, and reads each once: the bad ones are not measured. Each is told of once.
  Samples list(ReadInput& input, ReadOrder order, KeySet& told) {
    ChoiceOptions choice = options_.choice;
    choice.first = order == ReadOrder::sequential;
    const double start = wall_seconds();
    SampleChoice chosen = choose_samples(input.input, run_, choice);
    // To find the first few, not all have to be listed.
    if (!choice.first || input.seen == 0) {
      input.listing_seconds = wall_seconds() - start;
      input.seen = chosen.seen;
      input.saw_all = chosen.saw_all || choice.first;
    }
    std::vector<Sample> good;
    for (Sample& sample : chosen.samples) {
      Outcome outcome = outcome_of(sample);
      const bool is_good = try_reading(sample, outcome);
      if (told.insert(sample.key)) run_.reporter.add(outcome);
      if (is_good) good.push_back(std::move(sample));
    }
    if (good.empty()) fail(Code::empty, "{}: there is no sample to read", input.input.name());
    input.digest = listing_digest(good);
    return std::make_shared<const std::vector<Sample>>(std::move(good));
  }

  static bool try_reading(const Sample& sample, Outcome& outcome) {
    check_interrupt();
    try {
      if (sample.fault) throw *sample.fault;
      outcome.bytes_in = read_all(sample);
      return true;
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      mark_failed(outcome, error);
      return false;
    }
  }

  // --- pipes and what is compressed

  void prepare_streamed(ReadInput& input) {
    if (std::find(options_.orders.begin(), options_.orders.end(), ReadOrder::sequential) ==
        options_.orders.end()) {
      return;
    }
    const std::size_t counts = input.input.once ? 1 : options_.threads.size();
    for (std::size_t i = 0; i < counts; ++i) {
      cases_.push_back(
          {{&input.input, ReadOrder::sequential, options_.threads[i], 0, 0, {}, {}},
           input.input.once,
           [this, &input](const ReadCase& what, int) { return stream_once(input, what.threads); }});
    }
  }

  ReadRun stream_once(ReadInput& input, int threads) const {
    if (options_.cold && !input.input.once) {
      CachedFiles files;
      for (const Spec& word : input.input.words) {
        for (const std::string& path : expand_braces(word.path)) files.add(path);
      }
      forget(files, input);
    }
    std::vector<Outcome> outcomes;
    const bool is_first = input.seen == 0;
    StreamReader reader(input.input.open(run_), options_.choice.count, run_.sink_options.task,
                        is_first ? &outcomes : nullptr);
    ReadRun run = reader.read(threads);
    for (const Outcome& outcome : outcomes) run_.reporter.add(outcome);
    if (run.tape.samples == 0) {
      fail(Code::empty, "{}: there is no sample to read", input.input.name());
    }
    input.seen = run.tape.samples;
    return run;
  }

  static void forget(const CachedFiles& files, ReadInput& input) {
    files.drop();
    const auto stayed = files.share_in_memory();
    if (stayed) input.stayed_in_memory = std::max(input.stayed_in_memory.value_or(0), *stayed);
  }

  const RunContext& run_;
  const ReadBenchOptions& options_;
  std::vector<PreparedCase> cases_;
};

}  // namespace

ReadMeasurements measure_reading(const RunContext& run, const ReadBenchOptions& options) {
  ReadMeasurements results;
  for (BenchInput& input : group_inputs(run)) {
    results.inputs.emplace_back().input = std::move(input);
  }
  Meter meter(run, options);
  for (ReadInput& input : results.inputs) meter.prepare(input);
  results.cases = meter.measure();
  if (results.cases.empty()) {
    fail(Code::usage,
         "streams and compressed containers cannot be read in random order; leave --order out");
  }
  return results;
}

}  // namespace prep
