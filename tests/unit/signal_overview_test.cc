#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "lib/signal/overview.h"

namespace prep::signal::signal_overview_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("Means over rectangles of what is finite") {
  ArrayStore store(NpyType::float32, {2, 2, 4}, Layout::cft);
  const std::vector<float> values{1, 3, 5, kNan, 5, 7, kNan, kNan,  //
                                  0, 0, 0, 0,    1, 1, 1,    1};
  store.put(values.data(), 4, 0);
  const Overview all = make_overview(store, {9, 9, 9});
  CHECK(all.channels == 2);
  CHECK(all.rows == 2);
  CHECK(all.columns == 4);
  CHECK(all.values[5] == 7);
  const Overview small = make_overview(store, {2, 1, 2});
  CHECK(small.values == std::vector<float>{4, 5, 0.5, 0.5});
  const Overview rows = make_overview(store, {1, 2, 2});
  CHECK(rows.channels == 1);
  REQUIRE(rows.values.size() == 4);
  CHECK(rows.values[2] == 6);
  CHECK(std::isnan(rows.values[3]));
}

}  // namespace
}  // namespace prep::signal::signal_overview_test
