#include "formats/dataset_index.h"

#include <catch2/catch.hpp>
#include <string>

#include "lib/core/error.h"

namespace prep::dataset_index_test {

namespace {

prep::Manifest manifest() {
  prep::Manifest manifest;
  manifest.tool_version = "0.1.0";
  manifest.shards = {{"train-1.tar", "train", 3, 100, "", std::string(32, 'a')},
                     {"val-{0}.tar", "no", 2, 90, "", std::string(32, 'c')},
                     {"train-0.tar", "train", 4, 120, "", std::string(32, 'b')}};
  return manifest;
}

}  // namespace

TEST_CASE("wids' index of all shards") {
  CHECK(prep::wids_index(manifest(), "caf\xC3\xA9") ==
        "{\n"
        "  \"__kind__\": \"wids-shard-index-v1\",\n"
        "  \"wids_version\": 1,\n"
        "  \"shardlist\": [\n"
        "    {\n"
        "      \"url\": \"train-0.tar\",\n"
        "      \"md5sum\": \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n"
        "      \"nsamples\": 4,\n"
        "      \"filesize\": 120\n"
        "    },\n"
        "    {\n"
        "      \"url\": \"train-1.tar\",\n"
        "      \"md5sum\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\n"
        "      \"nsamples\": 3,\n"
        "      \"filesize\": 100\n"
        "    },\n"
        "    {\n"
        "      \"url\": \"val-{0}.tar\",\n"
        "      \"md5sum\": \"cccccccccccccccccccccccccccccccc\",\n"
        "      \"nsamples\": 2,\n"
        "      \"filesize\": 90\n"
        "    }\n"
        "  ],\n"
        "  \"name\": \"caf\\u00e9\"\n"
        "}");
}

TEST_CASE("wids' index needs MD5s") {
  prep::Manifest without = manifest();
  without.shards[0].md5.clear();
  CHECK_THROWS_AS(prep::wids_index(without, "x"), prep::Error);
}

TEST_CASE("Energon's counts") {
  CHECK(prep::energon_info(manifest()) ==
        "{\n"
        "  \"energon_version\": \"preptools 0.1.0\",\n"
        "  \"shard_counts\": {\n"
        "    \"train-1.tar\": 3,\n"
        "    \"val-{0}.tar\": 2,\n"
        "    \"train-0.tar\": 4\n"
        "  }\n"
        "}");
}

TEST_CASE("Energon's splits") {
  CHECK(prep::energon_splits(manifest()) ==
        "split_parts:\n"
        "  train:\n"
        "  - train-1.tar\n"
        "  - train-0.tar\n"
        "  \"no\":\n"
        "  - \"val-\\\\{0\\\\}.tar\"\n"
        "exclude: []\n");
  prep::Manifest whole = manifest();
  whole.shards = {{"a.tar", "", 1, 2, "", ""}};
  CHECK(prep::energon_splits(whole) == "split_parts:\n  train:\n  - a.tar\nexclude: []\n");
}

}  // namespace prep::dataset_index_test
