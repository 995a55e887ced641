#include "formats/verify_repair.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "formats/tar_header.h"
#include "tests/unit/temp_dir.h"

namespace prep::verify_repair_test {

using test::TempDir;

namespace {

std::string member(const std::string& name, const std::string& data) {
  std::string out;
  append_tar_header(name, data.size(), out);
  out += data;
  return out + std::string(tar_padding(data.size()), '\0');
}

std::string sample(const std::string& key, const std::string& label) {
  return member(key + ".cls", label) + member(key + ".txt", "text of " + key);
}

const std::string kEnd(1024, '\0');

// Repairs shards given by name and content; returns the findings of a check of the result.
std::vector<std::string> repair(const TempDir& dir,
                                const std::vector<std::pair<std::string, std::string>>& shards) {
  for (const auto& [name, bytes] : shards) test::write_file(dir / ("in/" + name), bytes);
  VerifyOptions options;
  options.for_repair = true;
  VerifyPlan plan = plan_verification({parse_spec(dir / "in")});
  Repair repair(dir / "out", plan);
  for (const VerifyItem& item : plan.items) {
    if (item.kind != VerifyItem::Kind::shard) continue;
    repair.add(item, repair.write(item, verify_shard(item.shard, options)));
  }
  repair.finish();
  std::vector<std::string> findings;
  for (const VerifyItem& item : plan_verification({parse_spec(dir / "out")}).items) {
    if (item.kind == VerifyItem::Kind::finding) findings.push_back(item.finding.text());
    if (item.kind != VerifyItem::Kind::shard) continue;
    for (const Finding& finding : verify_shard(item.shard, {}).findings) {
      findings.push_back(finding.text());
    }
  }
  return findings;
}

}  // namespace

TEST_CASE("sound samples are saved, sound shards stay as they are") {
  const TempDir dir;
  const std::string a = sample("a", "1"), b = sample("b", "2"), c = sample("c", "2");
  std::string broken = a + b + c + kEnd;
  broken[a.size()] = '?';
  const std::string sound = sample("x", "1") + kEnd + std::string(9216, '\0');
  CHECK(repair(dir, {{"0.tar", broken}, {"1.tar", sound}}) == std::vector<std::string>());
  CHECK(test::read_file(dir / "out/0.tar") == a + c + kEnd);
  CHECK(test::read_file(dir / "out/1.tar") == sound);
  const Manifest manifest = Manifest::parse(test::read_file(dir / "out/manifest.json"), "m");
  CHECK(manifest.tool == "prep-verify");
  REQUIRE(manifest.shards.size() == 2);
  CHECK(manifest.shards[0].samples == 2);
  REQUIRE(manifest.classes.size() == 2);
  CHECK(manifest.classes[0].samples == 2);
  CHECK(manifest.classes[1].samples == 1);
  CHECK_FALSE(std::filesystem::exists(dir / "out/.prep-verify.partial"));
  CHECK(test::read_file(dir / "in/0.tar") == broken);
}

TEST_CASE("what lies apart is joined, copies are dropped") {
  const TempDir dir;
  const std::string cls = member("a.cls", "1"), txt = member("a.txt", "text of a");
  const std::string b = sample("b", "2"), c = sample("c", "2");
  CHECK(repair(dir, {{"0.tar", cls + b + txt + c + txt + kEnd}}).empty());
  CHECK(test::read_file(dir / "out/0.tar") == sample("a", "1") + b + c + kEnd);
}

TEST_CASE("a part that comes twice with different content costs the sample") {
  const TempDir dir;
  const std::string b = sample("b", "2"), c = sample("c", "2");
  CHECK(
      repair(dir, {{"0.tar", sample("a", "1") + member("a.txt", "other") + b + c + kEnd}}).empty());
  CHECK(test::read_file(dir / "out/0.tar") == b + c + kEnd);
  CHECK_THAT(test::read_file(dir / "out/lost.jsonl"),
             Catch::Matchers::Contains("its part txt comes twice, with different content"));
}

TEST_CASE("a repair needs a directory of its own, and something to save") {
  const TempDir dir;
  test::write_file(dir / "in/0.tar", sample("a", "1") + kEnd);
  test::write_file(dir / "full/x", "x");
  const VerifyPlan plan = plan_verification({parse_spec(dir / "in")});
  CHECK_THROWS_AS(Repair(dir / "full", plan), Error);
  CHECK_THROWS_AS(repair(dir, {{"0.tar", std::string(5000, 'x')}}), Error);
  CHECK(std::filesystem::exists(dir / "out/.prep-verify.partial"));
}

}  // namespace prep::verify_repair_test
