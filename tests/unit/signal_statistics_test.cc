#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/statistics.h"

namespace prep::signal::signal_statistics_test {
namespace {

std::vector<float> noise(std::size_t length, float offset, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(length);
  for (float& value : values) value = offset + static_cast<float>(random() % 1000) / 100;
  return values;
}

TEST_CASE("Mean and standard deviation") {
  Statistics statistics(2, 3);
  statistics.add(1, 2, std::vector<float>{2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(statistics.of(1, 2).count == 8);
  CHECK(statistics.of(1, 2).mean == 5);
  CHECK(statistics.of(1, 2).deviation == 2);
  CHECK(statistics.of(0, 0).count == 0);
  CHECK(statistics.of(0, 0).mean == 0);
  statistics.add(1, 0, std::vector<float>{-5});
  CHECK(statistics.of_channel(1).count == 9);
  CHECK(statistics.of_channel(1).mean == Approx(35.0 / 9));
  statistics.add(0, 0, std::vector<float>{1});
  CHECK(statistics.of_all().mean == Approx(3.6));
}

TEST_CASE("An offset does not drown the deviation") {
  for (const float offset : {0.0f, 1e4f, -1e6f}) {
    const std::vector<float> values = noise(10001, offset, 1);
    long double mean = 0, squares = 0;
    for (const float value : values) mean += value;
    mean /= static_cast<long double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    Statistics statistics(1, 1);
    statistics.add(0, 0, values);
    const Moments moments = statistics.of(0, 0);
    CHECK(moments.mean == Approx(static_cast<double>(mean)).epsilon(1e-15));
    CHECK(moments.deviation ==
          Approx(static_cast<double>(std::sqrt(squares / values.size()))).epsilon(1e-13));
  }
}

TEST_CASE("The order of merging does not show") {
  std::vector<Statistics> parts;
  for (unsigned i = 0; i < 20; ++i) {
    parts.emplace_back(1, 1);
    parts.back().add(0, 0, noise(100 + i, std::exp2f(static_cast<float>(i)), i));
  }
  Statistics forwards(1, 1), backwards(1, 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    forwards.merge(parts[i]);
    backwards.merge(parts[parts.size() - 1 - i]);
  }
  CHECK(forwards.of(0, 0).mean == backwards.of(0, 0).mean);
  CHECK(forwards.of(0, 0).deviation == backwards.of(0, 0).deviation);
  CHECK_THROWS_AS(forwards.merge(Statistics(1, 2)), Error);
}

TEST_CASE("What is not finite is left out") {
  Statistics statistics(1, 1);
  const float infinity = std::numeric_limits<float>::infinity();
  statistics.add(0, 0, std::vector<float>{1, std::nanf(""), 3, infinity, -infinity});
  CHECK(statistics.of(0, 0).count == 2);
  CHECK(statistics.of(0, 0).mean == 2);
  CHECK(statistics.of(0, 0).deviation == 1);
}

TEST_CASE("Normalising") {
  std::vector<float> values = {1, 3, std::nanf("")};
  normalize(values, {2, 2, 0.5});
  CHECK(values[0] == -2);
  CHECK(values[1] == 2);
  CHECK(std::isnan(values[2]));
  std::vector<float> constant(3, 7.0f);
  Statistics statistics(1, 1);
  statistics.add(0, 0, constant);
  normalize(constant, statistics.of(0, 0));
  CHECK(constant == std::vector<float>(3, 0.0f));
}

}  // namespace
}  // namespace prep::signal::signal_statistics_test
