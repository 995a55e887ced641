#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/array_encoding.h"

namespace prep::signal::signal_array_encoding_test {
namespace {

TEST_CASE("Halves are rounded to nearest, ties to even") {
  CHECK(to_float16(0.0f) == 0);
  CHECK(to_float16(-0.0f) == 0x8000);
  CHECK(to_float16(1.0f) == 0x3c00);
  CHECK(to_float16(-2.0f) == 0xc000);
  CHECK(to_float16(1.0f + 0x1p-11f) == 0x3c00);  // a tie, down to even
  CHECK(to_float16(1.0f + 0x3p-11f) == 0x3c02);  // a tie, up to even
  CHECK(to_float16(1.0f + 0x1.01p-11f) == 0x3c01);
  CHECK(to_float16(65504.0f) == 0x7bff);
  CHECK(to_float16(65519.0f) == 0x7bff);
  CHECK(to_float16(65520.0f) == 0x7c00);
  CHECK(to_float16(-std::numeric_limits<float>::infinity()) == 0xfc00);
  CHECK(to_float16(std::nanf("")) == 0x7e00);
  CHECK(to_float16(0x1p-14f) == 0x0400);
  CHECK(to_float16(0x1p-24f) == 1);
  CHECK(to_float16(0x1p-25f) == 0);    // a tie, down to even
  CHECK(to_float16(0x1.8p-24f) == 2);  // a tie, up to even
  CHECK(to_float16(0x1.ff8p-15f) == 0x03ff);
  CHECK(to_float16(0x1.ffcp-15f) == 0x0400);  // a tie, up to a normal number
}

TEST_CASE("What halves cannot hold is counted") {
  const std::vector<float> values = {1, 1e-9f, 0, 1e6f, std::numeric_limits<float>::infinity()};
  std::vector<std::uint16_t> out(values.size());
  EncodingLosses losses = encode_float16(values, out.data());
  CHECK(losses.too_large == 1);
  CHECK(losses.too_small == 1);
  losses += losses;
  CHECK(losses.too_large == 2);
}

TEST_CASE("Bytes on a scale") {
  const std::vector<float> values = {-80, 0, -40, -80.1f, 1, std::nanf(""), -79.843f, -79.842f};
  std::vector<std::uint8_t> out(values.size());
  const EncodingLosses losses = encode_uint8(values, {-80, 0}, out.data());
  CHECK(out == std::vector<std::uint8_t>{0, 255, 128, 0, 255, 0, 1, 1});
  CHECK(losses.too_small == 1);
  CHECK(losses.too_large == 1);
  CHECK(losses.nan == 1);
  const std::vector<float> ties = {0.5f, 1.5f, 2.5f, 254.5f};
  encode_uint8(ties, {0, 255}, out.data());
  CHECK(std::vector<std::uint8_t>(out.begin(), out.begin() + 4) ==
        std::vector<std::uint8_t>{0, 2, 2, 254});
  CHECK_THROWS_AS(encode_uint8(values, {1, 1}, out.data()), Error);
  CHECK_THROWS_AS(encode_uint8(values, {0, std::nan("")}, out.data()), Error);
}

TEST_CASE("Blocks go to their places in every layout") {
  const ArrayShape shape{3, 35, 70};
  const auto value = [](std::size_t c, std::size_t f, std::size_t t) {
    return static_cast<float>(c * 10000 + f * 100 + t);
  };
  for (const Layout layout : {Layout::cft, Layout::ftc, Layout::ctf}) {
    std::vector<float> array(3 * 35 * 70);
    for (const auto& [first, times] :
         {std::pair<std::size_t, std::size_t>{0, 33}, {33, 36}, {69, 1}}) {
      std::vector<float> block;
      for (std::size_t i = 0; i < 3 * 35 * times; ++i) {
        block.push_back(value(i / (35 * times), i / times % 35, first + i % times));
      }
      place_block(block.data(), times, first, layout, shape, array.data());
    }
    for (std::size_t i = 0; i < array.size(); ++i) {
      const float expected = layout == Layout::cft   ? value(i / (35 * 70), i / 70 % 35, i % 70)
                             : layout == Layout::ftc ? value(i % 3, i / (3 * 70), i / 3 % 70)
                                                     : value(i / (35 * 70), i % 35, i / 35 % 70);
      REQUIRE(array[i] == expected);
    }
  }
}

}  // namespace
}  // namespace prep::signal::signal_array_encoding_test
