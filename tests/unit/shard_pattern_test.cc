#include "formats/shard_pattern.h"

#include <catch2/catch.hpp>

#include "lib/core/error.h"

namespace prep::shard_pattern_test {

using prep::ShardPattern;

TEST_CASE("shard patterns: names, directories and what they may give") {
  const ShardPattern plain("shards/train-%06d.tar");
  CHECK(plain.directory() == "shards");
  CHECK(plain.name("", 12, 0) == "train-000012.tar");
  CHECK(plain.may_give("train-999999.tar", {""}));
  CHECK_FALSE(plain.may_give("train-x.tar", {""}));
  CHECK_FALSE(plain.may_give("train-000001.tar.idx", {""}));

  const ShardPattern both("out/{split}/%05d-of-%05d.tfrecord");
  CHECK(both.directory() == "out");
  CHECK(both.needs_total());
  CHECK(both.needs_split());
  CHECK(both.name("val", 3, 10) == "val/00003-of-00010.tfrecord");
  CHECK(both.may_give("val/00003-of-00010.tfrecord", {"train", "val"}));
  CHECK_FALSE(both.may_give("test/00003-of-00010.tfrecord", {"train", "val"}));

  CHECK(ShardPattern("a%%b-%d.tar").name("", 7, 0) == "a%b-7.tar");
}

TEST_CASE("shard patterns: what is none") {
  CHECK(ShardPattern::matches("x-%d.tar"));
  CHECK_FALSE(ShardPattern::matches("x-%%d.tar"));
  CHECK_FALSE(ShardPattern::matches("x.tar"));
  CHECK_THROWS_AS(ShardPattern("x-%6d.tar"), prep::Error);
  CHECK_THROWS_AS(ShardPattern("%d-%d-%d.tar"), prep::Error);
  CHECK_THROWS_AS(ShardPattern("100%-%d.tar"), prep::Error);
}

TEST_CASE("shard patterns: numbers of any width, splits by name") {
  const ShardPattern pattern("%d-%d.tar");
  CHECK(pattern.directory() == ".");
  CHECK(pattern.name("", 12345678, 3) == "12345678-3.tar");
  CHECK(pattern.may_give("0012-7.tar", {""}));
  CHECK_FALSE(pattern.may_give("-7.tar", {""}));
  CHECK(ShardPattern("/%d.tar").directory() == "/");
  CHECK(ShardPattern("a/b{split}/%d.tar").directory() == "a");
  CHECK(ShardPattern("x-%03d1.tar").may_give("x-00011.tar", {""}));
  CHECK(ShardPattern("{split}-%d.tar").may_give("a-b-1.tar", {"a-b"}));
  CHECK_FALSE(ShardPattern("{split}-%d.tar").may_give("a-b-1.tar", {"a"}));
}

TEST_CASE("shard patterns: names that a manifest could not hold") {
  for (const char* wrong : {"%d/../x.tar", "%d//x.tar", "%d/./x.tar", "\xff-%d.tar"}) {
    try {
      ShardPattern pattern(wrong);
      FAIL(wrong);
    } catch (const prep::Error& error) {
      CHECK(error.code() == prep::Code::usage);
    }
  }
}

}  // namespace prep::shard_pattern_test
