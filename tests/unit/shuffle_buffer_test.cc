#include "formats/shuffle_buffer.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/samples.h"

namespace prep::shuffle_buffer_test {

using test::literal_sample;
using test::VectorSource;

namespace {

std::vector<std::string> shuffled(int count, std::size_t buffer, std::uint64_t seed) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i) samples.push_back(literal_sample(fmt::format("{:03}", i), {}));
  ShuffleBufferSource source(std::make_unique<VectorSource>(std::move(samples)), buffer, seed);
  return test::describe_all(source);
}

}  // namespace

TEST_CASE("A buffer gives every sample once, in an order that the seed decides") {
  const auto sorted = shuffled(100, 1, 1);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  auto one = shuffled(100, 30, 1);
  CHECK(one == shuffled(100, 30, 1));
  CHECK(one != shuffled(100, 30, 2));
  CHECK(one != sorted);
  // No sample comes earlier than the buffer can reach.
  for (int i = 0; i < 100; ++i) CHECK(std::stoi(one[static_cast<std::size_t>(i)]) < i + 30);
  std::sort(one.begin(), one.end());
  CHECK(one == sorted);
  auto all = shuffled(10, 1000, 5);
  CHECK(all.size() == 10);
  CHECK(shuffled(0, 10, 5).empty());
}

}  // namespace prep::shuffle_buffer_test
