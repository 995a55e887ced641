#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "lib/core/error.h"
#include "lib/signal/scratch_rows.h"

namespace prep::signal::signal_scratch_rows_test {
namespace {

void check_rows(const std::vector<std::size_t>& lengths) {
  const ScratchRows rows(lengths);
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    REQUIRE(rows.row(r).size() == lengths[r]);
    std::fill(rows.row(r).begin(), rows.row(r).end(), static_cast<double>(r));
    rows.put_away(rows.row(r));
  }
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    const auto row = rows.row(r);
    CHECK(std::all_of(row.begin(), row.end(),
                      [&](double value) { return value == static_cast<double>(r); }));
  }
}

TEST_CASE("Rows keep apart, in memory and in a file") {
  check_rows({3, 0, 5});
  check_rows({5'000'001, 0, 4'000'003});  // 72 MB; no row begins at a page
}

TEST_CASE("Where there is no room, it says so") {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/nowhere/at/all", 1);
  CHECK_THROWS_AS(ScratchRows({10'000'000}), Error);
  if (before != nullptr) {
    setenv("TMPDIR", kept.c_str(), 1);
  } else {
    unsetenv("TMPDIR");
  }
}

}  // namespace
}  // namespace prep::signal::signal_scratch_rows_test
