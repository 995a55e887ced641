#include "formats/catalog.h"

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "lib/core/file_io.h"
#include "tests/unit/samples.h"
#include "tests/unit/temp_dir.h"

namespace prep::catalog_test {

using test::describe;
using test::literal_sample;
using test::TempDir;
using test::write_file;

namespace {

Sample file_sample(
    const std::string& key,
    const std::vector<std::pair<std::string, std::string>>& parts) {  // names and paths
  Sample sample;
  sample.key = key;
  for (const auto& [name, path] : parts) {
    sample.parts.push_back({name, std::make_shared<FileContent>(path)});
  }
  return sample;
}

}  // namespace

TEST_CASE("A catalog gives back files, ranges and literals") {
  const TempDir directory;
  write_file(directory / "a/1.jpg", "picture");
  write_file(directory / "other", "0123456789");
  Catalog catalog;
  Sample mixed = file_sample("a/1", {{"jpg", directory / "a/1.jpg"}, {"bin", directory / "other"}});
  const auto file =
      std::make_shared<const Fd>(open_file(directory / "other", O_RDONLY | O_CLOEXEC));
  mixed.parts.push_back({"mid", std::make_shared<RangeContent>(file, 3, 4, "x.tar: a/1.mid", 7)});
  mixed.parts.push_back({"cls", std::make_shared<LiteralContent>("12", "t.csv line 3")});
  catalog.add(mixed, 5);
  catalog.add(literal_sample("", {{"", ""}}));
  REQUIRE(catalog.size() == 2);
  CHECK(catalog.key(0) == "a/1");
  CHECK(catalog.label(0) == 5);
  CHECK(describe(catalog.sample(0)) == "a/1 jpg=picture bin=0123456789 mid=3456 cls=12");
  const Sample again = catalog.sample(0);
  CHECK(again.parts[0].content->origin() == directory / "a/1.jpg");
  CHECK(again.parts[1].content->origin() == directory / "other");
  CHECK(again.parts[2].content->origin() == "x.tar: a/1.mid");
  CHECK(again.parts[2].content->mtime_ns() == 7);
  CHECK(again.parts[3].content->is_literal());
  CHECK(catalog.key(1).empty());
  CHECK(catalog.label(1) == Catalog::kNoLabel);
  const auto sizes = catalog.part_sizes(0);
  REQUIRE(sizes.size() == 4);
  CHECK((sizes[0].name == "jpg" && sizes[0].size == 7));
  CHECK((sizes[2].name == "mid" && sizes[2].size == 4));
  CHECK((sizes[3].name == "cls" && sizes[3].size == 2));
}

TEST_CASE("A file whose size is not what it was is an error, not other data") {
  const TempDir directory;
  write_file(directory / "a.jpg", "0123456789");
  Catalog catalog;
  catalog.add(file_sample("a", {{"jpg", directory / "a.jpg"}}));
  write_file(directory / "a.jpg", "0123");
  CHECK_THROWS_AS(catalog.sample(0).parts[0].content->load(), Error);
  write_file(directory / "a.jpg", "0123456789ab");
  CHECK_THROWS_AS(catalog.sample(0).parts[0].content->load(), Error);
  write_file(directory / "a.jpg", "abcdefghij");
  CHECK(catalog.sample(0).parts[0].content->load().text() == "abcdefghij");
}

TEST_CASE("What comes by only once is refused") {
  Catalog catalog;
  Sample sample;
  sample.key = "a";
  sample.parts.push_back({"jpg", std::make_shared<MemoryContent>(Bytes::take("x"), "stdin: a")});
  CHECK_THROWS_WITH(catalog.add(sample), Catch::Contains("stdin: a: its bytes come by only once"));
}

TEST_CASE("The digest is of names, sizes, times and literals, not of places") {
  const TempDir directory;
  write_file(directory / "x/a.jpg", "12345");
  write_file(directory / "y/a.jpg", "67890");
  const auto digest_of = [](const std::vector<Sample>& samples) {
    Catalog catalog;
    for (const Sample& sample : samples) catalog.add(sample);
    CHECK(catalog.digest().size() == 32);
    return catalog.digest();
  };
  const timespec times[2] = {{1000, 0}, {1000, 5}};
  utimensat(AT_FDCWD, (directory / "x/a.jpg").c_str(), times, 0);
  utimensat(AT_FDCWD, (directory / "y/a.jpg").c_str(), times, 0);
  const auto of_file = [&](const std::string& key, const std::string& path) {
    return digest_of({file_sample(key, {{"jpg", directory / path}})});
  };
  const std::string before = of_file("a", "x/a.jpg");
  CHECK(before == of_file("a", "y/a.jpg"));
  CHECK(before != of_file("b", "x/a.jpg"));
  const timespec later[2] = {{1000, 0}, {1000, 6}};
  utimensat(AT_FDCWD, (directory / "y/a.jpg").c_str(), later, 0);
  CHECK(before != of_file("a", "y/a.jpg"));
  CHECK(digest_of({literal_sample("a", {{"cls", "1"}})}) !=
        digest_of({literal_sample("a", {{"cls", "2"}})}));
  CHECK(digest_of({literal_sample("a", {{"x", "1"}}), literal_sample("b", {})}) !=
        digest_of({literal_sample("b", {}), literal_sample("a", {{"x", "1"}})}));
}

TEST_CASE("Regrouping joins the parts of a key, in the order in which they came") {
  Catalog catalog;
  catalog.add(literal_sample("b", {{"jpg", "1"}}), 3);
  catalog.add(literal_sample("a", {{"jpg", "2"}}));
  catalog.add(literal_sample("b", {{"json", "3"}, {"txt", "4"}}));
  catalog.add(literal_sample("c", {{"txt", "5"}}));
  catalog.add(literal_sample("b", {{"jpg", "6"}}));
  catalog.regroup();
  REQUIRE(catalog.size() == 3);
  CHECK(describe(catalog.sample(0)) == "b jpg=1 json=3 txt=4 jpg=6");
  CHECK(catalog.label(0) == 3);
  CHECK(describe(catalog.sample(1)) == "a jpg=2");
  CHECK(describe(catalog.sample(2)) == "c txt=5");
}

TEST_CASE("A million samples take little memory") {
  Catalog catalog;
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = fmt::format("n0144{}/{:08}", i % 100, i);
    catalog.add(literal_sample(key, {{"cls", "7"}}));
  }
  CHECK(catalog.size() == 100'000);
  CHECK(catalog.memory() < 100'000 * 64);
  CHECK(catalog.key(99'999) == "n014499/00099999");
}

}  // namespace prep::catalog_test
