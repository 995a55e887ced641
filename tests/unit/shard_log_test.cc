#include "formats/shard_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::shard_log_test {

using test::read_file;
using test::TempDir;
using test::write_file;
namespace fs = std::filesystem;

namespace {

const Task kWhole;
const std::string kSum(64, 'a');

// A shard that is there, with an index.
FinishedShard shard_in(const TempDir& directory, std::uint64_t number) {
  const std::string name = fmt::format("t-{}.tar", number);
  write_file(directory / name, "shard");
  write_file(directory / (name + ".idx"), "index");
  struct stat st {};
  stat((directory / name).c_str(), &st);
  FinishedShard shard;
  shard.number = number;
  shard.record = {name, "train", 3, 5, kSum, "md5"};
  shard.mtime_ns = mtime_ns(st);
  shard.files = {{name + ".idx", 5, kSum}};
  shard.labels = {{"1", 2}, {"-7", 1}};
  return shard;
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("A log tells the next run which shards are finished") {
  const TempDir directory;
  {
    ShardLog log(directory.path(), "prep-pack", kWhole);
    CHECK(log.finished("f").empty());
    log.start("f");
    log.add(shard_in(directory, 0));
    log.add(shard_in(directory, 4));
    log.sync();
  }
  const ShardLog log(directory.path(), "prep-pack", kWhole);
  CHECK(log.finished("another").empty());
  const auto shards = log.finished("f");
  REQUIRE(shards.size() == 2);
  CHECK(shards[1].number == 4);
  CHECK(shards[1].record.name == "t-4.tar");
  CHECK(shards[1].record.split == "train");
  CHECK(shards[1].record.samples == 3);
  CHECK(shards[1].record.bytes == 5);
  CHECK(shards[1].record.sha256 == kSum);
  CHECK(shards[1].record.md5 == "md5");
  CHECK(shards[1].files.at(0).name == "t-4.tar.idx");
  CHECK(shards[1].labels.at("-7") == 1);
}

TEST_CASE("Shards that are not as they were left are not finished") {
  const TempDir directory;
  {
    ShardLog log(directory.path(), "prep-pack", kWhole);
    log.start("f");
    for (std::uint64_t i = 0; i < 4; ++i) log.add(shard_in(directory, i));
  }
  write_file(directory / "t-0.tar", "other size");
  const timespec times[2] = {{1, 0}, {1, 0}};
  utimensat(AT_FDCWD, (directory / "t-1.tar").c_str(), times, 0);
  fs::remove(directory / "t-2.tar.idx");
  const auto shards = ShardLog(directory.path(), "prep-pack", kWhole).finished("f");
  REQUIRE(shards.size() == 1);
  CHECK(shards[0].number == 3);
}

TEST_CASE("A log that was cut anywhere is good up to there") {
  const TempDir directory;
  const std::string path = directory / ".prep-pack.partial";
  {
    ShardLog log(directory.path(), "prep-pack", kWhole);
    log.start("f");
    log.add(shard_in(directory, 0));
    log.add(shard_in(directory, 1));
  }
  const std::string whole = read_file(path);
  const std::size_t first = whole.find('\n'), second = whole.find('\n', first + 1);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_file(path, whole.substr(0, size));
    ShardLog log(directory.path(), "prep-pack", kWhole);
    REQUIRE(log.finished("f").size() == (size > second ? 1 : 0));
    // What is added behind the cut can be read again.
    log.start("f");
    log.add(shard_in(directory, 2));
    const EarlierRuns runs = find_earlier_runs(directory.path());
    REQUIRE(runs.files.contains("t-2.tar"));
  }
}

TEST_CASE("Two runs cannot have the same log, tasks have their own") {
  const TempDir directory;
  const std::string inside = directory / "new/dir";
  const ShardLog log(inside, "prep-pack", kWhole);
  CHECK_THROWS_WITH(ShardLog(inside, "prep-pack", kWhole),
                    Catch::Contains("another run is writing into it"));
  const ShardLog task(inside, "prep-pack", {1, 4});
  CHECK(fs::exists(inside + "/.prep-pack.1-of-4.partial"));
}

TEST_CASE("A log in which nothing stands does not stay, a complete one goes") {
  const TempDir directory;
  { const ShardLog log(directory.path(), "prep-pack", kWhole); }
  CHECK(fs::is_empty(directory.path()));
  write_file(directory / ".prep-pack.partial", "");
  { const ShardLog log(directory.path(), "prep-pack", kWhole); }
  CHECK(fs::is_empty(directory.path()));
  ShardLog log(directory.path(), "prep-pack", kWhole);
  log.start("f");
  log.complete();
  CHECK(fs::is_empty(directory.path()));
  CHECK_THROWS_AS(log.complete(), Error);
}

TEST_CASE("A directory that is removed meanwhile is an error") {
  const TempDir directory;
  const std::string inside = directory / "s";
  ShardLog log(inside, "prep-pack", kWhole);
  log.start("f");
  fs::remove_all(inside);
  CHECK_THROWS_WITH(log.add({}), Catch::Contains("was removed or replaced"));
  CHECK_THROWS_WITH(log.complete(), Catch::Contains("was removed or replaced"));
}

TEST_CASE("All that earlier runs left is known, by their logs and manifests") {
  const TempDir directory;
  {
    ShardLog log(directory.path(), "prep-pack", kWhole);
    log.start("f");
    log.add(shard_in(directory, 0));
  }
  {
    ShardLog log(directory.path(), "prep-pack", kWhole);
    log.start("g");
    log.add_replaced({"old-1.tar", "old-2.tar"});
  }
  Manifest manifest;
  manifest.tool_version = "1";
  manifest.container = "tar";
  manifest.compression = "none";
  manifest.task = {1, 2};
  manifest.shards = {{"val/m-0.tar", "val", 1, 2, kSum, ""}};
  manifest.files = {{"classes.txt", 1, kSum}};
  write_file(directory / "manifest.1-of-2.json", manifest.to_json());
  write_file(directory / "manifest.mine.json", "{}");
  const EarlierRuns runs = find_earlier_runs(directory.path());
  CHECK(runs.files == Names{"SHA256SUMS", "classes.txt", "manifest.1-of-2.json", "old-1.tar",
                            "old-2.tar", "t-0.tar", "t-0.tar.idx", "val/m-0.tar"});
  REQUIRE(runs.shards.size() == 2);
  CHECK(find_other_tasks(directory.path(), "prep-pack", kWhole).files.empty());
  CHECK(find_other_tasks(directory.path(), "prep-pack", {1, 2}).files.empty());
  CHECK(find_other_tasks(directory.path(), "prep-pack", {0, 2}).files.contains("val/m-0.tar"));
  CHECK(find_earlier_runs(directory / "missing").files.empty());
}

TEST_CASE("Names that would leave the directory are nobody's") {
  const TempDir directory;
  for (const char* line : {R"({"replaces":["../x"]})", R"({"replaces":["/etc/passwd"]})",
                           R"({"replaces":[3]})", R"([])", R"(3)", R"({"number":1})"}) {
    write_file(directory / ".prep-pack.partial", std::string(line) + "\n");
    INFO(line);
    CHECK(find_earlier_runs(directory.path()).files.empty());
  }
  Manifest manifest;
  manifest.tool_version = "1";
  manifest.container = "tar";
  manifest.compression = "none";
  manifest.shards = {{"../x.tar", "", 1, 2, kSum, ""}};
  write_file(directory / "manifest.json", manifest.to_json());
  CHECK(find_earlier_runs(directory.path()).files.empty());
}

}  // namespace prep::shard_log_test
