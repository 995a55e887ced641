#include "tools/bench_feed_supply.h"

#include <algorithm>

#include "tools/bench_inputs.h"
#include "tools/bench_page_cache.h"

namespace prep {
namespace {

// Chosen samples, in another order each time.
class ShuffledSupply final : public FeedSupply {
 public:
  ShuffledSupply(std::vector<Sample> samples, std::uint64_t seed)
      : FeedSupply(false), samples_(std::move(samples)), seed_(seed) {
    order_ = random_order(samples_.size(), seed_ + passes_);
  }

  bool next(Sample& sample) override {
    if (samples_.empty()) return false;
    if (next_ == order_.size()) {
      next_ = 0;
      order_ = random_order(samples_.size(), seed_ + ++passes_);
    }
    // The same sample may still be with another worker, from the pass before.
    sample = reopened(samples_[order_[next_++]]);
    return true;
  }

 private:
  const std::vector<Sample> samples_;
  const std::uint64_t seed_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

// Inputs one after the other, as they lie.
class StreamSupply final : public FeedSupply {
 public:
  StreamSupply(const RunContext& run, std::vector<BenchInput> inputs)
      : FeedSupply(true), run_(run), inputs_(std::move(inputs)) {}

  bool next(Sample& sample) override {
    while (source_ || open_next()) {
      sample = Sample();
      while (source_->next(sample)) {
        if (run_.sink_options.task.has(sample.key)) {
          pass_is_empty_ = false;
          return true;
        }
        sample = Sample();
      }
      source_.reset();
    }
    return false;
  }

 private:
  bool open_next() {
    if (next_ == inputs_.size()) {
      const bool once = std::any_of(inputs_.begin(), inputs_.end(),
                                    [](const BenchInput& input) { return input.once; });
      if (once || pass_is_empty_) return false;
      next_ = 0;
      ++passes_;
      pass_is_empty_ = true;
    }
    source_ = inputs_[next_++].open(run_);
    return true;
  }

  const RunContext& run_;
  const std::vector<BenchInput> inputs_;
  std::size_t next_ = 0;
  std::unique_ptr<Source> source_;
  bool pass_is_empty_ = true;
};

bool is_shuffled(const std::vector<BenchInput>& inputs, FeedOrder order) {
  if (order == FeedOrder::sequential) return false;
  const bool loose = std::all_of(inputs.begin(), inputs.end(), [](const BenchInput& input) {
    return input.kind == BenchInput::Kind::loose_files;
  });
  if (order == FeedOrder::by_kind) return loose;
  for (const BenchInput& input : inputs) {
    if (input.listing_reads_all) {
      fail(Code::usage, "{} is a {}, which can't be read in random order; leave --order out",
           input.name(), input.kind_name());
    }
  }
  return true;
}

// The files that streams will read: containers are told by the command line, loose files by asking.
void forget(const std::vector<BenchInput>& inputs, const RunContext& run,
            const ChoiceOptions& choice) {
  CachedFiles files;
  for (const BenchInput& input : inputs) {
    if (input.once) continue;
    if (input.kind == BenchInput::Kind::loose_files) {
      ChoiceOptions first = choice;
      first.first = true;
      files.add(choose_samples(input, run, first).samples);
      continue;
    }
    for (const Spec& word : input.words) {
      for (const std::string& path : expand_braces(word.path)) files.add(path);
    }
  }
  files.drop();
}

}  // namespace

std::unique_ptr<FeedSupply> make_supply(const RunContext& run, const FeedBenchOptions& options) {
  std::vector<BenchInput> inputs = group_inputs(run);
  if (!is_shuffled(inputs, options.order)) {
    if (options.cold) forget(inputs, run, options.choice);
    return std::make_unique<StreamSupply>(run, std::move(inputs));
  }
  SampleChoice choice = choose_samples(inputs, run, options.choice);
  if (options.cold) {
    CachedFiles files;
    files.add(choice.samples);
    files.drop();
  }
  return std::make_unique<ShuffledSupply>(std::move(choice.samples), options.choice.seed);
}

}  // namespace prep
