#include "lib/image/dct_requantize.h"

#include <hwy/targets.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace prep::image::dct_requantize_test {
namespace {

struct Block {
  DctBlock at = {};
};

QuantTable flat(int step) {
  QuantTable table;
  table.fill(static_cast<std::uint16_t>(step));
  return table;
}

int quantized(int value, int step) {
  Block in, out;
  in.at[5] = static_cast<std::int16_t>(value);
  std::uint64_t nonzero = 1;
  quantize(&in.at, 1, Quantizer(flat(step)), &out.at, &nonzero);
  CHECK(nonzero == (out.at[5] != 0 ? std::uint64_t{1} << 5 : 0));
  return out.at[5];
}

// Samples of a block and back, orthonormal, of any size.
double basis(int size, int k, int n) {
  const double pi = std::acos(-1.0);
  return std::sqrt((k == 0 ? 1.0 : 2.0) / size) * std::cos(pi * (2 * n + 1) * k / (2.0 * size));
}

// The definition of halving in one direction: element (k, line) of a block is at[k * step + line *
// across].
std::vector<double> exact_halved(const Block& a, const Block& b, int line, int step, int across) {
  double samples[8] = {};
  for (int n = 0; n < 8; ++n) {
    const Block& from = n < 4 ? a : b;
    for (int k = 0; k < 4; ++k) {
      samples[n] += basis(4, k, n % 4) * from.at[k * step + line * across] / std::sqrt(2.0);
    }
  }
  std::vector<double> out(8);
  for (int k = 0; k < 8; ++k) {
    for (int n = 0; n < 8; ++n) out[static_cast<std::size_t>(k)] += basis(8, k, n) * samples[n];
  }
  return out;
}

Block noise(std::mt19937& random, int largest) {
  Block block;
  for (auto& value : block.at) {
    value = static_cast<std::int16_t>(static_cast<int>(random() % (2 * largest + 1)) - largest);
  }
  return block;
}

void for_each_target(const std::function<void()>& run) {
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    run();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("Values are levels times steps, in eighths") {
  QuantTable steps = flat(3);
  steps[1] = 700;
  steps[2] = 65535;
  steps[3] = 0;
  Block levels, values;
  std::fill(std::begin(levels.at), std::end(levels.at), std::int16_t{-5});
  levels.at[1] = 2;
  levels.at[2] = 1;
  levels.at[3] = 7;
  levels.at[4] = 32767;
  levels.at[5] = -32768;
  dequantize(&levels.at, 1, Dequantizer(steps), &values.at);
  CHECK(values.at[0] == -5 * 3 * 8);
  CHECK(values.at[1] == 2 * 700 * 8);
  CHECK(values.at[2] == 0);
  CHECK(values.at[3] == 7 * 8);
  CHECK(values.at[4] == 2047 / 3 * 3 * 8);
  CHECK(values.at[5] == -2047 / 3 * 3 * 8);
}

TEST_CASE("Every value goes to the nearest level, halves towards zero") {
  for (const int step : {1, 2, 3, 5, 7, 10, 16, 17, 31, 64, 99, 128, 129, 200, 255}) {
    for (int value = 0; value <= 2047 * 8; value += value < 5000 ? 1 : 37) {
      const int divisor = step * 8;
      const int nearest = std::min((value + (divisor - 1) / 2) / divisor, 1023);
      if (quantized(value, step) != nearest || quantized(-value, step) != -nearest) {
        FAIL("value " << value << ", step " << step << ": " << quantized(value, step) << " and "
                      << quantized(-value, step));
      }
    }
  }
}

TEST_CASE("With a price, twos that hardly differ from ones become ones, but not DC") {
  const QuantTable steps = flat(10);
  const auto level_of = [&](int value, std::size_t i, int price) {
    Block in, out;
    in.at[i] = static_cast<std::int16_t>(value);
    std::uint64_t nonzero;
    quantize(&in.at, 1, Quantizer(steps, price), &out.at, &nonzero);
    return int{out.at[i]};
  };
  // A step is 80, 2 begins above 120; one bit costs 16 * 40 sixteenths, so that the two bits move
  // that by 2 * 40 * 16 / 16 / (2 * 80).
  constexpr int kPrice = 640 * 16;
  CHECK(level_of(121, 9, 0) == 2);
  CHECK(level_of(127, 9, kPrice) == 1);
  CHECK(level_of(129, 9, kPrice) == 2);
  CHECK(level_of(-127, 9, kPrice) == -1);
  CHECK(level_of(127, 0, kPrice) == 2);
  CHECK(level_of(210, 9, kPrice) == 3);
}

TEST_CASE("Requantising to the same steps changes nothing") {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    QuantTable steps;
    for (auto& step : steps) step = static_cast<std::uint16_t>(1 + random() % 255);
    Block levels = noise(random, 1), values, again;
    for (std::size_t k = 0; k < 64; ++k) {
      levels.at[k] = static_cast<std::int16_t>(levels.at[k] * static_cast<int>(1023 / steps[k]));
    }
    std::uint64_t nonzero;
    dequantize(&levels.at, 1, Dequantizer(steps), &values.at);
    quantize(&values.at, 1, Quantizer(steps), &again.at, &nonzero);
    CHECK(std::equal(std::begin(levels.at), std::end(levels.at), again.at));
  }
}

TEST_CASE("Halving is within rounding of its definition") {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    const Block pair[2] = {noise(random, 4000), noise(random, 4000)};
    Block across, down;
    DctBlock in[2];
    for (int k = 0; k < 2; ++k) std::copy(std::begin(pair[k].at), std::end(pair[k].at), in[k]);
    halve_across(in, 2, &across.at);
    halve_down(&pair[0].at, &pair[1].at, 1, &down.at);
    double largest = 0;
    for (int line = 0; line < 8; ++line) {
      const auto exact_across = exact_halved(pair[0], pair[1], line, 1, 8);
      const auto exact_down = exact_halved(pair[0], pair[1], line, 8, 1);
      for (int k = 0; k < 8; ++k) {
        const auto at = static_cast<std::size_t>(k);
        largest = std::max(largest, std::fabs(across.at[line * 8 + k] - exact_across[at]));
        largest = std::max(largest, std::fabs(down.at[k * 8 + line] - exact_down[at]));
      }
    }
    CHECK(largest < 0.8);  // half a unit, and what 15 bits of weight lose of values up to 4000
  }
}

TEST_CASE("Flat blocks halve to flat ones, a mirrored pair to an even one") {
  DctBlock in[2] = {{800}, {800}}, out;
  halve_across(in, 2, &out);
  CHECK(out[0] == 800);
  CHECK(std::count(std::begin(out), std::end(out), 0) == 63);
  std::mt19937 random(7);
  const Block block = noise(random, 1000);
  std::copy(std::begin(block.at), std::end(block.at), in[0]);
  mirror_across(in[0], in[1]);
  halve_across(in, 2, &out);
  for (int i = 0; i < 64; ++i) CHECK((i % 2 == 0 || out[i] == 0));
  mirror_down(in[0], in[1]);
  halve_down(&in[0], &in[1], 1, &out);
  for (int i = 0; i < 64; ++i) CHECK((i / 8 % 2 == 0 || out[i] == 0));
}

TEST_CASE("Every instruction set gives the same coefficients") {
  constexpr std::size_t kBlocks = 6;
  std::mt19937 random(11);
  std::set<std::string> names;
  for (const int largest : {3, 300, 32767}) {
    std::vector<std::int16_t> memory(64 * kBlocks);
    for (auto& level : memory) {
      level = static_cast<std::int16_t>(static_cast<int>(random() % (2 * largest + 1)) - largest);
    }
    const auto* levels = reinterpret_cast<const DctBlock*>(memory.data());
    QuantTable fine, coarse;
    for (auto& step : fine) step = static_cast<std::uint16_t>(1 + random() % 20);
    for (auto& step : coarse) step = static_cast<std::uint16_t>(1 + random() % 255);
    std::vector<std::int16_t> first;
    for_each_target([&] {
      names.insert(std::string(dct_target()));
      std::vector<std::int16_t> all(64 * kBlocks * 4);
      auto* values = reinterpret_cast<DctBlock*>(all.data());
      DctBlock *across = values + kBlocks, *down = across + kBlocks, *out = down + kBlocks;
      std::uint64_t nonzero[kBlocks];
      dequantize(levels, kBlocks, Dequantizer(fine), values);
      halve_across(values, kBlocks, across);
      halve_down(across, values, kBlocks, down);
      // Raw levels too: values that no dequantizer lets through.
      halve_down(levels, levels + 1, 1, across + kBlocks - 1);
      quantize(down, kBlocks, Quantizer(coarse, 900), out, nonzero);
      for (const std::uint64_t bits : nonzero) {
        for (int shift = 0; shift < 64; shift += 16) {
          all.push_back(static_cast<std::int16_t>(bits >> shift));
        }
      }
      if (first.empty()) first = all;
      REQUIRE(all == first);
    });
  }
  CHECK(names.size() >= 2);
}

}  // namespace
}  // namespace prep::image::dct_requantize_test
