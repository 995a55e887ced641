#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lib/signal/exact_sum.h"

namespace prep::signal::signal_exact_sum_test {
namespace {

TEST_CASE("Nothing is lost beside large terms") {
  ExactSum sum;
  for (const double value : {0x1p300, 1.0, -0x1p-298, -0x1p300, 2.5, 0x1p-298}) sum.add(value);
  CHECK(sum.value().high == 3.5);
  CHECK(sum.value().low == 0);
  sum.add(0x1p-298);
  CHECK(sum.value().low == 0x1p-298);
  sum.add(-3.5);
  CHECK(sum.value().high == 0x1p-298);
  sum.add(-0x1p-297);
  CHECK(sum.value().high == -0x1p-298);
}

TEST_CASE("The extremes of floats and of their squares") {
  const double most = std::numeric_limits<float>::max(), least = 0x1p-149;
  ExactSum sum;
  for (int i = 0; i < 1000; ++i) sum.add(most * most);
  sum.add(least * least);
  for (int i = 0; i < 1000; ++i) sum.add(-(most * most));
  CHECK(sum.value().high == least * least);
}

TEST_CASE("The order does not matter") {
  std::mt19937 random(1);
  std::vector<double> values;
  for (int i = 0; i < 3000; ++i) {
    const float x =
        std::ldexp(static_cast<float>(random()) - 0x1p31f, static_cast<int>(random() % 80) - 60);
    values.push_back(static_cast<double>(x) * static_cast<double>(x) * (i % 2 ? 1 : -1));
  }
  ExactSum forwards, parts, part;
  for (const double value : values) forwards.add(value);
  std::shuffle(values.begin(), values.end(), random);
  for (std::size_t i = 0; i < values.size(); ++i) {
    part.add(values[i]);
    if (i % 100 == 99) parts.add(part), part = {};
  }
  CHECK(parts.value().high == forwards.value().high);
  CHECK(parts.value().low == forwards.value().low);
}

TEST_CASE("Arithmetic on pairs of doubles") {
  const DoubleDouble third = divide({1, 0}, 3);
  CHECK(third.high == 1.0 / 3);
  const DoubleDouble nearly_one = multiply(third, {3, 0});
  CHECK(std::fabs((nearly_one.high - 1) + nearly_one.low) < 1e-31);
  const DoubleDouble rest = subtract(add({0x1p40, 0}, {1, 0x1p-60}), {0x1p40, 0});
  CHECK(rest.high == 1);
  CHECK(rest.low == 0x1p-60);
}

}  // namespace
}  // namespace prep::signal::signal_exact_sum_test
