#include "formats/numbers_text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/core/error.h"

namespace prep::numbers_text_test {

namespace {

using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

template <typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    CHECK(error.code() == Code::corrupt);
    return error.what();
  }
  FAIL("no error");
  return "";
}
std::string int_error(std::string_view text) {
  return message_of([&] { parse_int64s(text); });
}
std::string float_error(std::string_view text) {
  return message_of([&] { parse_floats(text); });
}

template <typename T>
std::string text_of(const std::vector<T>& values) {
  NumbersText text;
  for (const T value : values) text.add(value);
  return std::move(text).finish();
}

}  // namespace

TEST_CASE("Numbers stand between white space, commas and brackets") {
  CHECK(parse_int64s("7") == Integers{7});
  CHECK(parse_int64s(" -7\n") == Integers{-7});
  CHECK(parse_int64s("1 2\t3\r\n4") == Integers{1, 2, 3, 4});
  CHECK(parse_int64s("1,2 , 3") == Integers{1, 2, 3});
  CHECK(parse_int64s("[1, 2]\n") == Integers{1, 2});
  CHECK(parse_int64s(" [ ] ").empty());
  CHECK(
      parse_int64s("9223372036854775807 -9223372036854775808") ==
      Integers{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()});
  CHECK(parse_floats("0.5,1e3 -2") == Floats{0.5F, 1000.0F, -2.0F});
  CHECK(parse_floats("Infinity -Infinity 1e-60") ==
        Floats{std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), 0});
  CHECK(std::isnan(parse_floats("NaN")[0]));
}

TEST_CASE("What is no number is said") {
  CHECK(int_error("dog") == "'dog' is not an integer");
  CHECK(int_error("1.5") == "'1.5' is not an integer");
  CHECK(int_error("1 two 3") == "'two' is not an integer");
  CHECK(int_error("7\xFF") == "'7\\xff' is not an integer");
  CHECK(int_error("9223372036854775808") == "'9223372036854775808' does not fit in 64 bits");
  CHECK(int_error("") == "there is no number in it");
  CHECK(int_error(" \n") == "there is no number in it");
  CHECK(int_error("1,,2") == "',' where a number should be");
  CHECK(int_error("1,") == "a comma without a number behind it");
  CHECK(int_error("[1") == "'[' where a number should be");
  CHECK(int_error("[[1]]") == "'[' where a number should be");
  CHECK(int_error(std::string(100, 'x')) == "'" + std::string(40, 'x') + "…' is not an integer");
  CHECK(float_error("1e39") == "'1e39' does not fit in 32-bit floating point");
  CHECK(float_error("0x10") == "'0x10' is not a number");
  CHECK(float_error("1.5.2") == "'1.5.2' is not a number");
}

TEST_CASE("A number is written as such, several as a JSON array") {
  CHECK(text_of(Integers{7}) == "7");
  CHECK(text_of(Integers{1, -2}) == "[1,-2]");
  CHECK(text_of(Integers{}) == "[]");
  CHECK(text_of(Floats{0.1F}) == "0.1");
  CHECK(text_of(Floats{1.0F, NAN, -INFINITY, INFINITY}) == "[1,NaN,-Infinity,Infinity]");
}

TEST_CASE("A float's text gives the same float again") {
  for (std::uint64_t bits = 0; bits <= UINT32_MAX; bits += 6'700'417) {
    const auto pattern = static_cast<std::uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &pattern, sizeof value);
    const float back = parse_floats(text_of(Floats{value}))[0];
    CHECK((back == value || (std::isnan(back) && std::isnan(value))));
    CHECK(std::signbit(back) == (std::isnan(value) ? std::signbit(back) : std::signbit(value)));
  }
}

}  // namespace prep::numbers_text_test
