#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "lib/measure/statistics.h"

namespace prep::measure::measure_statistics_test {
namespace {

TEST_CASE("moments") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  const Moments moments = moments_of(values);
  CHECK(moments.count == 8);
  CHECK(moments.mean == 5);
  CHECK(moments.deviation == Approx(std::sqrt(32.0 / 7)));
  CHECK(moments.min == 2);
  CHECK(moments.max == 9);
}

TEST_CASE("moments of one value and of none") {
  const Moments one = moments_of(std::vector<double>{3});
  CHECK(one.mean == 3);
  CHECK(one.deviation == 0);
  CHECK(moments_of({}).count == 0);
  CHECK(moments_of({}).mean == 0);
}

TEST_CASE("quantiles, as numpy.quantile gives them") {
  const std::vector<double> values{1, 2, 4, 8, 16};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 0.5) == 4);
  CHECK(quantile(values, 0.9) == Approx(12.8));
  CHECK(quantile(values, 1) == 16);
  CHECK(quantile(std::vector<double>{7}, 0.3) == 7);
}

TEST_CASE("a ratio of sums is not a mean of ratios") {
  const std::vector<double> small{1, 30}, large{10, 100};
  CHECK(ratio_of_sums(small, large, 1000, 1).value == Approx(31.0 / 110));
}

TEST_CASE("all samples leave no doubt") {
  const std::vector<double> small{1, 2, 3}, large{2, 5, 9};
  const Interval interval = ratio_of_sums(small, large, 3, 1);
  CHECK(interval.low == interval.value);
  CHECK(interval.high == interval.value);
}

TEST_CASE("one sample of several says nothing of its spread") {
  const Interval interval = ratio_of_sums(std::vector<double>{1}, std::vector<double>{2}, 9, 1);
  CHECK(interval.value == 0.5);
  CHECK(interval.low == 0);
  CHECK(std::isinf(interval.high));
}

TEST_CASE("denominators that can all be zero leave the interval open") {
  const std::vector<double> small{1, 2, 3}, large{0, 0, 5};
  CHECK(std::isinf(ratio_of_sums(small, large, 100, 1).high));
}

TEST_CASE("the same seed gives the same interval, samples that are alike a narrow one") {
  std::vector<double> small, large;
  for (int i = 1; i <= 50; ++i) {
    large.push_back(i);
    small.push_back(0.5 * i);
  }
  const Interval exact = ratio_of_sums(small, large, 1000, 3);
  CHECK(exact.low == Approx(0.5));
  CHECK(exact.high == Approx(0.5));
  small[10] *= 2;
  const Interval a = ratio_of_sums(small, large, 1000, 3), b = ratio_of_sums(small, large, 1000, 3);
  CHECK(a.low == b.low);
  CHECK(a.high == b.high);
  CHECK(a.low < a.value);
  CHECK(a.value < a.high);
}

// How often the interval holds the ratio of the whole population, over many draws.
double coverage(std::size_t samples, int trials) {
  constexpr std::size_t kPopulation = 600;
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> sizes(0, 0.6), shares(-0.5, 0.4);
  std::vector<double> large(kPopulation), small(kPopulation);
  double sum_large = 0, sum_small = 0;
  for (std::size_t i = 0; i < kPopulation; ++i) {
    large[i] = sizes(random);
    small[i] = large[i] * shares(random);
    sum_large += large[i];
    sum_small += small[i];
  }
  int hits = 0;
  std::vector<std::size_t> order(kPopulation);
  for (std::size_t i = 0; i < kPopulation; ++i) order[i] = i;
  for (int trial = 0; trial < trials; ++trial) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> a, b;
    for (std::size_t i = 0; i < samples; ++i) {
      a.push_back(small[order[i]]);
      b.push_back(large[order[i]]);
    }
    const Interval interval = ratio_of_sums(a, b, kPopulation, static_cast<std::uint64_t>(trial));
    const double truth = sum_small / sum_large;
    hits += interval.low <= truth && truth <= interval.high;
  }
  return static_cast<double>(hits) / trials;
}

TEST_CASE("95 % intervals hold the truth about so often") {
  CHECK(coverage(20, 300) > 0.90);
  CHECK(coverage(200, 200) > 0.92);
  CHECK(coverage(200, 200) < 0.99);
}

}  // namespace
}  // namespace prep::measure::measure_statistics_test
