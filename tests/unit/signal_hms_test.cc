#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/hms.h"

namespace prep::signal::signal_hms_test {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Values kFlat(static_cast<std::size_t>(kHmsSamples), 12.3);

Values golden(double factor) {
  Values x(static_cast<std::size_t>(kHmsSamples));
  for (std::size_t n = 0; n < x.size(); ++n) {
    const double t = static_cast<double>(n) / kHmsRate;
    x[n] = factor * (30 * std::sin(2 * std::numbers::pi * 3 * t) +
                     10 * std::sin(2 * std::numbers::pi * 11 * t + 0.5) + 0.02 * t);
  }
  return x;
}

HmsImage image_of(const std::vector<Values>& electrodes) {
  static const HmsSpectrogram kSpectrogram;
  return kSpectrogram.chain(
      {electrodes[0], electrodes[1], electrodes[2], electrodes[3], electrodes[4]});
}

void check_golden(const HmsImage& image) {
  REQUIRE(image.values.size() == kHmsMels * kHmsFrames);
  const double sum = std::accumulate(image.values.begin(), image.values.end(), 0.0);
  CHECK(sum / static_cast<double>(image.values.size()) == Approx(0.26406865038).margin(1e-7));
  CHECK(image.values[19 * kHmsFrames + 128] == Approx(0.991548250218).margin(1e-6));
  CHECK(image.values[70 * kHmsFrames + 128] == Approx(0.739241082735).margin(1e-6));
}

TEST_CASE("The picture is the public recipe's") {
  const HmsImage image = image_of({golden(5), golden(4), golden(3), golden(2), golden(1)});
  check_golden(image);
  CHECK(image.dead == std::array<bool, 4>{});
}

TEST_CASE("Dead differences are marked and left out") {
  const Values zero(static_cast<std::size_t>(kHmsSamples), 0.0);
  const HmsImage image = image_of({golden(2), golden(1), golden(1), zero, zero});
  CHECK(image.dead == std::array<bool, 4>{false, true, false, true});
  check_golden(image);
}

TEST_CASE("A dead chain is dark, not bright") {
  const Values nothing(static_cast<std::size_t>(kHmsSamples), kNan);
  for (const Values& electrode : {kFlat, nothing}) {
    const HmsImage image = image_of(std::vector<Values>(5, electrode));
    CHECK(image.all_dead());
    CHECK(image.values == std::vector<float>(kHmsMels * kHmsFrames, -1.0f));
  }
}

TEST_CASE("NaNs become the mean of the rest") {
  Values gaps = golden(1);
  std::fill(gaps.begin() + 100, gaps.begin() + 200, kNan);
  Values filled = golden(1);
  double sum = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) sum += std::isnan(gaps[i]) ? 0 : gaps[i] - kFlat[i];
  std::fill(filled.begin() + 100, filled.begin() + 200,
            sum / static_cast<double>(gaps.size() - 100) + kFlat[0]);
  const HmsImage from_gaps = image_of({gaps, kFlat, kFlat, kFlat, kFlat});
  const HmsImage from_filled = image_of({filled, kFlat, kFlat, kFlat, kFlat});
  CHECK(from_gaps.dead == std::array<bool, 4>{false, true, true, true});
  for (std::size_t i = 0; i < from_gaps.values.size(); ++i) {
    REQUIRE(from_gaps.values[i] == Approx(from_filled.values[i]).margin(1e-6));
  }
}

TEST_CASE("The middle of a recording") {
  CHECK(hms_middle(10000) == Range{0, 10000});
  CHECK(hms_middle(20001) == Range{5000, 15000});
  CHECK_THROWS_WITH(hms_middle(9999),
                    "9999 samples at 200 Hz are too few: the preset hms takes 50 s");
}

}  // namespace
}  // namespace prep::signal::signal_hms_test
