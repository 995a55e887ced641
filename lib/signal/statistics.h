// Mean and standard deviation of every channel and frequency, gathered over a data set, and what
// normalising with them does.
//
// The sums are exact (exact_sum.h), so neither cancellation nor the order in which recordings are
// merged shows in the result: it is the same with any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/signal/exact_sum.h"

namespace prep::signal {

struct Moments {
  std::uint64_t count = 0;  // of finite values
  double mean = 0;          // 0 where there are none
  double deviation = 0;     // standard deviation of the population: divided by count
};

class Statistics {
 public:
  Statistics(std::size_t channels, std::size_t frequencies);

  std::size_t channels() const { return channels_; }
  std::size_t frequencies() const { return frequencies_; }

  // Takes in values of one channel and frequency; those that are not finite are left out.
  void add(std::size_t channel, std::size_t frequency, std::span<const float> values);
  // Takes in what the other has gathered. throws Error(internal) if its shape differs.
  void merge(const Statistics& other);
  // What has been gathered of one channel.
  Statistics channel(std::size_t index) const;

  Moments of(std::size_t channel, std::size_t frequency) const;
  Moments of_channel(std::size_t channel) const;
  Moments of_all() const;

 private:
  struct Cell {
    std::uint64_t count = 0;
    ExactSum sum, squares;

    void merge(const Cell& other);
    Moments moments() const;
  };

  std::size_t channels_, frequencies_;
  std::vector<Cell> cells_;
};

// (x - mean) / deviation; x - mean where the deviation is zero, which is then zero as well.
void normalize(std::span<float> values, const Moments& moments);

}  // namespace prep::signal
