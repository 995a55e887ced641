#include "lib/signal/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

constexpr std::size_t kStrands = 8;  // independent sums, so that the compiler can use vectors

// Sums of values and of their squares, which are exact in double, with what rounding took from
// them. What those remainders lose in their turn lies 100 bits below.
struct Strands {
  double sum[kStrands] = {}, sum_rest[kStrands] = {};
  double squares[kStrands] = {}, squares_rest[kStrands] = {};
  std::uint64_t count[kStrands] = {};

  void add(std::size_t strand, float value) {
    const bool finite = std::fabs(value) <= std::numeric_limits<float>::max();
    const double x = finite ? static_cast<double>(value) : 0.0;
    count[strand] += finite;
    const DoubleDouble s = two_sum(sum[strand], x), q = two_sum(squares[strand], x * x);
    sum[strand] = s.high;
    sum_rest[strand] += s.low;
    squares[strand] = q.high;
    squares_rest[strand] += q.low;
  }
};

}  // namespace

Statistics::Statistics(std::size_t channels, std::size_t frequencies)
    : channels_(channels), frequencies_(frequencies), cells_(channels * frequencies) {}

void Statistics::add(std::size_t channel, std::size_t frequency, std::span<const float> values) {
  Strands strands;
  std::size_t i = 0;
  for (; i + kStrands <= values.size(); i += kStrands) {
    for (std::size_t s = 0; s < kStrands; ++s) strands.add(s, values[i + s]);
  }
  for (; i < values.size(); ++i) strands.add(i % kStrands, values[i]);
  Cell& cell = cells_.at(channel * frequencies_ + frequency);
  for (std::size_t s = 0; s < kStrands; ++s) {
    cell.count += strands.count[s];
    cell.sum.add(strands.sum[s]);
    cell.sum.add(strands.sum_rest[s]);
    cell.squares.add(strands.squares[s]);
    cell.squares.add(strands.squares_rest[s]);
  }
}

void Statistics::Cell::merge(const Cell& other) {
  count += other.count;
  sum.add(other.sum);
  squares.add(other.squares);
}

void Statistics::merge(const Statistics& other) {
  if (other.channels_ != channels_ || other.frequencies_ != frequencies_) {
    fail(Code::internal, "statistics of {} x {} and of {} x {}", channels_, frequencies_,
         other.channels_, other.frequencies_);
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i].merge(other.cells_[i]);
}

Statistics Statistics::channel(std::size_t index) const {
  Statistics one(1, frequencies_);
  for (std::size_t f = 0; f < frequencies_; ++f) {
    one.cells_[f] = cells_.at(index * frequencies_ + f);
  }
  return one;
}

Moments Statistics::Cell::moments() const {
  if (count == 0) return {};
  const auto n = static_cast<double>(count);
  const DoubleDouble total = sum.value();
  const DoubleDouble mean = divide(total, n);
  const DoubleDouble spread = subtract(squares.value(), multiply(total, mean));
  return {count, mean.high, std::sqrt(std::max(0.0, spread.high / n))};
}

Moments Statistics::of(std::size_t channel, std::size_t frequency) const {
  return cells_.at(channel * frequencies_ + frequency).moments();
}

Moments Statistics::of_channel(std::size_t channel) const {
  Cell all;
  for (std::size_t f = 0; f < frequencies_; ++f) all.merge(cells_.at(channel * frequencies_ + f));
  return all.moments();
}

Moments Statistics::of_all() const {
  Cell all;
  for (const Cell& cell : cells_) all.merge(cell);
  return all.moments();
}

void normalize(std::span<float> values, const Moments& moments) {
  const double divisor = moments.deviation > 0 ? moments.deviation : 1;
  for (float& value : values) {
    value = static_cast<float>((static_cast<double>(value) - moments.mean) / divisor);
  }
}

}  // namespace prep::signal
