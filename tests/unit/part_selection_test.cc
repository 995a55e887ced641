#include "formats/part_selection.h"

#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "tests/unit/samples.h"

namespace prep::part_selection_test {

using test::describe;
using test::literal_sample;

namespace {

std::string applied(const PartSelection& selection, const test::Parts& parts,
                    std::string_view added_later = {}) {
  Sample sample = literal_sample("k", parts);
  selection.apply(sample, added_later);
  return describe(sample);
}

}  // namespace

TEST_CASE("Without options all parts are taken, in the order of their names") {
  CHECK(applied({{}, {}}, {{"txt", "1"}, {"JPG", "2"}, {"cls", "3"}}) == "k JPG=2 cls=3 txt=1");
}

TEST_CASE("Parts are chosen, and stand in the order that was asked for") {
  const PartSelection selection({"jpg", "cls"}, {});
  CHECK(applied(selection, {{"cls", "1"}, {"json", "2"}, {"jpg", "3"}}) == "k jpg=3 cls=1");
  CHECK_THROWS_WITH(applied(selection, {{"jpg", "3"}}), "k: the sample has no part 'cls'");
  CHECK(applied(selection, {{"jpg", "3"}}, "cls") == "k jpg=3");
}

TEST_CASE("Parts are renamed before they are chosen, each once") {
  const PartSelection selection({"jpg", "txt"}, {"jpeg=jpg", "a=b", "b=txt"});
  CHECK(applied(selection, {{"b", "1"}, {"jpeg", "2"}}) == "k jpg=2 txt=1");
  CHECK(applied({{}, {"a=b", "b=a"}}, {{"a", "1"}, {"b", "2"}}) == "k a=2 b=1");
  CHECK_THROWS_WITH(applied({{}, {"jpeg=jpg"}}, {{"jpeg", "1"}, {"jpg", "2"}}),
                    "k: the sample would have two parts 'jpg'");
}

TEST_CASE("Words that are no parts are refused") {
  CHECK_THROWS_AS(PartSelection({""}, {}), Error);
  CHECK_THROWS_AS(PartSelection({".jpg"}, {}), Error);
  CHECK_THROWS_AS(PartSelection({"a/b"}, {}), Error);
  CHECK_THROWS_AS(PartSelection({"a", "a"}, {}), Error);
  CHECK_THROWS_AS(PartSelection({}, {"jpeg"}), Error);
  CHECK_THROWS_AS(PartSelection({}, {"jpeg="}), Error);
  CHECK_THROWS_AS(PartSelection({}, {"=jpg"}), Error);
}

}  // namespace prep::part_selection_test
