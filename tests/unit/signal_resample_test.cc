#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/resample.h"

namespace prep::signal::signal_resample_test {
namespace {

using Values = std::vector<double>;

const Values kSignal = {1, 3, 2, 5, 4, 6, 2, 1, 0, 3, 7, 5, 5, 4, 2, 8, 9, 1, 2, 3, 4, 2};

// Memory of just the samples that the outputs need, so that the sanitizer sees every slip.
template <typename T>
std::vector<T> resampled(const Resampler& resampler, const std::vector<T>& x, std::int64_t block) {
  const auto total = static_cast<std::int64_t>(x.size());
  std::vector<T> out(static_cast<std::size_t>(resampler.output_length(total)));
  for (std::int64_t first = 0; first < resampler.output_length(total); first += block) {
    const Range some{first, std::min(resampler.output_length(total), first + block)};
    const Range needed = resampler.samples_for(some, total);
    const std::vector<T> part(x.begin() + needed.first, x.begin() + needed.last);
    resampler.run<T>({part, needed.first, total}, some, out.data() + first);
  }
  return out;
}

TEST_CASE("Resampling has scipy's values") {
  const Values zero = resampled(Resampler({3, 4}), kSignal, 100);
  REQUIRE(zero.size() == 17);
  CHECK(zero[0] == Approx(1.28870709).margin(1e-8));
  CHECK(zero[1] == Approx(2.5812383).margin(1e-7));
  CHECK(zero[8] == Approx(5.83479105).margin(1e-8));
  CHECK(zero[16] == Approx(1.37052385).margin(1e-8));
  const Values repeat = resampled(Resampler({3, 4}, ResampleEdge::repeat), kSignal, 100);
  CHECK(repeat[0] == Approx(1.41342177).margin(1e-8));
  CHECK(repeat[16] == Approx(2.10088976).margin(1e-8));
}

TEST_CASE("A sine stays where it is") {
  const double hz = 7, from = 256, to = 200;
  Values x(2560);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / from);
  }
  const Values y = resampled(Resampler(rate_ratio(from, to)), x, 1000);
  REQUIRE(y.size() == 2000);
  for (std::size_t i = 50; i < 1950; ++i) {
    REQUIRE(y[i] ==
            Approx(std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / to)).margin(2e-3));
  }
}

TEST_CASE("How outputs are divided over calls does not show") {
  for (const Ratio ratio : {Ratio{25, 32}, Ratio{128, 125}, Ratio{1, 5}, Ratio{7, 1}}) {
    for (const ResampleEdge edge : {ResampleEdge::zero, ResampleEdge::repeat}) {
      const Resampler resampler(ratio, edge);
      const std::vector<float> x(kSignal.begin(), kSignal.end());
      const std::vector<float> whole = resampled(resampler, x, 1000);
      for (const std::int64_t block : {1, 2, 5}) CHECK(resampled(resampler, x, block) == whole);
    }
  }
}

TEST_CASE("The same rate gives the same signal") {
  CHECK(resampled(Resampler({5, 5}), kSignal, 7) == kSignal);
}

TEST_CASE("What is not finite spoils what it reaches") {
  Values x(200, 1.0);
  x[100] = std::numeric_limits<double>::infinity();
  const Values y = resampled(Resampler({1, 2}), x, 100);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const bool reached = i >= 40 && i <= 60;
    CHECK(std::isnan(y[i]) == reached);
  }
}

TEST_CASE("Rates become ratios") {
  CHECK(rate_ratio(256, 200) == Ratio{25, 32});
  CHECK(rate_ratio(1000, 256) == Ratio{32, 125});
  CHECK(rate_ratio(250, 256) == Ratio{128, 125});
  CHECK(rate_ratio(173.61, 200) == Ratio{20000, 17361});
  CHECK(rate_ratio(200, 200) == Ratio{1, 1});
  CHECK(rate_ratio(1.0 / 3, 1) == Ratio{3, 1});
  for (double from = 99.5; from < 2050; from *= 1.0137) {
    CHECK(std::fabs(ratio_error(rate_ratio(from, 200), from, 200)) <= 1.01e-7);
  }
  CHECK(ratio_error(rate_ratio(200.001, 200), 200.001, 200) == Approx(0).margin(1.01e-6));
  CHECK(ratio_error({1, 1}, 101, 100) == Approx(0.01));
  CHECK_THROWS_AS(rate_ratio(0, 200), Error);
  CHECK_THROWS_AS(rate_ratio(200, -1), Error);
  CHECK_THROWS_AS(rate_ratio(1e-3, 1e9), Error);
  CHECK_THROWS_AS(rate_ratio(std::nan(""), 1), Error);
  CHECK_THROWS_AS(Resampler({0, 1}), Error);
  CHECK_THROWS_AS(Resampler({1, kMaxRatio + 1}), Error);
}

}  // namespace
}  // namespace prep::signal::signal_resample_test
