#include "formats/verify_finding.h"

#include <catch2/catch.hpp>

namespace prep::verify_finding_test {

TEST_CASE("a finding is one line") {
  Finding finding{Finding::Severity::error, Code::truncated, "s/t\n.tar", 512, "a", "jpg", "cut"};
  CHECK(finding.text() == "s/t\\n.tar: offset 512: sample a: part jpg: cut");
  CHECK(finding.json() ==
        R"({"file":"s/t\n.tar","offset":512,"sample":"a","part":"jpg","severity":"error",)"
        R"("code":"truncated","message":"cut"})");
  finding = {Finding::Severity::warning, Code::name, "x", std::nullopt, "", "", "odd"};
  CHECK(finding.text() == "x: warning: odd");
}

TEST_CASE("findings come by place, what is tallied once") {
  Findings findings("x");
  findings.tally(Code::name, 7, "odd names");
  findings.error(Code::corrupt, {}, "whole");
  findings.error(Code::corrupt, {9, "", ""}, "late");
  findings.warn(Code::corrupt, {3, "", ""}, "early");
  findings.tally(Code::name, 8, "odd names");
  CHECK(findings.errors() == 2);
  CHECK(findings.warnings() == 2);
  const auto all = findings.finish();
  REQUIRE(all.size() == 4);
  CHECK(all[0].text() == "x: offset 3: warning: early");
  CHECK(all[1].text() == "x: offset 7: warning: odd names (2 times)");
  CHECK(all[2].text() == "x: offset 9: late");
  CHECK(all[3].text() == "x: whole");
}

TEST_CASE("a million findings are counted, and some kept") {
  Findings findings("x");
  for (std::uint64_t i = 0; i < 1'000'000; ++i) findings.error(Code::corrupt, {i, "", ""}, "bad");
  CHECK(findings.errors() == 1'000'000);
  const auto all = findings.finish();
  REQUIRE(all.size() == Findings::kMaxKept + 1);
  CHECK(all.back().message == "999000 more errors, which are not listed");
}

}  // namespace prep::verify_finding_test
