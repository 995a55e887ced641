#include "formats/labeler.h"

#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "tests/unit/samples.h"
#include "tests/unit/temp_dir.h"

namespace prep::labeler_test {

using test::literal_sample;
using test::TempDir;
using test::write_file;

namespace {

using From = Labeler::From;

// Each key's label, as text.
std::vector<std::string> labels_of(Labeler& labeler, std::vector<Sample> samples) {
  std::vector<std::uint32_t> numbers;
  for (Sample& sample : samples) numbers.push_back(labeler.look_up(sample));
  labeler.finish();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    labeler.add_to(samples[i], numbers[i]);
    texts.push_back(test::describe(samples[i]));
  }
  return texts;
}

Labeler with(From from, std::optional<std::vector<std::string>> classes = {}) {
  std::optional<ClassNames> names;
  if (classes) names.emplace(std::move(*classes));
  return {from, std::nullopt, std::move(names)};
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Directories are classes, in the bytewise order of their names") {
  Labeler labeler = with(From::directories);
  CHECK(labels_of(labeler, {literal_sample("b.c/1", {}), literal_sample("a/x/2", {}),
                            literal_sample("10/3", {}), literal_sample("b/4", {})}) ==
        Texts{"b.c/1 cls=3", "a/x/2 cls=1", "10/3 cls=0", "b/4 cls=2"});
  CHECK(labeler.class_names() == Texts{"10", "a", "b", "b.c"});
  Sample root = literal_sample("x", {}), has = literal_sample("a/1", {{"cls", "4"}});
  CHECK_THROWS_WITH(labeler.look_up(root), "x: is in no directory that would be its class");
  CHECK_THROWS_AS(labeler.look_up(has), Error);
}

TEST_CASE("Directories that are numbers are names all the same") {
  Labeler labeler = with(From::directories);
  CHECK(labels_of(labeler, {literal_sample("7/1", {}), literal_sample("10/2", {})}) ==
        Texts{"7/1 cls=1", "10/2 cls=0"});
}

TEST_CASE("A list of classes gives the indexes") {
  Labeler labeler = with(From::directories, Texts{"dog", "cat", "7"});
  CHECK(labeler.knows_indexes());
  CHECK(labels_of(labeler, {literal_sample("cat/1", {}), literal_sample("7/2", {}),
                            literal_sample("0/3", {})}) ==
        Texts{"cat/1 cls=1", "7/2 cls=2", "0/3 cls=0"});
  CHECK(labeler.class_names() == Texts{"dog", "cat", "7"});
  Sample cow = literal_sample("cow/1", {}), three = literal_sample("3/1", {});
  CHECK_THROWS_WITH(labeler.look_up(cow), "cow/1: its class 'cow' is not in the list of classes");
  CHECK_THROWS_AS(labeler.look_up(three), Error);
}

TEST_CASE("Labels out of a table: names are sorted, whole numbers stand for themselves") {
  const TempDir directory;
  write_file(directory / "names.csv", "name,label\na,dog\nb, cat\nc,dog\n");
  Labeler names(From::table, Labels::read(directory / "names.csv"), std::nullopt);
  CHECK(labels_of(names, {literal_sample("a", {}), literal_sample("b", {})}) ==
        Texts{"a cls=1", "b cls=0"});
  CHECK(names.class_names() == Texts{"cat", "dog"});
  write_file(directory / "numbers.csv", "name,label\na,30\nb,-1\n");
  Labeler numbers(From::table, Labels::read(directory / "numbers.csv"), std::nullopt);
  CHECK(labels_of(numbers, {literal_sample("a", {}), literal_sample("b", {})}) ==
        Texts{"a cls=30", "b cls=-1"});
  CHECK(numbers.class_names().empty());
  Sample other = literal_sample("z", {});
  CHECK_THROWS_WITH(numbers.look_up(other), "z: the table has no label for it");
}

TEST_CASE("A label that came with the sample out of a table gets its index, a file stays") {
  Labeler labeler = with(From::parts);
  Sample file = literal_sample("c", {});
  file.parts.push_back({"cls", std::make_shared<MemoryContent>(Bytes::take("red\n"), "c.cls")});
  CHECK(labels_of(labeler, {literal_sample("a", {{"cls", "red"}, {"jpg", "x"}}),
                            literal_sample("b", {{"cls", "blue"}}), file,
                            literal_sample("d", {{"jpg", "x"}})}) ==
        Texts{"a jpg=x cls=1", "b cls=0", "c cls=red\n", "d jpg=x"});
  CHECK_FALSE(labeler.provides_labels());
}

TEST_CASE("Labels in files are read where classes are to be divided, and stay as they are") {
  Labeler labeler = with(From::parts);
  labeler.read_parts();
  std::vector<Sample> samples;
  for (const char* label : {"1\n", "2\n", "1"}) {
    samples.push_back(literal_sample("k", {}));
    samples.back().parts.push_back(
        {"cls", std::make_shared<MemoryContent>(Bytes::take(std::string(label)), "k.cls")});
  }
  std::vector<std::uint32_t> numbers;
  for (Sample& sample : samples) numbers.push_back(labeler.look_up(sample));
  CHECK(numbers[0] != numbers[1]);
  CHECK(numbers[0] == numbers[2]);
  labeler.finish();
  CHECK(labeler.text(numbers[0]).empty());
  labeler.add_to(samples[0], numbers[0]);
  CHECK(test::describe(samples[0]) == "k cls=1\n");
}

TEST_CASE("Where samples come by only once, a name without a number is an error") {
  Labeler labeler = with(From::parts);
  labeler.finish();
  Sample number = literal_sample("a", {{"cls", "5"}}), name = literal_sample("b", {{"cls", "cat"}});
  labeler.add_to(number, labeler.look_up(number));
  CHECK(test::describe(number) == "a cls=5");
  CHECK_THROWS_WITH(labeler.look_up(name), Catch::Contains("--classes"));
}

TEST_CASE("A class whose name cannot stand in a list") {
  Labeler labeler = with(From::directories);
  Sample sample = literal_sample("a\nb/1", {});
  labeler.look_up(sample);
  CHECK_THROWS_AS(labeler.finish(), Error);
}

}  // namespace prep::labeler_test
