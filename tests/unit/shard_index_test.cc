#include "formats/shard_index.h"

#include <catch2/catch.hpp>
#include <string>

#include "lib/core/error.h"

namespace prep::shard_index_test {

using prep::IndexKind;
using prep::make_shard_index;
using prep::PlacedSample;
using prep::shard_index_name;

namespace {

// Two samples as they lie in a tar: a.jpg (5 bytes), a.cls (1); dir/b.jpg (600).
const PlacedSample kFirst{"a", 0, 2048, {{"jpg", "a.jpg", 512, 5}, {"cls", "a.cls", 1536, 1}}};
const PlacedSample kSecond{"dir/b", 2048, 3584, {{"jpg", "dir/b.jpg", 2560, 600}}};

std::string index(IndexKind kind) {
  const auto index = make_shard_index(kind);
  index->add(kFirst);
  index->add(kSecond);
  return index->finish();
}

}  // namespace

TEST_CASE("DALI's index of a tar") {
  CHECK(index(IndexKind::dali) ==
        "v1.2 2\n"
        "jpg 512 5 a.jpg cls 1536 1 a.cls\n"
        "jpg 2560 600 dir/b.jpg\n");
}

TEST_CASE("DALI's index cannot hold white space") {
  const auto index = make_shard_index(IndexKind::dali);
  CHECK_THROWS_AS(index->add({"a b", 0, 1024, {{"jpg", "a b.jpg", 512, 5}}}), prep::Error);
  CHECK_THROWS_AS(index->add({"a", 0, 1024, {{"j\tpg", "a.j\tpg", 512, 5}}}), prep::Error);
  CHECK(index->finish() == "v1.2 0\n");
}

TEST_CASE("DALI's index of TFRecords") {
  const auto index = make_shard_index(IndexKind::tfrecord);
  index->add({"a", 0, 19, {}});
  index->add({"b", 19, 35, {}});
  CHECK(index->finish() == "0 19\n19 16\n");
}

TEST_CASE("Energon's index") {
  CHECK(index(IndexKind::energon) == std::string("\0\0\0\0\0\0\0\0"
                                                 "\0\x08\0\0\0\0\0\0"
                                                 "\0\x0E\0\0\0\0\0\0",
                                                 24));
}

TEST_CASE("names of index files") {
  CHECK(shard_index_name(IndexKind::dali, "d/train-000000.tar") == "d/train-000000.idx");
  CHECK(shard_index_name(IndexKind::energon, "d/train-000000.tar") == "d/train-000000.tar.idx");
  CHECK(shard_index_name(IndexKind::tfrecord, "x.tfrecord-00000-of-00002") ==
        "x.tfrecord-00000-of-00002.idx");
  CHECK(shard_index_name(IndexKind::wids, "x.tar").empty());
  CHECK(make_shard_index(IndexKind::wids) == nullptr);
}

}  // namespace prep::shard_index_test
