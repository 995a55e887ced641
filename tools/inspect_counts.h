// Counts of things that a data set has many of, in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/measure/svg_chart.h"

namespace prep {

// Positive numbers, counted in bins of equal ratio, sixteen to a doubling: quantiles come out
// within 2.2 %. Zeros are counted apart.
class LogCounts {
 public:
  void add(double value);

  std::uint64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  // p from 0 to 1; 0 if there is nothing.
  double quantile(double p) const;
  // Whole fractions of a doubling to a bin, no more than `most_bins`.
  measure::Histogram histogram(std::size_t most_bins = 40) const;

 private:
  std::map<int, std::uint64_t> bins_;
  std::uint64_t count_ = 0, zeros_ = 0;
  double sum_ = 0, min_ = 0, max_ = 0;
};

// Counts by name. Names beyond the first `most` are counted together.
class NameCounts {
 public:
  explicit NameCounts(std::size_t most) : most_(most) {}

  struct Entry {
    std::uint64_t count = 0, bytes = 0;
    std::string example;  // the first one
  };
  void add(std::string_view name, std::uint64_t bytes, std::string_view example);

  const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }
  const Entry& others() const { return others_; }
  bool is_complete() const { return others_.count == 0; }
  // The most frequent first.
  std::vector<std::pair<std::string, Entry>> by_count() const;

 private:
  const std::size_t most_;
  std::map<std::string, Entry, std::less<>> entries_;
  Entry others_;
};

}  // namespace prep
