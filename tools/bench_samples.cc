#include "tools/bench_samples.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <set>

#include "lib/core/digest.h"
#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"
#include "lib/core/key_hash.h"

namespace prep {
namespace {

constexpr std::uint64_t kLookedAt = 10;  // times the wanted count
constexpr std::uint64_t kMostHeld = 1ull << 30;

std::uint64_t held_bytes(const Sample& sample) {
  std::uint64_t bytes = 0;
  for (const Part& part : sample.parts) bytes += part.content->resident_bytes();
  return bytes;
}

// Keeps the samples of the lowest rank, by number and by the memory that they hold.
class LowestRanks {
 public:
  LowestRanks(std::uint64_t count) : count_(count) {}

  bool wants(std::uint64_t rank) const {
    return kept_.size() < count_ || rank < kept_.rbegin()->rank;
  }
  void add(std::uint64_t rank, std::uint64_t index, Sample sample) {
    held_ += held_bytes(sample);
    kept_.insert({rank, index, std::make_shared<Sample>(std::move(sample))});
    if (kept_.size() > count_) drop_last();
    while (held_ > kMostHeld && kept_.size() > 1) {
      drop_last();
      count_ = kept_.size();
      memory_was_short_ = true;
    }
  }
  bool memory_was_short() const { return memory_was_short_; }

  std::vector<Sample> in_order() const {
    std::vector<Entry> entries(kept_.begin(), kept_.end());
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.index < b.index; });
    std::vector<Sample> samples;
    for (const Entry& entry : entries) samples.push_back(std::move(*entry.sample));
    return samples;
  }

 private:
  struct Entry {
    std::uint64_t rank, index;
    std::shared_ptr<Sample> sample;
    bool operator<(const Entry& other) const {
      return std::pair(rank, index) < std::pair(other.rank, other.index);
    }
  };

  void drop_last() {
    const auto last = std::prev(kept_.end());
    held_ -= held_bytes(*last->sample);
    kept_.erase(last);
  }

  std::uint64_t count_;
  std::uint64_t held_ = 0;
  bool memory_was_short_ = false;
  std::set<Entry> kept_;
};

class Chooser {
 public:
  Chooser(const RunContext& run, const ChoiceOptions& options)
      : run_(run), options_(options), chosen_(options.count) {}

  void look_at(const BenchInput& input) {
    const auto source = input.open(run_);
    const std::uint64_t limit =
        choice_.seen + (input.listing_reads_all ? options_.count * kLookedAt : UINT64_MAX / 2);
    for (Sample sample; source->next(sample); sample = Sample()) {
      check_interrupt();
      if (!run_.sink_options.task.has(sample.key)) continue;
      const std::uint64_t index = choice_.seen++;
      const std::uint64_t rank =
          options_.first ? index : mixed(key_hash(sample.key) ^ mixed(options_.seed));
      if (chosen_.wants(rank)) {
        chosen_.add(rank, index, input.can_read_again ? reopened(sample) : std::move(sample));
      } else if (options_.first) {
        choice_.saw_all = false;
        break;
      }
      if (choice_.seen == limit) {
        choice_.saw_all = false;
        break;
      }
    }
    for (const auto& [reason, count] : source->left_out()) choice_.left_out[reason] += count;
  }

  SampleChoice finish() {
    choice_.samples = chosen_.in_order();
    choice_.memory_was_short = chosen_.memory_was_short();
    return std::move(choice_);
  }

 private:
  const RunContext& run_;
  const ChoiceOptions& options_;
  LowestRanks chosen_;
  SampleChoice choice_;
};

}  // namespace

SampleChoice choose_samples(const BenchInput& input, const RunContext& run,
                            const ChoiceOptions& options) {
  return choose_samples(std::vector{input}, run, options);
}

SampleChoice choose_samples(const std::vector<BenchInput>& inputs, const RunContext& run,
                            const ChoiceOptions& options) {
  Chooser chooser(run, options);
  for (const BenchInput& input : inputs) chooser.look_at(input);
  return chooser.finish();
}

std::shared_ptr<const Content> reopened(const std::shared_ptr<const Content>& content) {
  const std::optional<FileRange> range = content->range();
  if (!range) return content;
  if (!range->file) return std::make_shared<FileContent>(range->path);
  return std::make_shared<RangeContent>(range->file, range->offset, range->size, content->origin(),
                                        content->mtime_ns());
}

Sample reopened(const Sample& sample) {
  Sample copy = sample;
  for (Part& part : copy.parts) part.content = reopened(part.content);
  return copy;
}

// The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(mixed(seed));
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

std::string listing_digest(const std::vector<Sample>& samples) {
  Digest digest(Digest::Kind::sha256);
  for (const Sample& sample : samples) {
    for (const Part& part : sample.parts) {
      digest.update(as_bytes(fmt::format("{} {} {} {} {}\n", sample.key.size(), sample.key,
                                         part.name.size(), part.name, part.content->size())));
    }
  }
  return digest.hex();
}

}  // namespace prep
