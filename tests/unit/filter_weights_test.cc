#include "lib/image/filter_weights.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <random>

namespace prep::image::filter_weights_test {
namespace {

double share(const FilterWeights& table, int x, int k) {
  return table.of(x)[k] / std::ldexp(1.0, table.bits);
}

TEST_CASE("Weights of any table sum to exactly one and stay inside the input") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> off(-1.5, 1.5);
  for (int round = 0; round < 20000; ++round) {
    const int in_size = 1 + static_cast<int>(random() % (round % 3 == 0 ? 8 : 60));
    AxisMapping axis{in_size, 0, static_cast<double>(in_size), 1 + static_cast<int>(random() % 40),
                     static_cast<Filter>(random() % 4)};
    if (round & 1) {
      axis.start = off(random);
      axis.length = std::max(0.1, in_size + 2 * off(random));
    }
    const bool even_first = (random() & 1) != 0;
    const FilterWeights table = make_filter_weights(axis, 20, even_first);
    REQUIRE(table.taps % 2 == 0);
    REQUIRE(table.bits <= 20);
    for (int x = 0; x < axis.out_size; ++x) {
      long sum = 0, magnitude = 0;
      bool inside = true;
      const int first = table.first[static_cast<std::size_t>(x)];
      for (int k = 0; k < table.taps; ++k) {
        const long weight = table.of(x)[k];
        inside &= weight == 0 ? first + k <= in_size : first + k < in_size;
        sum += weight;
        magnitude += std::labs(weight);
      }
      REQUIRE((inside && first >= 0 && !(even_first && first % 2 != 0)));
      REQUIRE(sum == 1L << table.bits);
      REQUIRE(static_cast<double>(magnitude) < 1.7 * static_cast<double>(sum));
    }
  }
}

TEST_CASE("A triangle of three taps") {
  // Scale 1.5: the first centre is 0.75, samples lie at 0.5, 1.5, 2.5 and weigh
  // 1 - d / 1.5 for d = 0.25, 0.75, 1.75.
  const FilterWeights table = make_filter_weights({6, 0, 6, 4, Filter::bilinear}, 22, false);
  CHECK(table.first[0] == 0);
  CHECK(share(table, 0, 0) == Approx(5.0 / 8).margin(1e-4));
  CHECK(share(table, 0, 1) == Approx(3.0 / 8).margin(1e-4));
  CHECK(table.first[1] == 1);
  CHECK(share(table, 1, 0) == Approx(3.0 / 9).margin(2e-4).epsilon(0));
  CHECK(share(table, 1, 1) == Approx(5.0 / 9).margin(2e-4).epsilon(0));
  CHECK(share(table, 1, 2) == Approx(1.0 / 9).margin(2e-4).epsilon(0));
}

TEST_CASE("Lanczos and bicubic between samples, by their formulas") {
  // Two outputs a sample: output 20 lies at 10.25, a quarter before sample 10's centre.
  const auto weight_at = [](Filter filter, double distance) {
    const FilterWeights table = make_filter_weights({21, 0, 21, 42, filter}, 22, false);
    const int sample = static_cast<int>(std::floor(10.25 + distance));
    return share(table, 20, sample - table.first[20]);
  };
  const double pi = std::acos(-1.0);
  const auto lanczos = [&](double x) {
    return 3 * std::sin(pi * x) * std::sin(pi * x / 3) / (pi * pi * x * x);
  };
  double sum = 0;
  for (double d = -2.75; d < 3; d += 1) sum += lanczos(d);
  for (double d = -2.75; d < 3; d += 1) {
    CHECK(weight_at(Filter::lanczos, d) == Approx(lanczos(d) / sum).margin(1e-4));
  }
  CHECK(weight_at(Filter::bicubic, 0.25) == Approx(0.8671875).margin(1e-4));
  CHECK(weight_at(Filter::bicubic, 1.25) == Approx(-0.0703125).margin(1e-4));
  CHECK(weight_at(Filter::bicubic, -0.75) == Approx(0.2265625).margin(1e-4));
  CHECK(weight_at(Filter::bicubic, -1.75) == Approx(-0.0234375).margin(1e-4));
}

TEST_CASE("A box takes every sample once, however its edges round") {
  for (const int out_size : {1, 3, 7, 49, 77, 128, 171, 255, 341, 499}) {
    const FilterWeights table =
        make_filter_weights({500, 0, 500, out_size, Filter::box}, 22, false);
    std::vector<int> taken(501, 0);
    for (int x = 0; x < out_size; ++x) {
      for (int k = 0; k < table.taps; ++k) {
        if (table.of(x)[k] != 0) ++taken[static_cast<std::size_t>(table.first[x] + k)];
      }
    }
    for (int i = 0; i < 500; ++i) {
      INFO("sample " << i << " of 500 to " << out_size);
      REQUIRE(taken[static_cast<std::size_t>(i)] == 1);
    }
  }
}

TEST_CASE("Thousands of taps keep their precision") {
  const FilterWeights table = make_filter_weights({60000, 0, 60000, 2, Filter::bilinear}, 22, true);
  CHECK(table.bits == 22);
  CHECK(table.taps > 40000);
  double centre_of_mass = 0;
  for (int k = 0; k < table.taps; ++k) centre_of_mass += share(table, 0, k) * (table.first[0] + k);
  // The triangle reaches from 15000 to 45000, but to the left only to 0, half its width: integrals
  // give 7.5e7 / 26250 to the right of its middle.
  CHECK(centre_of_mass == Approx(15000 - 0.5 + 7.5e7 / 26250).margin(0.5));
}

}  // namespace
}  // namespace prep::image::filter_weights_test
