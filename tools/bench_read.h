// prep-bench read: how fast samples come out of each kind of container.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/tool.h"
#include "tools/bench_inputs.h"
#include "tools/bench_samples.h"

namespace prep {

enum class ReadOrder { sequential, random };

struct ReadBenchOptions {
  std::vector<ReadOrder> orders = {ReadOrder::sequential, ReadOrder::random};
  bool cold = false;
  ChoiceOptions choice;  // its `first` is not looked at
  int warmup = 1, runs = 5;
  std::vector<int> threads = {1};
};

// One way of reading one input.
struct ReadCase {
  const BenchInput* input = nullptr;
  ReadOrder order = ReadOrder::sequential;
  int threads = 1;
  std::uint64_t samples = 0, bytes = 0;  // of one run
  std::vector<double> seconds;           // of each run
  std::vector<double> latencies;         // seconds a sample took, of the last run, sorted
};

struct ReadInput {
  BenchInput input;
  std::uint64_t seen = 0;  // samples that it has, or that were looked at
  bool saw_all = true;
  double listing_seconds = 0;
  std::string digest;  // of the listing; "" for what is read only once
  // With --cold: the share of the pages that stayed in memory; nullopt if that can't be told.
  std::optional<double> stayed_in_memory;
};

struct ReadMeasurements {
  std::vector<ReadInput> inputs;
  std::vector<ReadCase> cases;
};

// throws Error usage where an order is asked for that no input has.
ReadMeasurements measure_reading(const RunContext& run, const ReadBenchOptions& options);

}  // namespace prep
