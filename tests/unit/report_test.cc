#include "lib/core/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/temp_dir.h"

namespace prep::report_test {

TEST_CASE("error budgets are numbers or percentages") {
  CHECK(ErrorBudget::parse("0").allows(0, 10));
  CHECK_FALSE(ErrorBudget::parse("0").allows(1, 10));
  CHECK(ErrorBudget::parse("3").allows(3, 3));
  CHECK(ErrorBudget::parse("1%").allows(1, 100));
  CHECK_FALSE(ErrorBudget::parse("1%").allows(2, 100));
  CHECK(ErrorBudget::parse("0.5%").allows(1, 200));
  for (const char* bad : {"", "%", "-1", "1x", "101%", "-1%", "nan%", "1 %"}) {
    CHECK_THROWS_AS(ErrorBudget::parse(bad), Error);
  }
}

TEST_CASE("numbers for people") {
  CHECK(human_bytes(999) == "999 B");
  CHECK(human_bytes(1'234) == "1.2 kB");
  CHECK(human_bytes(999'600) == "1.0 MB");
  CHECK(human_bytes(123'456'789) == "123 MB");
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1'234'567) == "1,234,567");
}

TEST_CASE("the summary adds up and the bad samples are in the file") {
  test::TempDir dir;
  Reporter reporter({"test", Verbosity::quiet, false, dir / "errors.jsonl"});
  Outcome good;
  good.key = "a";
  good.notes = {{"resized"}, {"odd"}, ""};
  good.bytes_in = 10;
  good.bytes_out = 4;
  Outcome skipped;
  skipped.kind = Outcome::Kind::skipped;
  skipped.message = "up to date";
  Outcome bad;
  bad.kind = Outcome::Kind::failed;
  bad.key = "c\xff";
  bad.origin = "raw/c\xff.jpg";
  bad.code = Code::truncated;
  bad.message = "raw/c\\xff.jpg: ends early";
  for (const Outcome& outcome : {good, skipped, bad, good}) reporter.add(outcome);
  const Summary& summary = reporter.summary();
  CHECK(summary.read == 4);
  CHECK(summary.read == summary.written + summary.skipped + summary.failed);
  CHECK(summary.bytes_in == 20);
  CHECK(summary.notes == Tally{{"resized", 2}});
  CHECK_FALSE(std::filesystem::exists(dir / "errors.jsonl"));
  reporter.close();
  const auto line = nlohmann::json::parse(test::read_file(dir / "errors.jsonl"));
  CHECK(line == nlohmann::json{{"key", "c\\xff"},
                               {"origin", "raw/c\\xff.jpg"},
                               {"code", "truncated"},
                               {"message", "raw/c\\xff.jpg: ends early"}});
  const auto json = summary_json(summary, 1.0);
  CHECK(json["samples"]["written"] == 2);
  CHECK(json["failed"] == nlohmann::json{{"truncated", 1}});
  CHECK(summary_text(summary, 1.0).starts_with("4 read = 2 written + 1 skipped + 1 failed\n"));
}

}  // namespace prep::report_test
