#include "lib/core/sample.h"

#include <catch2/catch.hpp>

namespace prep::sample_test {

namespace {
std::shared_ptr<const Content> content(const std::string& text) {
  return std::make_shared<MemoryContent>(Bytes::take(text), text);
}
}  // namespace

TEST_CASE("keys split at the first dot of the base name") {
  using Pair = std::pair<std::string_view, std::string_view>;
  CHECK(split_key("n01/1.jpg") == Pair{"n01/1", "jpg"});
  CHECK(split_key("a.b/c.seg.png") == Pair{"a.b/c", "seg.png"});
  CHECK(split_key("a.b/noext") == Pair{"a.b/noext", ""});
  CHECK(split_key("dir/.h.jpg") == Pair{"dir/.h.jpg", ""});
  CHECK(split_key("x.") == Pair{"x.", ""});
  for (const std::string path : {"n01/1.jpg", "a.b/c.seg.png", "noext", "x."}) {
    const auto [key, part] = split_key(path);
    CHECK(part_path(key, part) == path);
  }
}

TEST_CASE("paths are cleaned, and those that could leave the output refused") {
  bool root = false;
  CHECK(clean_path("./a//b/./c.jpg", &root) == "a/b/c.jpg");
  CHECK_FALSE(root);
  CHECK(clean_path("/data/x.jpg", &root) == "data/x.jpg");
  CHECK(root);
  CHECK(clean_path("a..b/..c") == "a..b/..c");
  for (const std::string bad : {"../x", "a/../b", "..", "", "/", "./"}) {
    CHECK_THROWS_AS(clean_path(bad), Error);
  }
  CHECK_THROWS_AS(clean_path(std::string_view("a\0b", 3)), Error);
}

TEST_CASE("memory contents clip reads to their size") {
  const auto c = content("hello");
  CHECK(c->size() == 5);
  CHECK(c->load().text() == "hello");
  CHECK(c->read(1, 3).text() == "ell");
  CHECK(c->read(3, 100).text() == "lo");
  CHECK(c->read(9, 1).empty());
}

TEST_CASE("neighbours with one key become one sample") {
  Grouper grouper;
  CHECK_FALSE(grouper.add("a.cls", content("1")));
  CHECK_FALSE(grouper.add("a.jpg", content("2")));
  const auto a = grouper.add("b.jpg", content("3"));
  REQUIRE(a);
  CHECK(a->key == "a");
  REQUIRE(a->parts.size() == 2);
  CHECK(a->parts[1].name == "jpg");
  CHECK_FALSE(grouper.add("b.jpg", content("again")));
  const auto b = grouper.finish();
  REQUIRE(b);
  REQUIRE(b->fault);
  CHECK(b->fault->code() == Code::duplicate);
  CHECK_FALSE(grouper.finish());
}

}  // namespace prep::sample_test
