#include "formats/verify_keys.h"

#include <catch2/catch.hpp>
#include <string>

namespace prep::verify_keys_test {

using prep::KeyPlaces;

TEST_CASE("a key's first place is remembered") {
  KeyPlaces places;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    CHECK_FALSE(places.insert(KeyPlaces::hash(std::to_string(i)), i).has_value());
  }
  CHECK(places.size() == 10'000);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    CHECK(places.insert(KeyPlaces::hash(std::to_string(i)), 77) == i);
  }
  CHECK(places.size() == 10'000);
}

}  // namespace prep::verify_keys_test
