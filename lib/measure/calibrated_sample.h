// What all units of a population add up to, estimated from a random sample of them with the help of
// what is known of all.
//
// A data set's headers say how large every picture is; what preparing makes of it is only known for
// those that were tried. The sample's units get weights under which what is known adds up to what
// it is over all (linear calibration: J.-C. Deville and C.-E. Särndal, "Calibration Estimators in
// Survey Sampling", JASA 87, 1992; the same as the generalized regression estimator). What depends
// on it is then estimated far more closely than by the number of units alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/measure/statistics.h"

namespace prep::measure {

class CalibratedSample {
 public:
  // rows[i]: what is known of the sample's i-th unit, the most telling first, which must be > 0:
  // the spread of what is estimated is taken to grow with it. A small sample makes use only of the
  // first ones, no less than ten units for each. `totals`: their sums over the `population` units
  // (at least as many as the sample has). There is at least one unit.
  CalibratedSample(const std::vector<std::vector<double>>& rows, std::span<const double> totals,
                   std::uint64_t population, std::uint64_t seed);

  std::size_t size() const { return size_; }

  // The sum over the population, of a value for each unit of the sample; and the ratio of two such
  // sums (the second one's values must not add up to 0). With 95 % intervals by the bootstrap
  // (bootstrap_interval()), whose resamples are calibrated like the sample itself.
  Interval total(std::span<const double> values) const;
  Interval ratio(std::span<const double> values, std::span<const double> others) const;

 private:
  using Weights = std::vector<float>;

  std::size_t size_ = 0;
  std::uint64_t population_ = 0;
  std::vector<double> weights_;
  std::vector<Weights> replicates_;  // empty where nothing is left open, or nothing can be said
};

}  // namespace prep::measure
