#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/filter.h"

namespace prep::signal::signal_filter_test {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Values kSignal = {1, 3, 2, 5, 4, 6, 2, 1, 0, 3, 7, 5, 5, 4, 2, 8, 9, 1, 2, 3, 4, 2};

Values filtered(const Filter& filter, Values signal) {
  filter_zero_phase(filter, signal);
  return signal;
}

Values sine(double hz, double rate, std::size_t length) {
  Values x(length);
  for (std::size_t i = 0; i < length; ++i) {
    x[i] = std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / rate);
  }
  return x;
}

TEST_CASE("Filters have scipy's values") {
  // sosfiltfilt(butter(2, 10, "highpass", fs=64, output="sos"), x), butter(3, 10, "lowpass"),
  // filtfilt(*iirnotch(16, 2, fs=64), x)
  const Values high = filtered(make_highpass(10, 64, 2), kSignal);
  CHECK(high[0] == Approx(-0.00144746).margin(1e-8));
  CHECK(high[1] == Approx(0.78198027).margin(1e-8));
  CHECK(high[2] == Approx(-1.33763612).margin(1e-8));
  CHECK(high[3] == Approx(0.79256605).margin(1e-8));
  const Values low = filtered(make_lowpass(10, 64, 3), kSignal);
  CHECK(low[0] == Approx(1.00168503).margin(1e-8));
  CHECK(low[5] == Approx(3.77561531).margin(1e-8));
  CHECK(low[21] == Approx(1.99789899).margin(1e-8));
  const Values notch = filtered(make_notch(16, 64, 2), kSignal);
  CHECK(notch[0] == Approx(1.01531227).margin(1e-8));
  CHECK(notch[5] == Approx(5.11867851).margin(1e-8));
  CHECK(notch[21] == Approx(2.00203879).margin(1e-8));
}

TEST_CASE("A filter takes what it should, and shifts nothing") {
  const Values mains = sine(50, 250, 5000), alpha = sine(10, 250, 5000);
  Values mixed(5000);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = mains[i] + alpha[i] + 1000;
  filter_zero_phase(make_notch(50, 250, 30), mixed);
  filter_zero_phase(make_highpass(0.5, 250, 4), mixed);
  for (std::size_t i = 1500; i < 3500; ++i) REQUIRE(mixed[i] == Approx(alpha[i]).margin(1e-3));
  // 6 dB at the corner: 3 in each direction.
  const Values corner = filtered(make_lowpass(10, 250, 5), alpha);
  for (std::size_t i = 500; i < 4500; ++i) {
    REQUIRE(corner[i] == Approx(alpha[i] / 2).margin(1e-6));
  }
}

TEST_CASE("A constant goes through a low-pass and not through a high-pass") {
  for (int order = 1; order <= kMaxFilterOrder; ++order) {
    const Values constant(200, 7.0);
    for (const double value : filtered(make_lowpass(20, 250, order), constant)) {
      REQUIRE(value == Approx(7).epsilon(1e-6));
    }
    for (const double value : filtered(make_highpass(20, 250, order), constant)) {
      REQUIRE(std::fabs(value) < 1e-9);
    }
  }
}

TEST_CASE("Finite stretches between NaNs are filtered by themselves") {
  const Filter filter = make_highpass(10, 64, 2);
  REQUIRE(filter.padding == 9);
  Values x(9, 1.0);  // too short
  x.push_back(kNan);
  x.insert(x.end(), kSignal.begin(), kSignal.end());
  x.push_back(std::numeric_limits<double>::infinity());
  x.insert(x.end(), kSignal.begin(), kSignal.begin() + 10);  // just long enough
  const FilterGaps gaps = filter_zero_phase(filter, x);
  CHECK(gaps.runs == 1);
  CHECK(gaps.lost == 9);
  for (std::size_t i = 0; i < 10; ++i) CHECK(std::isnan(x[i]));
  CHECK(Values(x.begin() + 10, x.begin() + 32) == filtered(filter, kSignal));
  CHECK(std::isinf(x[32]));
  CHECK(Values(x.begin() + 33, x.end()) ==
        filtered(filter, Values(kSignal.begin(), kSignal.begin() + 10)));
}

TEST_CASE("Signals of any length") {
  Values none;
  CHECK(filter_zero_phase(make_lowpass(10, 64, 4), none).runs == 0);
  for (std::size_t length = 1; length < 40; ++length) {
    Values x(length, 1.0);
    const FilterGaps gaps = filter_zero_phase(make_lowpass(10, 64, 4), x);
    CHECK(gaps.lost == (length <= 15 ? length : 0));
  }
}

TEST_CASE("Filters that cannot be") {
  CHECK_THROWS_AS(make_highpass(0, 250, 4), Error);
  CHECK_THROWS_AS(make_lowpass(125, 250, 4), Error);
  CHECK_THROWS_AS(make_lowpass(kNan, 250, 4), Error);
  CHECK_THROWS_AS(make_lowpass(10, 250, 0), Error);
  CHECK_THROWS_AS(make_lowpass(10, 250, kMaxFilterOrder + 1), Error);
  CHECK_THROWS_AS(make_notch(50, 250, 0), Error);
  CHECK_THROWS_WITH(make_notch(60, 100, 30),
                    "notch 60 Hz: at 100 samples a second it has to lie between 0 and 50 Hz");
}

}  // namespace
}  // namespace prep::signal::signal_filter_test
