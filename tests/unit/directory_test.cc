#include "formats/directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "lib/core/file_io.h"
#include "tests/unit/temp_dir.h"

namespace prep::directory_test {

using test::TempDir;
namespace fs = std::filesystem;

namespace {

// "key: part part", a line a sample.
std::vector<std::string> listing(Source& source) {
  std::vector<std::string> lines;
  for (Sample sample; source.next(sample); sample = Sample()) {
    std::string line = sample.key + ":";
    for (const Part& part : sample.parts) line += " " + (part.name.empty() ? "-" : part.name);
    if (sample.fault) line += " !" + std::string(code_name(sample.fault->code()));
    lines.push_back(line);
  }
  return lines;
}

Sample make_sample(const std::string& key, const std::string& part, const std::string& text,
                   std::int64_t mtime) {
  Sample sample;
  sample.key = key;
  sample.parts.push_back(
      {part, std::make_shared<MemoryContent>(Bytes::take(text), "origin of " + key, mtime)});
  return sample;
}

class PlainStage final : public Stage {
 public:
  void apply(Sample&, Notes&) const override {}
};

const PlainStage kStage;
const DirectorySinkOptions kOptions{"prep-test", "settings 1", {}, false};

}  // namespace

TEST_CASE("a directory is walked in path order, and samples stay whole") {
  TempDir dir;
  for (const char* name :
       {"b.jpg", "a.jpg", "a.cls", "a.d/x.jpg", "a/y.jpg", "a-1.jpg", "noext", "noext.jpg",
        "noext-1.jpg", ".hidden.jpg", "._a.jpg", ".git/config", "end.", "dot.d/z"}) {
    test::write_file(dir / name, "x");
  }
  const auto source = open_directory(dir.path(), {});
  CHECK(listing(*source) == std::vector<std::string>{"a-1: jpg", "a: cls jpg", "a.d/x: jpg",
                                                     "a/y: jpg", "b: jpg", "dot.d/z: -", "end.: -",
                                                     "noext: - jpg", "noext-1: jpg"});
  CHECK(source->left_out() == Tally{{"hidden file", 2}, {"hidden directory", 1}});
  CHECK(source->unique_keys());
}

TEST_CASE("links are followed, loops and special files left out") {
  TempDir dir;
  test::write_file(dir / "real/x.jpg", "x");
  fs::create_symlink(".", dir / "real/loop");
  fs::create_directory_symlink("real", dir / "twin");
  fs::create_symlink("nowhere", dir / "broken.jpg");
  REQUIRE(mkfifo((dir / "pipe.jpg").c_str(), 0600) == 0);
  const auto source = open_directory(dir.path(), {});
  CHECK(listing(*source) == std::vector<std::string>{"broken: jpg", "real/x: jpg", "twin/x: jpg"});
  CHECK(source->left_out() == Tally{{"link to a directory above it", 2}, {"special file", 1}});
}

TEST_CASE("the output inside the input is not walked") {
  TempDir dir;
  test::write_file(dir / "a.jpg", "x");
  test::write_file(dir / "out/a.jpg", "x");
  const auto source = open_directory(dir.path(), {dir / "out"});
  CHECK(listing(*source) == std::vector<std::string>{"a: jpg"});
}

TEST_CASE("a directory that cannot be entered is an error, and a bad sample below the root") {
  TempDir dir;
  CHECK_THROWS_AS(open_directory(dir / "none", {}), Error);
  std::string deep = dir.path();
  test::write_file(dir / "a.jpg", "x");
  if (geteuid() != 0) {
    fs::create_directory(dir / "closed");
    fs::permissions(dir / "closed", fs::perms::none);
    const auto source = open_directory(dir.path(), {});
    CHECK(listing(*source) == std::vector<std::string>{"a: jpg", "closed: !io"});
    fs::permissions(dir / "closed", fs::perms::owner_all);
  }
}

TEST_CASE("a directory sink writes whole samples and knows them again") {
  TempDir dir;
  const std::string root = dir / "out";
  const Sample sample = make_sample("n/1", "jpg", "pixels", 1'600'000'000'000'000'001);
  {
    const auto sink = create_directory_sink(root, kOptions);
    CHECK(sink->concurrent());
    CHECK_FALSE(sink->up_to_date(sample, kStage));
    sink->put(sample);
    CHECK(fs::exists(root + "/.prep-test.partial"));
    CHECK_FALSE(fs::exists(root + "/.prep-test.json"));
    sink->commit();
  }
  CHECK(test::read_file(root + "/n/1.jpg") == "pixels");
  CHECK(fs::exists(root + "/.prep-test.json"));
  CHECK_FALSE(fs::exists(root + "/.prep-test.partial"));

  const auto again = create_directory_sink(root, kOptions);
  CHECK(again->up_to_date(sample, kStage));
  CHECK_FALSE(again->up_to_date(make_sample("n/1", "jpg", "", 1'600'000'000'000'000'000), kStage));
  CHECK_FALSE(again->up_to_date(make_sample("n/1", "jpg", "", 0), kStage));
  CHECK_FALSE(again->up_to_date(make_sample("n/2", "jpg", "", 1'600'000'000'000'000'001), kStage));
}

TEST_CASE("other settings, or force, put everything out of date") {
  TempDir dir;
  const Sample sample = make_sample("1", "jpg", "x", 1'600'000'000'000'000'001);
  const auto fill = [&] {
    const auto sink = create_directory_sink(dir.path(), kOptions);
    sink->put(sample);
    sink->commit();
  };
  fill();
  {
    DirectorySinkOptions forced = kOptions;
    forced.force = true;
    CHECK_FALSE(create_directory_sink(dir.path(), forced)->up_to_date(sample, kStage));
    DirectorySinkOptions other = kOptions;
    other.settings = "settings 2";
    CHECK_FALSE(create_directory_sink(dir.path(), other)->up_to_date(sample, kStage));
  }
  // A run with other settings that is not completed: what it wrote counts, the rest does not.
  const Sample second = make_sample("2", "jpg", "x", 1'600'000'000'000'000'001);
  {
    const auto sink = create_directory_sink(dir.path(), kOptions);
    sink->put(second);
    sink->commit();
    usleep(20'000);  // past the resolution of the file system's clock
    DirectorySinkOptions other = kOptions;
    other.settings = "settings 2";
  }
  {
    DirectorySinkOptions other = kOptions;
    other.settings = "settings 2";
    const auto sink = create_directory_sink(dir.path(), other);
    sink->put(sample);
  }
  DirectorySinkOptions other = kOptions;
  other.settings = "settings 2";
  const auto sink = create_directory_sink(dir.path(), other);
  CHECK(sink->up_to_date(sample, kStage));
  CHECK_FALSE(sink->up_to_date(second, kStage));
}

TEST_CASE("a directory with other people's files is refused") {
  TempDir dir;
  test::write_file(dir / "thesis.tex", "x");
  CHECK_THROWS_AS(create_directory_sink(dir.path(), kOptions), Error);
  CHECK_FALSE(fs::exists(dir / ".prep-test.partial"));
  DirectorySinkOptions forced = kOptions;
  forced.force = true;
  CHECK_NOTHROW(create_directory_sink(dir.path(), forced));
}

TEST_CASE("two runs cannot fill one directory, two tasks can") {
  TempDir dir;
  const auto first = create_directory_sink(dir.path(), kOptions);
  CHECK_THROWS_AS(create_directory_sink(dir.path(), kOptions), Error);
  DirectorySinkOptions task = kOptions;
  task.task = {1, 4};
  CHECK_NOTHROW(create_directory_sink(dir.path(), task));
}

TEST_CASE("what a killed run left half-written is removed, another task's is not") {
  TempDir dir;
  test::write_file(dir / ".prep-test.partial", "");
  test::write_file(dir / "a/.prep-tmp.0-of-1.77-3", "half");
  test::write_file(dir / "a/.prep-tmp.1-of-4.77-3", "half");
  const auto sink = create_directory_sink(dir.path(), kOptions);
  CHECK_FALSE(fs::exists(dir / "a/.prep-tmp.0-of-1.77-3"));
  CHECK(fs::exists(dir / "a/.prep-tmp.1-of-4.77-3"));
}

TEST_CASE("two parts that want one file, and a name that is a directory, are bad samples") {
  TempDir dir;
  const auto sink = create_directory_sink(dir / "out", kOptions);
  Sample twins = make_sample("1", "jpg", "x", 1);
  twins.parts.push_back(twins.parts[0]);
  CHECK_THROWS_AS(sink->check(twins), Error);
  sink->put(make_sample("d/1", "jpg", "x", 1));
  CHECK_THROWS_AS(sink->put(make_sample("d", "", "x", 1)), BadSample);
  CHECK_THROWS_AS(sink->put(make_sample("d/1.jpg/2", "jpg", "x", 1)), BadSample);
  Sample mixed = make_sample("e", "jpg", "x", 1);
  fs::create_directory(dir / "out/e.cls");
  mixed.parts.push_back(make_sample("e", "cls", "x", 1).parts[0]);
  mixed.parts[1].name = "cls";
  CHECK_THROWS_AS(sink->put(mixed), BadSample);
  CHECK_FALSE(fs::exists(dir / "out/e.jpg"));  // a sample is written whole or not at all
  CHECK(std::distance(fs::directory_iterator(dir / "out"), {}) == 3);  // d, e.cls, .partial
}

TEST_CASE("a sink that wrote nothing leaves nothing") {
  TempDir dir;
  { const auto sink = create_directory_sink(dir / "out", kOptions); }
  CHECK_FALSE(fs::exists(dir / "out"));
}

TEST_CASE("a single file takes a single part") {
  TempDir dir;
  const auto sink = create_file_sink(dir / "x.jpg");
  sink->put(make_sample("1", "jpg", "x", 1));
  CHECK_THROWS_AS(sink->put(make_sample("2", "jpg", "x", 1)), Error);
  CHECK_FALSE(fs::exists(dir / "x.jpg"));
  sink->commit();
  CHECK(test::read_file(dir / "x.jpg") == "x");
}

}  // namespace prep::directory_test
