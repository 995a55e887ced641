#include "lib/core/file_io.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <limits>

#include "tests/unit/temp_dir.h"

namespace prep::file_io_test {

using test::TempDir;
namespace fs = std::filesystem;

TEST_CASE("an atomic file appears at its commit, with its time") {
  TempDir dir;
  const std::string path = dir / "a/b/out";
  {
    AtomicFile file(path, dir / "a/b/.tmp");
    file.write(as_bytes("hello"));
    CHECK_FALSE(fs::exists(path));
    file.close(1'500'000'000'123'456'789);
    file.commit();
  }
  CHECK(test::read_file(path) == "hello");
  CHECK_FALSE(fs::exists(dir / "a/b/.tmp"));
  struct stat st {};
  REQUIRE(stat(path.c_str(), &st) == 0);
  CHECK(mtime_ns(st) == 1'500'000'000'123'456'789);
}

TEST_CASE("times before 1970 are kept, and such as no file system holds do no harm") {
  TempDir dir;
  for (const std::int64_t time : {std::int64_t{-1}, std::int64_t{-315'619'199'500'000'000},
                                  std::numeric_limits<std::int64_t>::max()}) {
    AtomicFile file(dir / "out", dir / ".tmp");
    file.close(time);
    file.commit();
    struct stat st {};
    REQUIRE(stat((dir / "out").c_str(), &st) == 0);
    if (time < 0) CHECK(mtime_ns(st) == time);
  }
}

TEST_CASE("what is no regular file is written to, not replaced") {
  TempDir dir;
  REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
  const Fd reader = open_file(dir / "pipe", O_RDONLY | O_NONBLOCK);
  AtomicFile file(dir / "pipe", locked_temporary(dir / "pipe"), AtomicFile::Sharing::locked);
  file.write(as_bytes("x"));
  file.commit();
  CHECK(fs::is_fifo(dir / "pipe"));
  std::uint8_t byte = 0;
  CHECK(read_fully(reader.get(), &byte, 1, "pipe") == 1);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("an atomic file without commit leaves nothing, and the old file as it was") {
  TempDir dir;
  test::write_file(dir / "out", "old");
  {
    AtomicFile file(dir / "out", dir / ".tmp");
    file.write(as_bytes("new"));
  }
  CHECK(test::read_file(dir / "out") == "old");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("of two locked writers the second is refused; a dead one's rest is taken over") {
  TempDir dir;
  const std::string path = dir / "x.tar";
  test::write_file(locked_temporary(path), "left by a killed run");
  AtomicFile first(path, locked_temporary(path), AtomicFile::Sharing::locked);
  CHECK_THROWS_AS(AtomicFile(path, locked_temporary(path), AtomicFile::Sharing::locked), Error);
  first.write(as_bytes("1"));
  first.commit(/*sync=*/true);
  CHECK(test::read_file(path) == "1");
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("names that the file system refuses are the sample's fault") {
  TempDir dir;
  test::write_file(dir / "file", "");
  fs::create_directory(dir / "taken");
  CHECK_THROWS_AS(AtomicFile(dir / "file/x", dir / "file/.tmp"), BadSample);
  const std::string longest(300, 'n');
  AtomicFile file(dir / longest, dir / ".tmp");
  CHECK_THROWS_AS(file.commit(), BadSample);
  AtomicFile other(dir / "taken", dir / ".tmp2");
  CHECK_THROWS_AS(other.commit(), BadSample);
  CHECK(locked_temporary(longest).size() < 255);
}

TEST_CASE("file contents are read in pieces, and say what is wrong") {
  TempDir dir;
  test::write_file(dir / "f", "0123456789");
  const FileContent content(dir / "f");
  CHECK(content.size() == 10);
  CHECK(content.read(0, 3).text() == "012");
  CHECK(content.read(8, 100).text() == "89");
  CHECK(content.load().text() == "0123456789");
  CHECK_THROWS_AS(FileContent(dir / "none").size(), Error);
  CHECK_THROWS_WITH(FileContent(dir.path()).load(), Catch::Contains("is a directory"));
  REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(FileContent(dir / "fifo").load(), Catch::Contains("not a regular file"));
}

TEST_CASE("a file that changes its size while it is read is an error") {
  TempDir dir;
  test::write_file(dir / "f", "0123456789");
  const FileContent shrinks(dir / "f");
  CHECK(shrinks.read(0, 1).text() == "0");
  fs::resize_file(dir / "f", 5);
  CHECK_THROWS_WITH(shrinks.load(), Catch::Contains("size changed"));
  const FileContent grows(dir / "f");
  CHECK(grows.read(0, 1).text() == "0");
  fs::resize_file(dir / "f", 6);
  CHECK_THROWS_WITH(grows.load(), Catch::Contains("size changed"));
}

TEST_CASE("ranges know where their file ends") {
  TempDir dir;
  test::write_file(dir / "f", "0123456789");
  auto fd = std::make_shared<const Fd>(open_file(dir / "f", O_RDONLY));
  CHECK(RangeContent(fd, 2, 4, "f: x", 0).load().text() == "2345");
  CHECK_THROWS_AS(RangeContent(fd, 8, 4, "f: x", 0).load(), Error);
}

TEST_CASE("paths are taken apart and joined") {
  CHECK(parent_directory("a/b") == "a");
  CHECK(parent_directory("a/b/") == "a");
  CHECK(parent_directory("a") == ".");
  CHECK(parent_directory("/a") == "/");
  CHECK(base_name("a/b") == "b");
  CHECK(join_path("a/", "b") == "a/b");
  CHECK(join_path(".", "b") == "b");
}

TEST_CASE("what is not there is told from what cannot be looked at") {
  TempDir dir;
  test::write_file(dir / "file", "abc");
  REQUIRE(find_file(dir / "file"));
  CHECK(find_file(dir / "file")->st_size == 3);
  CHECK(open_if_there(dir / "file"));
  for (const std::string& path :
       {dir / "missing", dir / "file/below", dir / std::string(300, 'x')}) {
    CHECK_FALSE(find_file(path));
    CHECK_FALSE(open_if_there(path));
  }
  // As many open files as there may be.
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK_THROWS_WITH(open_if_there(dir / "file"), Catch::Contains("Too many open files"));
  CHECK_THROWS_WITH(sync_directory(dir / "."), Catch::Contains("Too many open files"));
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

}  // namespace prep::file_io_test
