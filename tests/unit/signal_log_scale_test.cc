#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/log_scale.h"

namespace prep::signal::signal_log_scale_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("Decibels are librosa's") {
  std::vector<float> values = {1, 10, 0.001f, 0, -3, 1e-10f};
  to_decibels<float>(values, {});
  CHECK(values[0] == 0);
  CHECK(values[1] == 10);
  CHECK(values[2] == Approx(-30));
  CHECK(values[3] == -100);
  CHECK(values[4] == -100);
  CHECK(values[5] == -100);
  Decibels below;
  below.reference = 100;
  below.floor = -80;
  CHECK(to_decibel(100, below) == 0);
  CHECK(to_decibel(1, below) == Approx(-20));
  CHECK(to_decibel(1e-9, below) == -80);
}

TEST_CASE("Logarithms are right to the last bits") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(-600, 600), near_one(0.5, 2);
  std::vector<double> x;
  for (int i = 0; i < 10001; ++i)
    x.push_back(i % 2 ? std::exp(exponent(random)) : near_one(random));
  std::vector<double> logs = x;
  to_logarithms<double>(logs, 1e-300);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto exact = static_cast<double>(std::log(static_cast<long double>(x[i])));
    REQUIRE(std::fabs(logs[i] - exact) <= 5e-16 * std::fabs(exact));
  }
}

TEST_CASE("Logarithms of what is no number") {
  std::vector<double> values = {std::nan(""), kInfinity, -kInfinity, 1, 0};
  to_logarithms<double>(values, 1e-10);
  CHECK(std::isnan(values[0]));
  CHECK(values[1] == kInfinity);
  CHECK(values[2] == Approx(std::log(1e-10)));
  CHECK(values[3] == 0);
  CHECK_THROWS_AS(to_logarithms<double>(values, 0), Error);
  CHECK_THROWS_AS(to_decibel(1, {1, std::nan("")}), Error);
}

TEST_CASE("Logarithms are the same with every instruction set") {
  std::vector<float> x(1003);
  std::mt19937 random(2);
  for (float& value : x) value = static_cast<float>(random()) * 1e-12f;
  std::vector<float> first;
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    std::vector<float> logs = x;
    to_decibels<float>(logs, {});
    if (first.empty()) first = logs;
    CHECK(logs == first);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("The largest value") {
  std::vector<float> values(100, std::nanf(""));
  CHECK(largest<float>(values) == -std::numeric_limits<float>::infinity());
  for (const std::size_t at : {0, 50, 99}) {
    std::vector<float> some = values;
    some[at] = -3;
    CHECK(largest<float>(some) == -3);
    some[70] = 5;
    CHECK(largest<float>(some) == 5);
  }
  CHECK(largest<double>({}) == -kInfinity);
}

}  // namespace
}  // namespace prep::signal::signal_log_scale_test
