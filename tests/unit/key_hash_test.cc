#include "lib/core/key_hash.h"

#include <catch2/catch.hpp>
#include <string>

namespace prep::key_hash_test {

TEST_CASE("key hashes are those of XXH3") {
  CHECK(key_hash("") == 0x2d06800538d394c2);  // the reference's XXH3_64bits("")
  CHECK(key_hash("n01440764/0042") == key_hash(std::string("n01440764/") + "0042"));
}

TEST_CASE("each key is one task's") {
  std::array<int, 4> share{};
  for (int i = 0; i < 4000; ++i) {
    int owners = 0;
    for (std::uint64_t t = 0; t < 4; ++t) {
      const bool mine = Task{t, 4}.has("key" + std::to_string(i));
      owners += mine;
      share[t] += mine;
    }
    REQUIRE(owners == 1);
  }
  for (const int n : share) CHECK(n == Approx(1000).margin(120));
  CHECK(Task{}.has("anything"));
}

TEST_CASE("a key set remembers every key") {
  KeySet set;
  for (int i = 0; i < 50000; ++i) REQUIRE(set.insert(std::to_string(i)));
  for (int i = 0; i < 50000; i += 7) REQUIRE_FALSE(set.insert(std::to_string(i)));
  CHECK(set.size() == 50000);
  CHECK(set.insert(""));
  CHECK_FALSE(set.insert(""));
}

}  // namespace prep::key_hash_test
