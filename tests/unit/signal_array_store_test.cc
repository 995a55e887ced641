#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/array_store.h"

namespace prep::signal::signal_array_store_test {
namespace {

// The values behind the header, and the header's text.
std::vector<float> values_of(const Content& content, std::string* header = nullptr) {
  const Bytes bytes = content.load();
  const std::size_t start = bytes.text().find('\n') + 1;
  if (header != nullptr) *header = std::string(bytes.text().substr(0, start));
  std::vector<float> values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

// [channels, frequencies, times] with the values 100 c + 10 f + t.
std::vector<float> block_of(std::size_t channels, std::size_t frequencies, std::size_t times,
                            std::size_t first_time) {
  std::vector<float> block;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t f = 0; f < frequencies; ++f) {
      for (std::size_t t = 0; t < times; ++t) {
        block.push_back(static_cast<float>(100 * c + 10 * f + t + first_time));
      }
    }
  }
  return block;
}

TEST_CASE("Blocks come together to an array in any layout") {
  for (const Layout layout : {Layout::cft, Layout::ftc, Layout::ctf}) {
    ArrayStore store(NpyType::float32, {2, 3, 5}, layout);
    store.put(block_of(2, 3, 2, 3).data(), 2, 3);
    store.put(block_of(2, 3, 3, 0).data(), 3, 0);
    const auto content = store.take("a.edf", 77);
    CHECK(content->origin() == "a.edf");
    CHECK(content->mtime_ns() == 77);
    std::string header;
    const std::vector<float> values = values_of(*content, &header);
    REQUIRE(values.size() == 30);
    CHECK(header.size() % 64 == 0);
    if (layout == Layout::cft) {
      CHECK(header.find("(2, 3, 5)") != std::string::npos);
      CHECK(values == block_of(2, 3, 5, 0));
    } else if (layout == Layout::ftc) {
      CHECK(header.find("(3, 5, 2)") != std::string::npos);
      CHECK(values[(1 * 5 + 4) * 2 + 1] == 114);
    } else {
      CHECK(header.find("(2, 5, 3)") != std::string::npos);
      CHECK(values[(1 * 5 + 4) * 3 + 2] == 124);
    }
  }
}

TEST_CASE("An array in a file is what it would be in memory") {
  constexpr std::size_t kTimes = 15'000'000;  // times 12 bytes
  static_assert(kTimes * 12 > kLargestArrayInMemory);
  for (const Layout layout : {Layout::cft, Layout::ftc}) {
    ArrayStore store(NpyType::float32, {1, 3, kTimes}, layout);
    CHECK(store.row_in_memory(0, 0) == nullptr);
    store.put(block_of(1, 3, 4, 6).data(), 4, 6);
    if (layout == Layout::cft) {
      double sum = 0;
      store.visit_row(0, 1, /*write=*/true, [&](std::span<float> values) {
        for (float& value : values) {
          sum += static_cast<double>(value);
          if (value != 0) value += 0.5f;
        }
      });
      CHECK(sum == 16 + 17 + 18 + 19);
      std::vector<float> some(6);
      store.get(some.data(), 2, 8);
      CHECK(some == std::vector<float>{8, 9, 18.5, 19.5, 28, 29});
    }
    const auto content = store.take("x", 0);
    const std::size_t header = content->size() - kTimes * 12;
    std::vector<float> found(3);
    for (std::size_t f = 0; f < 3; ++f) {
      const std::size_t place = layout == Layout::cft ? f * kTimes + 7 : f * kTimes + 7;
      const Bytes bytes = content->read(header + place * 4, 4);
      std::memcpy(&found[f], bytes.data(), 4);
    }
    CHECK(found == std::vector<float>{7, layout == Layout::cft ? 17.5f : 17.0f, 27});
  }
}

TEST_CASE("A size that overflows is refused") {
  const std::size_t large = std::size_t{1} << 31;
  CHECK_THROWS_AS(ArrayStore(NpyType::float32, {large, large, 4}, Layout::cft), Error);
  CHECK_THROWS_AS(ArrayStore(NpyType::float32, {large, large, large}, Layout::cft), Error);
}

}  // namespace
}  // namespace prep::signal::signal_array_store_test
