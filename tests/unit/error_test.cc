#include "lib/core/error.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace prep::error_test {

TEST_CASE("printable names cannot break a line or hide") {
  CHECK(printable("n01/a b.jpg") == "n01/a b.jpg");
  CHECK(printable("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80") ==
        "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(printable("a\nb\tc\\d\x1b[2J\x7f") == "a\\nb\\tc\\\\d\\x1b[2J\\x7f");
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc0\xaf \xed\xa0\x80 \xe2\x82") == "\\xc0\\xaf \\xed\\xa0\\x80 \\xe2\\x82");
  CHECK(printable("\xc2\x9b") == "\\xc2\\x9b");  // CSI in one byte: terminals obey it
}

TEST_CASE("errno becomes a code and words") {
  try {
    fail_errno(ENOENT, "open", "no\nsuch");
    FAIL();
  } catch (const Error& error) {
    CHECK(error.code() == Code::not_found);
    CHECK(std::string(error.what()) == "no\\nsuch: cannot open: No such file or directory");
  }
  CHECK_THROWS_WITH(fail_errno(EACCES, "read", "x"), "x: cannot read: Permission denied");
}

}  // namespace prep::error_test
