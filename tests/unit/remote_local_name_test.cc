#include <catch2/catch.hpp>

#include "lib/remote/local_name.h"

namespace prep::remote_local_name_test {

using prep::mirror_path;

TEST_CASE("names that a file system can have stay as they are") {
  const std::string key =
      GENERATE(std::string("a"), "a/b.c", "a/b/", "...", "..a", "a..", ".hidden", " ", "a b+c%2F",
               "back\\slash", "new\nline", "\x01", "caf\xc3\xa9", "\xff\xfe", "",
               std::string(255, 'x'), std::string(255, 'x') + "/" + std::string(255, 'y'));
  std::string why;
  CHECK(mirror_path(key, &why) == key);
  CHECK(why.empty());
}

TEST_CASE("names that it cannot have, or that lead elsewhere, are refused with a reason") {
  const std::string key = GENERATE(std::string(".."), "../x", "a/../b", "a/..", ".", "./x", "a/./b",
                                   "/lead", "/", "a//b", "a//", std::string(256, 'x'),
                                   "a/" + std::string(256, 'x') + "/b", std::string("a\0b", 3));
  std::string why;
  CHECK_FALSE(mirror_path(key, &why));
  CHECK_FALSE(why.empty());
  CHECK_FALSE(mirror_path(key, nullptr));
}

}  // namespace prep::remote_local_name_test
