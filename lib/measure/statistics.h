// Numbers that were measured, and how sure one can be of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace prep::measure {

struct Moments {
  std::uint64_t count = 0;
  double mean = 0, deviation = 0;  // the sample's standard deviation (n - 1); 0 for one value
  double min = 0, max = 0;
};
// All zeros for no values.
Moments moments_of(std::span<const double> values);

// A value between 0 and 1, by linear interpolation between order statistics (type 7 of Hyndman and
// Fan, "Sample Quantiles in Statistical Packages", 1996). `sorted` must be, and not be empty.
double quantile(std::span<const double> sorted, double p);

struct Interval {
  double value = 0, low = 0, high = 0;
};
// The ratio of two sums over all samples, estimated from some of them, drawn without replacement
// from `population`: sum(numerators) / sum(denominators), with a 95 % interval by the expanded
// percentile bootstrap over samples (T. Hesterberg, "What Teachers Should Know About the
// Bootstrap", 2015, section 4.3: wider for few samples, as Student's t is) and the finite
// population correction. The same seed gives the same interval. From a single sample of several,
// and where a resample has only denominators of 0, the interval is open: [0, infinity) for a ratio
// >= 0, else (-infinity, infinity). Both spans have the same size, not 0; the denominators' sum is
// not 0.
Interval ratio_of_sums(std::span<const double> numerators, std::span<const double> denominators,
                       std::uint64_t population, std::uint64_t seed);

// The same interval about `value` for any estimate from `count` (at least 2) of `population`
// samples: out of what the estimate is for resamples of the sample (at least one).
Interval bootstrap_interval(double value, std::vector<double> replicates, std::size_t count,
                            std::uint64_t population);
// From minus or, for what cannot be negative, from 0 to infinity.
Interval open_interval(double value);
// A number below `count`, the same on every machine, which the standard's distributions are not.
std::size_t draw_below(std::mt19937_64& random, std::size_t count);

}  // namespace prep::measure
