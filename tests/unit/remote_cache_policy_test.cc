#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "lib/remote/cache_policy.h"

namespace prep::remote_cache_policy_test {
namespace {

struct TemporaryFile {
  TemporaryFile() {
    std::string name = (std::filesystem::temp_directory_path() / "cache_policy_test.XXXXXX").string();
    close(mkstemp(name.data()));
    path = name;
  }
  ~TemporaryFile() { unlink(path.c_str()); }
  std::string path;
};

TEST_CASE("a history is shared, and outlives its processes") {
  const TemporaryFile file;
  {
    UseHistory one(file.path), other(file.path);
    one.note_use(7, 1000);
    CHECK(other.last_use(7) == 1000);
    CHECK(other.last_use(8) == 0);
    other.note_use(7, 2000);
  }
  CHECK(UseHistory(file.path).last_use(7) == 2000);
}

TEST_CASE("of too many objects in a place, the latest are remembered") {
  const TemporaryFile file;
  UseHistory history(file.path);
  for (std::uint64_t i = 0; i <= UseHistory::kWays; ++i) {
    history.note_use(5 + i * UseHistory::kSets, 100 + static_cast<std::int64_t>(i));
  }
  CHECK(history.last_use(5) == 0);
  CHECK(history.last_use(5 + UseHistory::kSets) == 101);
  CHECK(history.last_use(5 + UseHistory::kWays * UseHistory::kSets) == 108);
}

TEST_CASE("a history that cannot be kept is empty") {
  UseHistory history("/nowhere/history");
  history.note_use(7, 1000);
  history.note_return(10);
  CHECK(history.last_use(7) == 0);
  CHECK(history.typical_return() == 0);
}

TEST_CASE("short returns do not hide long ones") {
  const TemporaryFile file;
  UseHistory history(file.path);
  CHECK(history.typical_return() == 0);
  for (int epoch = 0; epoch < 100; ++epoch) {
    history.note_return(3'600'000'000'000);
    for (int rank = 1; rank < 8; ++rank) history.note_return(1'000'000);
  }
  CHECK(history.typical_return() > 3'500'000'000'000);
  history.note_return(-5);
  history.note_return(0);
  CHECK(history.typical_return() > 3'500'000'000'000);
}

TEST_CASE("who comes is a visitor as long as what would have to go is alive") {
  // Nothing has to go.
  CHECK_FALSE(is_visitor({1000, 900, 0, 100}));
  // Back after 100, and the oldest was used 100 ago: the set is larger than the cache.
  CHECK(is_visitor({1000, 900, 900, 100}));
  // The oldest is of a set that is not read any more.
  CHECK_FALSE(is_visitor({1000, 900, 800, 100}));
  // Never seen: nothing is known yet; the old set is alive; it is not.
  CHECK_FALSE(is_visitor({1000, 0, 900, 0}));
  CHECK(is_visitor({1000, 0, 750, 100}));
  CHECK_FALSE(is_visitor({1000, 0, 650, 100}));
  // Back at once: its room as a visitor was not enough.
  CHECK_FALSE(is_visitor({1000, 999, 900, 100}));
}

std::string order(std::vector<Evictable> objects, std::uint64_t visitor_bytes) {
  sort_for_eviction(objects, visitor_bytes);
  std::string names;
  for (const Evictable& object : objects) names += object.hash;
  return names;
}

TEST_CASE("visitors go first, the oldest of them, but for a share; then residents") {
  const std::vector<Evictable> objects{
      {"a", 10, 5, false}, {"b", 10, 1, false}, {"x", 10, 8, true}, {"y", 10, 2, true}};
  CHECK(order(objects, 0) == "yxba");
  CHECK(order(objects, 10) == "ybax");
  CHECK(order(objects, 19) == "ybax");
  CHECK(order(objects, 20) == "bayx");
  CHECK(order({}, 10).empty());
  CHECK(order({{"x", 1, 2, true}, {"y", 1, 1, true}}, 0) == "yx");
}

}  // namespace
}  // namespace prep::remote_cache_policy_test
