#include "formats/tree.h"

#include <catch2/catch.hpp>
#include <set>

#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::tree_test {

using test::TempDir;
namespace fs = std::filesystem;

namespace {

std::set<std::string> entries_of(const std::string& path) {
  std::set<std::string> names;
  for_each_entry(path, [&](int, const dirent& entry) {
    names.insert(entry.d_name);
    return true;
  });
  return names;
}

std::set<std::string> files_below(const std::string& path) {
  std::set<std::string> files;
  for_each_file(path, [&](int, const std::string& file, const char* name) {
    CHECK(file.ends_with(name));
    files.insert(file);
  });
  return files;
}

}  // namespace

TEST_CASE("a directory's entries, until enough were seen") {
  TempDir dir;
  fs::create_directories(dir / "a/b");
  test::write_file(dir / "a/.hidden", "x");
  CHECK(entries_of(dir / "a") == std::set<std::string>{".hidden", "b"});
  int seen = 0;
  for_each_entry(dir / "a", [&](int, const dirent&) { return ++seen == 0; });
  CHECK(seen == 1);
}

TEST_CASE("a tree's files, links among them, which are not followed") {
  TempDir dir;
  fs::create_directories(dir / "a/b");
  fs::create_directories(dir / "other");
  test::write_file(dir / "a/b/1", "x");
  test::write_file(dir / "other/2", "x");
  fs::create_directory_symlink(dir / "other", dir / "a/link");
  CHECK(files_below(dir / "a") == std::set<std::string>{"b/1", "link"});
}

TEST_CASE("where there is no directory, there is nothing in it; what cannot be read is an error") {
  TempDir dir;
  test::write_file(dir / "file", "x");
  CHECK(entries_of(dir / "missing").empty());
  CHECK(entries_of(dir / "file").empty());
  CHECK(files_below(dir / "missing").empty());
  fs::create_directory_symlink(dir / "loop", dir / "loop");
  CHECK_THROWS_AS(entries_of(dir / "loop"), Error);
}

}  // namespace prep::tree_test
