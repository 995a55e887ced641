#include "formats/verify_payload.h"

#include <catch2/catch.hpp>
#include <vector>

namespace prep::verify_payload_test {

using prep::SampleChoice;

namespace {

// Which of 10 samples of 100 bytes are taken.
std::vector<int> taken(std::uint64_t count, std::uint64_t size) {
  SampleChoice choice(count, size);
  std::vector<int> out;
  for (int i = 0; i < 10; ++i) {
    if (choice.takes(static_cast<std::uint64_t>(i) * 100)) out.push_back(i);
  }
  return out;
}

}  // namespace

TEST_CASE("samples are chosen evenly over a shard") {
  CHECK(taken(0, 1000).size() == 10);
  CHECK(taken(1, 1000) == std::vector<int>{0});
  CHECK(taken(2, 1000) == std::vector<int>{0, 5});
  CHECK(taken(3, 1000) == std::vector<int>{0, 4, 7});
  CHECK(taken(10, 1000).size() == 10);
  CHECK(taken(100, 1000).size() == 10);
}

TEST_CASE("of a stream the first ones are taken") {
  CHECK(taken(3, UINT64_MAX) == std::vector<int>{0, 1, 2});
}

}  // namespace prep::verify_payload_test
