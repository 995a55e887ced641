#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "lib/signal/array_finish.h"

namespace prep::signal::signal_array_finish_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ArrayStore store_of(const ArrayShape& shape, const std::vector<float>& values) {
  ArrayStore store(NpyType::float32, shape, Layout::cft);
  store.put(values.data(), shape.times, 0);
  return store;
}

template <typename T>
std::vector<T> values_of(ArrayStore& store) {
  const Bytes bytes = store.take("x", 0)->load();
  const std::size_t start = bytes.text().find('\n') + 1;
  std::vector<T> values((bytes.size() - start) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(T));
  return values;
}

TEST_CASE("Raising to a floor leaves NaN alone") {
  ArrayStore store = store_of({1, 1, 4}, {-3, 2, kNan, -0.5});
  ArrayFinisher(store, Crew()).raise_to(-1);
  const std::vector<float> values = values_of<float>(store);
  CHECK(values[0] == -1);
  CHECK(values[1] == 2);
  CHECK(std::isnan(values[2]));
  CHECK(values[3] == -0.5f);
}

TEST_CASE("Statistics and normalising go by channel and frequency") {
  ArrayStore store = store_of({2, 2, 2}, {1, 3, 10, 30, -1, 1, 5, 5});
  const ArrayFinisher finisher(store, Crew());
  const Statistics statistics = finisher.gather();
  CHECK(statistics.of(0, 1).mean == 20);
  CHECK(statistics.of(0, 1).deviation == 10);
  CHECK(statistics.of(1, 1).deviation == 0);
  finisher.normalize([&](std::size_t c, std::size_t f) { return statistics.of(c, f); });
  CHECK(values_of<float>(store) == std::vector<float>{-1, 1, -1, 1, -1, 1, 0, 0});
}

TEST_CASE("The range of what is finite") {
  ArrayStore store = store_of({1, 2, 2}, {4, kNan, -2, std::numeric_limits<float>::infinity()});
  const Uint8Scale range = ArrayFinisher(store, Crew()).range();
  CHECK(range.low == -2);
  CHECK(range.high == 4);
  ArrayStore flat = store_of({1, 1, 2}, {3, 3});
  CHECK(ArrayFinisher(flat, Crew()).range().high > 3);
  ArrayStore nothing = store_of({1, 1, 1}, {kNan});
  CHECK(ArrayFinisher(nothing, Crew()).range().low == 0);
}

TEST_CASE("Narrower types, and what they lose") {
  ArrayStore store = store_of({2, 1, 3}, {0, 5, 10, -1, 11, kNan});
  ArrayStore bytes(NpyType::uint8, {2, 1, 3}, Layout::ctf);
  const EncodingLosses losses = ArrayFinisher(store, Crew()).encode(bytes, NpyType::uint8, {0, 10});
  CHECK(values_of<std::uint8_t>(bytes) == std::vector<std::uint8_t>{0, 128, 255, 0, 255, 0});
  CHECK(losses.too_small == 1);
  CHECK(losses.too_large == 1);
  CHECK(losses.nan == 1);

  ArrayStore halves(NpyType::float16, {2, 1, 3}, Layout::ftc);
  CHECK(ArrayFinisher(store, Crew()).encode(halves, NpyType::float16, {}).too_large == 0);
  const std::vector<std::uint16_t> found = values_of<std::uint16_t>(halves);
  CHECK(found[1] == 0xbc00);  // -1: channels are innermost
  CHECK(found[2] == 0x4500);  // 5
}

}  // namespace
}  // namespace prep::signal::signal_array_finish_test
