#include "tools/bench_samples.h"

#include <numeric>
#include <random>

#include "lib/core/digest.h"
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

class Chooser {
 public:
  Chooser(const RunContext& run, const ChoiceOptions& options)
      : run_(run), options_(options), chosen_(options.count, kMostHeld) {}

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
        Sample kept = input.can_read_again ? reopened(sample) : std::move(sample);
        const std::uint64_t held = held_bytes(kept);
        chosen_.add(rank, index, std::move(kept), held);
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
    choice_.memory_was_short = chosen_.memory_was_short();
    choice_.samples = chosen_.take_in_order();
    return std::move(choice_);
  }

 private:
  const RunContext& run_;
  const ChoiceOptions& options_;
  LowestRanks<Sample> chosen_;
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
