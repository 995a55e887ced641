// Which samples of the inputs a benchmark looks at.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/sample.h"
#include "lib/core/tool.h"
#include "tools/bench_inputs.h"
#include "tools/lowest_ranks.h"
#include "tools/reopened.h"

namespace prep {

struct ChoiceOptions {
  std::uint64_t count = 2000;
  std::uint64_t seed = 0;
  bool first = false;  // those that come first, instead of a random choice
};

struct SampleChoice {
  std::vector<Sample> samples;  // in the order of the input; some may have a fault
  std::uint64_t seen = 0;       // how many there are, or were looked at
  bool saw_all = true;
  // What streams gave did not fit into memory, so fewer samples than wanted are here.
  bool memory_was_short = false;
  Tally left_out;

  void append(SampleChoice other);
};

// Chooses by a hash of key and seed: samples of the same keys out of another data set with the same
// keys (the photographs, and the same made small). Contents are references, which other threads may
// read one after the other; those of streams are held in memory. Where finding samples means
// reading them, only the first 10 * count are looked at. A pipe is used up. throws Error as the
// source does.
SampleChoice choose_samples(const BenchInput& input, const RunContext& run,
                            const ChoiceOptions& options);
// The same out of all inputs together.
SampleChoice choose_samples(const std::vector<BenchInput>& inputs, const RunContext& run,
                            const ChoiceOptions& options);

// 0 to count - 1 in a random order.
std::vector<std::size_t> random_order(std::size_t count, std::uint64_t seed);

// SHA-256 of all keys, part names and sizes, for telling whether two runs measured the same.
std::string listing_digest(const std::vector<Sample>& samples);

}  // namespace prep
