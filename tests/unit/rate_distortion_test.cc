#include "lib/image/rate_distortion.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <vector>

namespace prep::image::rate_distortion_test {
namespace {

QuantTable flat(int step) {
  QuantTable table;
  table.fill(static_cast<std::uint16_t>(step));
  return table;
}

struct Case {
  DctBlock values = {}, levels = {};
  std::uint64_t nonzero = 0;
};

// Values at random zigzag positions, with their nearest levels.
Case make_case(std::mt19937& random, int count, int step) {
  Case c;
  for (int i = 0; i < count; ++i) {
    const std::size_t position = 1 + random() % 63, natural = kZigzag[position];
    const int steps8 = step * kDctFraction;
    const int value =
        steps8 / 2 + 1 + static_cast<int>(random() % (random() % 4 ? steps8 : 4 * steps8));
    c.values[natural] = static_cast<std::int16_t>(random() % 2 ? value : -value);
    const int level = (value + (steps8 - 1) / 2) / steps8;
    c.levels[natural] = static_cast<std::int16_t>(c.values[natural] < 0 ? -level : level);
    if (level > 0) c.nonzero |= std::uint64_t{1} << position;
  }
  return c;
}

// Squared error + price * bits, in sixteenths, of the coefficients in `kept`.
double cost_of(const Case& c, std::uint64_t kept, int step, int price) {
  const auto codes = make_codes(standard_huffman_table(CodeKind::ac, false));
  double error = 0;
  int bits = 0, before = 0;
  for (int i = 1; i < 64; ++i) {
    const std::size_t natural = kZigzag[static_cast<std::size_t>(i)];
    const bool stays = kept >> i & 1;
    const double shown = stays ? c.levels[natural] * step * kDctFraction : 0;
    error += (c.values[natural] - shown) * (c.values[natural] - shown);
    if (!stays) continue;
    const int run = i - before - 1;
    const int size = std::bit_width(unsigned(std::abs(c.levels[natural])));
    bits +=
        codes[0xF0].length * (run / 16) + codes[std::size_t(run % 16 << 4 | size)].length + size;
    before = i;
  }
  if (before < 63) bits += codes[0].length;
  return error * kPriceFraction + double(price) * bits;
}

TEST_CASE("The cheapest set of coefficients stays") {
  std::mt19937 random(2);
  constexpr int kStep = 10;
  const auto codes = make_codes(standard_huffman_table(CodeKind::ac, false));
  const int price = bit_price(flat(kStep));
  const RateDistortion rate_distortion(flat(kStep), codes, price);
  int dropped = 0;
  for (int i = 0; i < 300; ++i) {
    Case c = make_case(random, 1 + static_cast<int>(random() % 9), kStep);
    double least = 1e300;
    std::vector<int> positions;
    for (int p = 1; p < 64; ++p) {
      if (c.nonzero >> p & 1) positions.push_back(p);
    }
    for (unsigned set = 0; set < 1u << positions.size(); ++set) {
      std::uint64_t kept = 0;
      for (std::size_t k = 0; k < positions.size(); ++k) {
        if (set >> k & 1) kept |= std::uint64_t{1} << positions[k];
      }
      least = std::min(least, cost_of(c, kept, kStep, price));
    }
    const Case before = c;
    const std::uint64_t kept = rate_distortion.optimize(c.values, c.levels, c.nonzero);
    const double cost = cost_of(before, kept, kStep, price);
    CHECK(cost <= cost_of(before, before.nonzero, kStep, price));
    // Costs are rounded to whole squared units, and some longer runs do have shorter codes.
    CHECK(cost <= least * 1.02 + 1000);
    for (int p = 1; p < 64; ++p) {
      const std::size_t natural = kZigzag[static_cast<std::size_t>(p)];
      CHECK(c.levels[natural] == (kept >> p & 1 ? before.levels[natural] : 0));
    }
    dropped += std::popcount(c.nonzero ^ kept);
  }
  CHECK(dropped > 100);
}

TEST_CASE("DC is left alone, and blocks without AC") {
  const auto codes = make_codes(standard_huffman_table(CodeKind::ac, true));
  const RateDistortion rate_distortion(flat(10), codes, bit_price(flat(10)));
  Case c;
  c.levels[0] = 1;
  c.values[0] = 41;
  CHECK(rate_distortion.optimize(c.values, c.levels, 1) == 1);
  CHECK(c.levels[0] == 1);
  CHECK(rate_distortion.optimize(c.values, c.levels, 0) == 0);
  c.levels[63] = 1;
  c.values[63] = 41;
  CHECK(rate_distortion.optimize(c.values, c.levels, std::uint64_t{1} << 63 | 1) == 1);
  CHECK(c.levels[63] == 0);
}

TEST_CASE("The largest values and prices stay within the numbers") {
  const auto codes = make_codes(standard_huffman_table(CodeKind::ac, false));
  for (const int step : {1, 255}) {
    const RateDistortion rate_distortion(flat(step), codes, bit_price(flat(255)));
    Case c;
    for (std::size_t i = 0; i < 64; ++i) {
      c.values[i] = i % 2 ? 32767 : -32768;
      c.levels[i] =
          static_cast<std::int16_t>((i % 2 ? 1 : -1) * std::min(1023, 32767 / (8 * step)));
    }
    CHECK(rate_distortion.optimize(c.values, c.levels, ~std::uint64_t{0}) == ~std::uint64_t{0});
  }
}

}  // namespace
}  // namespace prep::image::rate_distortion_test
