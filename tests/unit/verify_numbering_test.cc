#include "formats/verify_numbering.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/temp_dir.h"

namespace prep::verify_numbering_test {

namespace {

std::vector<std::string> missing(const std::vector<std::string>& paths) {
  std::vector<std::string> lines;
  for (const Finding& finding : find_missing_shards(paths)) lines.push_back(finding.text());
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("of N shards all must be there") {
  CHECK(missing({"d/x-00000-of-00002", "d/x-00001-of-00002"}).empty());
  CHECK(missing({"d/x.tfrecord-00000-of-00003", "d/x.tfrecord-00002-of-00003"}) ==
        Lines{"d/x.tfrecord-00001-of-00003: is missing; by their names there are 3 shards"});
  CHECK(missing({"x-5-of-3.tar"}).back() ==
        "x-5-of-3.tar: its number is too high for one of 3 shards");
  CHECK(missing({"x-00000-of-999999999.tar"}).size() == 21);
}

TEST_CASE("gaps in the numbering") {
  CHECK(missing({"t-000000.tar", "t-000001.tar"}).empty());
  CHECK(missing({"t-000001.tar", "t-000002.tar"}).empty());
  CHECK(missing({"t-000000.tar", "t-000001.tar", "t-000003.tar"}) ==
        Lines{"t-000002.tar: warning: is missing in the numbering"});
  CHECK(missing({"t-000001.tar", "t-000002.tar", "t-000003.tar", "u-000002.tar"}).empty());
  CHECK(missing({"t-2.tar", "t-3.tar", "t-4.tar"}) ==
        Lines{"t-0.tar: warning: is missing in the numbering",
              "t-1.tar: warning: is missing in the numbering"});
  CHECK(missing({"x2012.tar", "x2021.tar"}).empty());
  CHECK(missing({"t-08.tar", "t-09.tar", "t-10.tar", "t-07.tar", "t-06.tar", "t-05.tar", "t-04.tar",
                 "t-03.tar", "t-02.tar", "t-01.tar"})
            .empty());
  CHECK(missing({"t.tar", "99999999999999999999.tar"}).empty());
}

TEST_CASE("a shard that was not named but exists is no gap") {
  const test::TempDir dir;
  test::write_file(dir / "t-1.tar", "");
  CHECK(missing({dir / "t-0.tar", dir / "t-2.tar"}).empty());
}

}  // namespace prep::verify_numbering_test
