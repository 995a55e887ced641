#include "formats/manifest.h"

#include <catch2/catch.hpp>
#include <string>

#include "lib/core/error.h"

namespace prep::manifest_test {

using Catch::Matchers::Contains;
using prep::Manifest;
using prep::merge_manifests;
using prep::shard_name_less;

namespace {

const std::string kSha(64, 'a');
const std::string kMd5(32, 'b');

Manifest small() {
  Manifest m;
  m.tool_version = "0.1.0";
  m.settings = {{"--shards", {"2"}}, {"--shuffle", {"7"}}};
  m.listing = "00ff";
  m.container = "tar";
  m.compression = "none";
  m.shards = {{"t-10.tar", "train", 3, 10240, kSha, kMd5}, {"t-9.tar", "val", 2, 5120, kSha, ""}};
  m.files = {{"classes.txt", 8, kSha}};
  m.classes = {{"dog", 1, 4}, {"", 0, 1}};
  m.dropped = {"z", "a\xFF"};
  m.repeated = {{"k", "t-9.tar"}};
  m.failed = 1;
  m.sort();
  return m;
}

const std::string kSmall = R"({
  "manifest_version": 1,
  "tool": "prep-pack",
  "tool_version": "0.1.0",
  "task": {
    "index": 0,
    "count": 1
  },
  "container": "tar",
  "compression": "none",
  "settings": {
    "--shards": [
      "2"
    ],
    "--shuffle": [
      "7"
    ]
  },
  "listing": "00ff",
  "totals": {
    "shards": 2,
    "samples": 5,
    "bytes": 15360
  },
  "splits": {
    "train": {
      "shards": 1,
      "samples": 3,
      "bytes": 10240
    },
    "val": {
      "shards": 1,
      "samples": 2,
      "bytes": 5120
    }
  },
  "failed": 1,
  "schema": null,
  "classes": [
    {"index":0,"samples":1},
    {"index":1,"name":"dog","samples":4}
  ],
  "dropped": [
    "a\\xff",
    "z"
  ],
  "repeated": [
    {"key":"k","shard":"t-9.tar"}
  ],
  "files": [
    {"name":"classes.txt","bytes":8,"sha256":")" +
                           kSha + R"("}
  ],
  "shards": [
    {"name":"t-9.tar","split":"val","samples":2,"bytes":5120,"sha256":")" +
                           kSha + R"("},
    {"name":"t-10.tar","split":"train","samples":3,"bytes":10240,"sha256":")" +
                           kSha + R"(","md5":")" + kMd5 + R"("}
  ]
}
)";

// kSmall with one place changed.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string complaint(const std::string& json) {
  try {
    Manifest::parse(json, "d/manifest.json");
  } catch (const prep::Error& error) {
    return std::string(prep::code_name(error.code())) + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a manifest's bytes") { CHECK(small().to_json() == kSmall); }

TEST_CASE("a manifest comes back as it was") {
  CHECK(Manifest::parse(kSmall, "x").to_json() == kSmall);
  const Manifest empty = [] {
    Manifest m;
    m.container = "tfrecord";
    m.compression = "zstd";
    return m;
  }();
  CHECK(Manifest::parse(empty.to_json(), "x").to_json() == empty.to_json());
}

TEST_CASE("sha256sum's lines") {
  Manifest m = small();
  m.files = {{"a\\b\nc", 1, kSha}};
  CHECK(m.sha256sums() ==
        kSha + "  t-9.tar\n" + kSha + "  t-10.tar\n" + "\\" + kSha + "  a\\\\b\\nc\n");
}

TEST_CASE("what is wrong with a manifest is said, and where") {
  CHECK_THAT(complaint(""), Contains("corrupt: d/manifest.json: not JSON: "));
  CHECK_THAT(complaint(kSmall.substr(0, 400)), Contains("corrupt: d/manifest.json: not JSON: "));
  CHECK(complaint("[]") == "corrupt: d/manifest.json: an object was expected");
  CHECK(complaint("{}") == "corrupt: d/manifest.json: manifest_version: is missing");
  CHECK_THAT(complaint(changed("\"manifest_version\": 1", "\"manifest_version\": 2")),
             Contains("unsupported: d/manifest.json: a manifest of version 2"));
  CHECK(complaint(changed("\"samples\":2,\"bytes\":5120", "\"samples\":-2,\"bytes\":5120")) ==
        "corrupt: d/manifest.json: shards[0].samples: a whole number, 0 or more, was expected");
  CHECK(complaint(changed("\"samples\":2,", "")) ==
        "corrupt: d/manifest.json: shards[0].samples: is missing");
  CHECK(complaint(changed("\"samples\":2,", "\"samples\":3,")) ==
        "corrupt: d/manifest.json: totals.samples: 6, which the shards add up to, was expected");
  CHECK(complaint(changed(kSha, "A" + kSha.substr(1))) ==
        "corrupt: d/manifest.json: files[0].sha256: a digest of 64 lower-case hex digits was "
        "expected");
  CHECK(complaint(changed("\"tar\"", "\"zip\"")) ==
        "corrupt: d/manifest.json: container: one of tar, tfrecord was expected");
  CHECK(complaint(changed("t-10.tar", "t-9.tar")) ==
        "corrupt: d/manifest.json: shards: t-9.tar comes twice");
  CHECK(complaint(changed("\"index\": 0", "\"index\": 1")) ==
        "corrupt: d/manifest.json: task: an index below the count was expected");
}

TEST_CASE("names stay in the manifest's directory") {
  for (const std::string name : {"/etc/passwd", "../x.tar", "a/../x.tar", "", ".", "a//b", "./a"}) {
    CHECK_THAT(complaint(changed("\"t-10.tar\"", "\"" + name + "\"")),
               Contains("shards[1].name: a name relative to the manifest's directory"));
  }
  CHECK(complaint(changed("\"t-10.tar\"", "\"sub/t-10.tar\"")).empty());
}

TEST_CASE("hostile JSON is bounded") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK_THAT(complaint(deep), Contains("limit: d/manifest.json: nested more than 64 deep"));
  CHECK_THAT(complaint("\xFF"), Contains("not JSON"));
}

TEST_CASE("shards are in the order of their numbers") {
  CHECK(shard_name_less("t-9.tar", "t-10.tar"));
  CHECK_FALSE(shard_name_less("t-10.tar", "t-9.tar"));
  CHECK(shard_name_less("t-0009.tar", "t-10.tar"));
  CHECK(shard_name_less("train-1", "val-0"));
  CHECK(shard_name_less("t-01", "t-1"));
  CHECK_FALSE(shard_name_less("t-1", "t-01"));
  CHECK(shard_name_less("a", "ab"));
  CHECK_FALSE(shard_name_less("a1", "a1"));
  CHECK(shard_name_less("x99999999999999999999999", "x100000000000000000000000"));
}

TEST_CASE("parts are merged in any order") {
  Manifest whole = small();
  Manifest first = whole, second = whole;
  first.task = {0, 2};
  second.task = {1, 2};
  first.shards = {whole.shards[1]};
  second.shards = {whole.shards[0]};
  first.classes = {{"dog", 1, 1}};
  second.classes = {{"", 0, 1}, {"dog", 1, 3}};
  first.dropped = {"z"};
  first.repeated.clear();
  second.failed = 0;
  CHECK(merge_manifests({first, second}).to_json() == kSmall);
  CHECK(merge_manifests({second, first}).to_json() == kSmall);
  CHECK(prep::partial_manifest_name({3, 8}) == "manifest.3-of-8.json");
}

TEST_CASE("parts that do not belong together are refused") {
  Manifest a = small(), b = small();
  a.task = {0, 2};
  b.task = {1, 2};
  const auto complaint_of = [](std::vector<Manifest> parts) -> std::string {
    try {
      merge_manifests(std::move(parts));
    } catch (const prep::Error& error) {
      CHECK(error.code() == prep::Code::usage);
      return error.what();
    }
    return "";
  };
  CHECK(complaint_of({}) == "there is no manifest to merge");
  CHECK(complaint_of({a}) == "manifest.1-of-2.json is missing");
  CHECK(complaint_of({b}) == "manifest.0-of-2.json is missing");
  CHECK(complaint_of({b, b}) == "manifest.0-of-2.json is missing");
  CHECK(complaint_of({a, b, a}) == "manifest.0-of-2.json is there twice");
  CHECK(complaint_of({a, b, b}) == "manifest.1-of-2.json is there twice");
  Manifest other = b;
  other.settings["--shuffle"] = {"8"};
  CHECK(complaint_of({a, other}) ==
        "manifest.0-of-2.json and manifest.1-of-2.json do not belong together: --shuffle is "
        "[\"7\"] in the one and [\"8\"] in the other");
  other = b;
  other.listing = "11";
  CHECK_THAT(complaint_of({a, other}), Contains("the inputs were not the same"));
  other = b;
  other.files[0].sha256 = std::string(64, '0');
  CHECK_THAT(complaint_of({a, other}), Contains("classes.txt is not the same in all"));
  other = b;
  other.classes[1].name = "cat";
  CHECK_THAT(complaint_of({a, other}), Contains("class 1 is 'dog' in one and 'cat' in another"));
}

}  // namespace prep::manifest_test
