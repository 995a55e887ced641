#include "formats/shard_sink.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "formats/tar.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "tests/unit/samples.h"
#include "tests/unit/temp_dir.h"

namespace prep::shard_sink_test {

using test::literal_sample;
using test::read_file;
using test::TempDir;
using test::write_file;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

class NoStage final : public Stage {
 public:
  void apply(Sample&, Notes&) const override {}
};

Names names_in(const std::string& directory) {
  Names names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), directory).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ShardSinkOptions options(bool planned, const std::string& settings = R"({"--shards":["2"]})") {
  ShardSinkOptions options;
  options.settings = settings;
  options.planned = planned;
  return options;
}

std::unique_ptr<ShardSink> open_sink(const TempDir& directory, const std::string& pattern,
                                     ShardSinkOptions options) {
  return std::make_unique<ShardSink>(parse_spec(directory / pattern), std::move(options));
}

// `shards` shards of `samples` samples each.
ShardSetPlan plan_of(std::uint64_t shards, std::uint64_t samples,
                     const std::string& listing = "listing") {
  ShardSetPlan plan;
  plan.splits = {""};
  plan.listing = listing;
  for (std::uint64_t i = 0; i < shards; ++i) plan.shards.push_back({"", i, shards, samples});
  return plan;
}

// Puts what a sink with a plan does not have yet.
int put_planned(ShardSink& sink, std::uint64_t shards, std::uint64_t samples) {
  int put = 0;
  for (std::uint64_t i = 0; i < shards * samples; ++i) {
    Sample sample = literal_sample(fmt::format("{:04}", i), {{"cls", "3"}, {"txt", "text"}});
    sample.destination = i / samples;
    if (sink.up_to_date(sample, NoStage())) continue;
    sink.put(sample);
    ++put;
  }
  return put;
}

Names keys_in(const std::string& path) {
  TarSource source(std::vector{path});
  Names keys;
  for (Sample sample; source.next(sample); sample = Sample()) keys.push_back(sample.key);
  return keys;
}

Manifest manifest_of(const TempDir& directory) {
  return Manifest::parse(read_file(directory / "manifest.json"), "manifest.json");
}

}  // namespace

TEST_CASE("A stream's shards appear together, at its end") {
  const TempDir directory;
  ShardSinkOptions stream = options(false);
  stream.max_count = 2;
  stream.failed = [] { return std::uint64_t{4}; };
  stream.class_names = {"a", "b", "c", "d"};
  const auto sink = open_sink(directory, "t-%02d.tar", std::move(stream));
  for (const char* key : {"x", "y", "z"}) sink->put(literal_sample(key, {{"cls", "3"}}));
  CHECK_FALSE(fs::exists(directory / "t-00.tar"));
  sink->commit();
  CHECK(names_in(directory.path()) ==
        Names{"SHA256SUMS", "classes.txt", "manifest.json", "t-00.tar", "t-01.tar"});
  CHECK(keys_in(directory / "t-00.tar") == Names{"x", "y"});
  CHECK(keys_in(directory / "t-01.tar") == Names{"z"});
  const Manifest manifest = manifest_of(directory);
  CHECK(manifest.shards.at(0).samples == 2);
  CHECK(manifest.shards.at(0).bytes == fs::file_size(directory / "t-00.tar"));
  CHECK(manifest.failed == 4);
  CHECK(manifest.classes.at(3).samples == 3);
  CHECK(manifest.classes.at(0).name == "a");
  CHECK(manifest.settings.at("shards") == "2");
}

TEST_CASE("A stream that ends early leaves nothing, and what was there before") {
  const TempDir directory;
  for (const bool abandon : {false, true}) {
    const auto sink = open_sink(directory, "t-%d.tar", options(false));
    sink->put(literal_sample("x", {{"txt", ""}}));
    if (abandon) sink->abandon();
  }
  CHECK(names_in(directory.path()).empty());
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(false));
    sink->put(literal_sample("first", {{"txt", ""}}));
    sink->commit();
  }
  const Names before = names_in(directory.path());
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(false));
    sink->put(literal_sample("second", {{"txt", ""}}));
  }
  CHECK(names_in(directory.path()) == before);
  CHECK(keys_in(directory / "t-0.tar") == Names{"first"});
}

TEST_CASE("A stream of no samples is an error, not an empty set") {
  const TempDir directory;
  const auto sink = open_sink(directory, "t-%d.tar", options(false));
  CHECK_THROWS_AS(sink->commit(), Error);
}

TEST_CASE("A stream's shards are no larger than asked for, but for large samples") {
  const TempDir directory;
  ShardSinkOptions stream = options(false);
  stream.max_size = 3 * 1024 + 1024;  // three members of one block, and the end
  const auto sink = open_sink(directory, "t-%d.tar", std::move(stream));
  for (int i = 0; i < 4; ++i) sink->put(literal_sample(std::to_string(i), {{"txt", "x"}}));
  sink->put(literal_sample("large", {{"txt", std::string(5000, 'x')}}));
  sink->put(literal_sample("after", {{"txt", "x"}}));
  sink->commit();
  Names counts;
  for (const ShardRecord& shard : manifest_of(directory).shards) {
    counts.push_back(fmt::format("{} {}", shard.samples, shard.bytes));
  }
  CHECK(counts == Names{"3 4096", "1 2048", "1 6656", "1 2048"});
  REQUIRE(sink->warnings().size() == 1);
  CHECK(sink->warnings().begin()->second == 1);
}

TEST_CASE("With a plan each shard has its name when it is complete, and is not made again") {
  const TempDir directory;
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(true));
    sink->set_plan(plan_of(4, 3));
    for (int i = 0; i < 8; ++i) {
      Sample sample = literal_sample(fmt::format("{:04}", i), {{"cls", "3"}, {"txt", "text"}});
      sample.destination = static_cast<std::uint64_t>(i) / 3;
      sink->put(sample);
    }
    while (sink->assist()) {
    }
    CHECK(fs::exists(directory / "t-1.tar"));
    CHECK_FALSE(fs::exists(directory / "t-2.tar"));
  }
  CHECK(names_in(directory.path()) == Names{".prep-pack.partial", "t-0.tar", "t-1.tar"});
  const auto before = fs::last_write_time(directory / "t-0.tar");
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(true));
    sink->set_plan(plan_of(4, 3));
    CHECK_FALSE(sink->is_complete());
    CHECK(put_planned(*sink, 4, 3) == 6);
    sink->commit();
  }
  CHECK(fs::last_write_time(directory / "t-0.tar") == before);
  CHECK(names_in(directory.path()) ==
        Names{"SHA256SUMS", "manifest.json", "t-0.tar", "t-1.tar", "t-2.tar", "t-3.tar"});
  CHECK(manifest_of(directory).classes.at(0).samples == 12);
  const auto sink = open_sink(directory, "t-%d.tar", options(true));
  sink->set_plan(plan_of(4, 3));
  CHECK(sink->is_complete());
  CHECK(put_planned(*sink, 4, 3) == 0);
  sink->commit();
}

TEST_CASE("Another listing, other settings or a shard that is gone begin anew") {
  const TempDir directory;
  const auto pack = [&](std::uint64_t shards, const std::string& listing,
                        const std::string& settings) {
    const auto sink = open_sink(directory, "t-%d.tar", options(true, settings));
    sink->set_plan(plan_of(shards, 2, listing));
    const int put = put_planned(*sink, shards, 2);
    sink->commit();
    return put;
  };
  CHECK(pack(3, "a", R"({"--x":["1"]})") == 6);
  CHECK(pack(3, "a", R"({"--x":["1"]})") == 0);
  CHECK(pack(3, "b", R"({"--x":["1"]})") == 6);
  CHECK(pack(2, "b", R"({"--x":["2"]})") == 4);
  CHECK_FALSE(fs::exists(directory / "t-2.tar"));
  fs::remove(directory / "t-1.tar");
  CHECK(pack(2, "b", R"({"--x":["2"]})") == 4);
  fs::resize_file(directory / "t-1.tar", 10);
  CHECK(pack(2, "b", R"({"--x":["2"]})") == 4);
  CHECK(pack(2, "b", R"({"--x":["2"]})") == 0);
}

TEST_CASE("Files that no run has made are refused, and replaced by force") {
  const TempDir directory;
  write_file(directory / "t-7.tar", "mine");
  write_file(directory / "u-7.tar", "not in the way");
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(true));
    CHECK_THROWS_WITH(sink->set_plan(plan_of(2, 1)), Catch::Contains("t-7.tar: is there already"));
  }
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(false));
    CHECK_THROWS_AS(sink->put(literal_sample("x", {{"txt", ""}})), Error);
  }
  CHECK(read_file(directory / "t-7.tar") == "mine");
  ShardSinkOptions force = options(true);
  force.force = true;
  const auto sink = open_sink(directory, "t-%d.tar", std::move(force));
  sink->set_plan(plan_of(2, 1));
  put_planned(*sink, 2, 1);
  sink->commit();
  CHECK(names_in(directory.path()) ==
        Names{"SHA256SUMS", "manifest.json", "t-0.tar", "t-1.tar", "u-7.tar"});
}

TEST_CASE("A directory holds one set") {
  const TempDir directory;
  const auto pack = [&](const std::string& pattern) {
    const auto sink = open_sink(directory, pattern, options(true));
    sink->set_plan(plan_of(2, 1));
    put_planned(*sink, 2, 1);
    sink->commit();
  };
  pack("train-%d.tar");
  CHECK_THROWS_WITH(pack("val-%d.tar"), Catch::Contains("is a shard of another set"));
  pack("train-%03d.tar");
  CHECK(names_in(directory.path()) ==
        Names{"SHA256SUMS", "manifest.json", "train-000.tar", "train-001.tar"});
}

TEST_CASE("What is being read is not replaced") {
  const TempDir directory;
  {
    const auto sink = open_sink(directory, "t-%d.tar", options(true));
    sink->set_plan(plan_of(2, 1));
    put_planned(*sink, 2, 1);
    sink->commit();
  }
  for (const bool force : {false, true}) {
    ShardSinkOptions from = options(true, "{}");
    from.inputs = {parse_spec(directory / "t-{0..1}.tar")};
    from.force = force;
    const auto sink = open_sink(directory, "t-%d.tar", std::move(from));
    CHECK_THROWS_WITH(sink->set_plan(plan_of(1, 2)), Catch::Contains("is an input"));
  }
  CHECK(keys_in(directory / "t-1.tar") == Names{"0001"});
}

TEST_CASE("Tasks make their shards, whatever the others have done") {
  const TempDir directory;
  const auto pack = [&](const Task& task, const std::string& listing) {
    ShardSinkOptions one = options(true);
    one.task = task;
    const auto sink = open_sink(directory, "t-%d.tar", std::move(one));
    sink->set_plan(plan_of(5, 1, listing));
    for (std::uint64_t i = task.index; i < 5; i += task.count) {
      Sample sample = literal_sample(std::to_string(i), {{"txt", listing}});
      sample.destination = i;
      if (!sink->up_to_date(sample, NoStage())) sink->put(sample);
    }
    sink->commit();
  };
  pack({}, "old");
  pack({0, 2}, "new");  // what the other task is to make goes, too
  CHECK(names_in(directory.path()) ==
        Names{"manifest.0-of-2.json", "t-0.tar", "t-2.tar", "t-4.tar"});
  pack({1, 2}, "new");
  CHECK(names_in(directory.path()) == Names{"manifest.0-of-2.json", "manifest.1-of-2.json",
                                            "t-0.tar", "t-1.tar", "t-2.tar", "t-3.tar", "t-4.tar"});
  // A task that is done again leaves the other's shards alone.
  const auto before = fs::last_write_time(directory / "t-1.tar");
  pack({0, 2}, "newer");
  CHECK(fs::last_write_time(directory / "t-1.tar") == before);
  CHECK(fs::exists(directory / "manifest.1-of-2.json"));
  pack({}, "all");
  CHECK_FALSE(fs::exists(directory / "manifest.1-of-2.json"));
  CHECK(manifest_of(directory).shards.size() == 5);
}

TEST_CASE("A bad sample is missing in its shard, which is made again next time") {
  const TempDir directory;
  const auto pack = [&](const std::string& settings, bool equal, bool good, bool commit) {
    const auto sink = open_sink(directory, "t-%d.tar", options(true, settings));
    ShardSetPlan plan = plan_of(2, 2);
    plan.equal = equal;
    sink->set_plan(plan);
    int put = 0;
    for (std::uint64_t i = 0; i < 4; ++i) {
      Sample sample = literal_sample(std::to_string(i), {{"txt", "x"}});
      if (i == 3 && !good) {
        sample.parts[0].content = std::make_shared<FileContent>(directory / "missing");
      }
      sample.destination = i / 2;
      if (sink->up_to_date(sample, NoStage())) continue;
      ++put;
      if (i == 3 && !good) {
        CHECK_THROWS_AS(sink->put(sample), BadSample);
      } else {
        sink->put(sample);
      }
    }
    commit ? sink->commit() : sink->abandon();
    return put;
  };
  CHECK_THROWS_WITH(pack("{}", true, false, true), Catch::Contains("1 of its 2 samples failed"));
  CHECK_FALSE(fs::exists(directory / "t-1.tar"));
  CHECK(pack("{}", true, false, false) == 2);
  CHECK(names_in(directory.path()) == Names{".prep-pack.partial", "t-0.tar"});
  CHECK(pack("{}", false, false, true) == 2);
  CHECK(manifest_of(directory).failed == 1);
  CHECK(manifest_of(directory).shards.at(1).samples == 1);
  CHECK(pack(R"({"--x":["1"]})", false, true, true) == 4);
  CHECK(manifest_of(directory).failed == 0);
}

TEST_CASE("Shards with too many bad samples are not what a stricter run takes for done") {
  const TempDir directory;
  const auto open = [&](std::uint64_t tolerated) {
    ShardSinkOptions strict = options(true);
    strict.tolerates = [=](std::uint64_t failed, std::uint64_t) { return failed <= tolerated; };
    return open_sink(directory, "t-%d.tar", std::move(strict));
  };
  ShardSetPlan plan = plan_of(1, 2);
  {
    const auto sink = open(1);
    sink->set_plan(plan);
    sink->put(literal_sample("a", {{"txt", ""}}));
    sink->commit();
  }
  const auto sink = open(1);
  sink->set_plan(plan);
  CHECK(sink->is_complete());
  CHECK(sink->warnings().size() == 1);
  sink->commit();
  CHECK_THROWS_WITH(open(0)->set_plan(plan), Catch::Contains("without 1 bad sample"));
  CHECK(fs::exists(directory / "t-0.tar"));
}

TEST_CASE("Splits may be directories, and a stream can have none") {
  const TempDir directory;
  const auto sink = open_sink(directory, "{split}/t-%d-of-%d.tar", options(true));
  ShardSetPlan plan;
  plan.splits = {"train", "val"};
  plan.listing = "l";
  plan.shards = {{"train", 0, 1, 1}, {"val", 0, 1, 1}};
  sink->set_plan(plan);
  CHECK(sink->shard_name(1) == "val/t-0-of-1.tar");
  put_planned(*sink, 2, 1);
  sink->commit();
  CHECK(names_in(directory.path()) ==
        Names{"SHA256SUMS", "manifest.json", "train/t-0-of-1.tar", "val/t-0-of-1.tar"});
  CHECK(manifest_of(directory).shards.at(1).split == "val");
  CHECK_THROWS_AS(open_sink(directory, "{split}/t-%d.tar", options(false)), Error);
  CHECK_THROWS_AS(open_sink(directory, "t-%d-of-%d.tar", options(false)), Error);
}

TEST_CASE("Too little room is said before anything is written, and what goes counts") {
  const TempDir directory;
  const auto sink = open_sink(directory, "t-%d.tar", options(true));
  ShardSetPlan plan = plan_of(1, 1);
  plan.bytes = std::uint64_t{1} << 60;
  CHECK_THROWS_WITH(sink->set_plan(plan), Catch::Contains("are missing"));
}

TEST_CASE("TFRecords: the first sample decides the schema of all shards") {
  const TempDir directory;
  ShardSinkOptions records = options(false);
  records.format.container = ShardContainer::tfrecord;
  records.max_count = 1;
  const auto sink = open_sink(directory, "t-%d.tfrecord", std::move(records));
  sink->put(literal_sample("a", {{"cls", "1"}, {"txt", "x"}}));
  sink->put(literal_sample("b", {{"cls", "2"}, {"txt", "y"}}));
  CHECK_THROWS_AS(sink->put(literal_sample("c", {{"cls", "three"}, {"txt", ""}})), BadSample);
  CHECK_THROWS_AS(sink->put(literal_sample("d", {{"cls", "4"}})), BadSample);
  sink->commit();
  const Manifest manifest = manifest_of(directory);
  CHECK(manifest.container == "tfrecord");
  CHECK(manifest.shards.size() == 2);
  CHECK(manifest.schema.is_array());
}

}  // namespace prep::shard_sink_test
