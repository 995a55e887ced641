#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "lib/core/error.h"
#include "lib/remote/partial_object.h"

namespace prep::remote_partial_object_test {
namespace {

struct TemporaryDirectory {
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "partial_object_test.XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::string in(const std::string& name) const { return path + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path),
                                                  std::filesystem::directory_iterator()));
  }
  std::string path;
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("parts of an object add up to it, and are available in order") {
  const TemporaryDirectory directory;
  PartialObject object = PartialObject::create(directory.in("x"), "id", 10, 4);
  CHECK(object.parts() == 3);
  CHECK(object.part_offset(2) == 8);
  CHECK(object.part_bytes(0) == 4);
  CHECK(object.part_bytes(2) == 2);
  CHECK(object.available() == 0);
  object.write(1, 0, as_bytes("4567"));
  CHECK(object.available() == 0);
  CHECK(object.received(1) == 4);
  object.write(0, 0, as_bytes("01"));
  CHECK(object.available() == 2);
  object.write(0, 2, as_bytes("23"));
  CHECK(object.available() == 8);
  CHECK_FALSE(object.is_complete());
  object.write(2, 0, as_bytes("89"));
  CHECK(object.is_complete());
  object.publish(directory.in("final"), /*sync=*/true);
  CHECK(contents(directory.in("final")) == "0123456789");
  CHECK(directory.files() == 1);
}

TEST_CASE("bytes count only behind those that are there, and never twice") {
  const TemporaryDirectory directory;
  PartialObject object = PartialObject::create(directory.in("x"), "id", 8, 8);
  object.write(0, 4, as_bytes("4567"));
  CHECK(object.received(0) == 0);
  object.write(0, 0, as_bytes("0123"));
  CHECK(object.received(0) == 4);
  object.write(0, 0, as_bytes("01"));  // another writer, where locks do nothing
  CHECK(object.received(0) == 4);
  CHECK_THROWS_AS(object.write(0, 6, as_bytes("678")), Error);
}

TEST_CASE("a later run goes on with what is there, if it is of the same object") {
  const TemporaryDirectory directory;
  const std::string path = directory.in("x");
  { PartialObject::create(path, "id", 8, 4).write(0, 0, as_bytes("012")); }
  CHECK(PartialObject::create(path, "id", 8, 4).received(0) == 3);
  SECTION("another version") { CHECK(PartialObject::create(path, "id2", 8, 4).received(0) == 0); }
  SECTION("another size") { CHECK(PartialObject::create(path, "id", 9, 4).received(0) == 0); }
  SECTION("other parts") { CHECK(PartialObject::create(path, "id", 8, 2).received(0) == 0); }
  SECTION("the file was cut off") {
    REQUIRE(truncate(path.c_str(), 5) == 0);
    CHECK(PartialObject::create(path, "id", 8, 4).received(0) == 0);
  }
  SECTION("the state was cut off") {
    REQUIRE(truncate((path + ".state").c_str(), 50) == 0);
    CHECK(PartialObject::create(path, "id", 8, 4).received(0) == 0);
  }
  SECTION("the machine was started anew") {
    const int fd = open((path + ".state").c_str(), O_WRONLY);
    REQUIRE(pwrite(fd, "another-boot", 12, 8) == 12);
    close(fd);
    CHECK_FALSE(PartialObject::open(path, "id"));
    CHECK(PartialObject::create(path, "id", 8, 4).received(0) == 0);
  }
  SECTION("a counter that claims too much") {
    const int fd = open((path + ".state").c_str(), O_WRONLY);
    const std::uint64_t claim = 1000;
    REQUIRE(pwrite(fd, &claim, sizeof claim, 80) == sizeof claim);
    close(fd);
    CHECK(PartialObject::create(path, "id", 8, 4).received(0) == 4);
  }
}

TEST_CASE("nothing to read along") {
  const TemporaryDirectory directory;
  CHECK_FALSE(PartialObject::open(directory.in("x"), "id"));
  { PartialObject::create(directory.in("x"), "id", 8, 4); }
  CHECK_FALSE(PartialObject::open(directory.in("x"), "other"));
  CHECK(PartialObject::open(directory.in("x"), "id"));
  std::ofstream(directory.in("x.state")) << "garbage";
  CHECK_FALSE(PartialObject::open(directory.in("x"), "id"));
}

TEST_CASE("another process reads as the bytes come") {
  const TemporaryDirectory directory;
  const std::string path = directory.in("x");
  PartialObject object = PartialObject::create(path, "id", 300, 100);
  const pid_t child = fork();
  if (child == 0) {
    const auto growing = PartialObject::open(path, "id");
    std::uint64_t known = 0;
    bool is_right = growing && growing->size() == 300;
    for (int i = 0; is_right && known < 300 && i < 1000; ++i) {
      const std::uint64_t available = growing->wait(known, 5);
      std::string bytes(available - known, '\0');
      is_right = pread(growing->fd(), bytes.data(), bytes.size(), static_cast<off_t>(known)) ==
                     static_cast<ssize_t>(bytes.size()) &&
                 bytes.find_first_not_of('x') == std::string::npos;
      known = available;
    }
    _exit(is_right && known == 300 ? 0 : 1);
  }
  for (const std::uint64_t part : {1, 0, 2}) {
    for (std::uint64_t at = 0; at < 100; at += 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      object.write(part, at, as_bytes(std::string(20, 'x')));
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("waiting ends when nothing comes") {
  const TemporaryDirectory directory;
  const PartialObject object = PartialObject::create(directory.in("x"), "id", 8, 4);
  CHECK(object.wait(0, 0.01) == 0);
}

TEST_CASE("an object of no bytes is complete") {
  const TemporaryDirectory directory;
  PartialObject object = PartialObject::create(directory.in("x"), "id", 0, 4);
  CHECK(object.parts() == 1);
  CHECK(object.part_bytes(0) == 0);
  CHECK(object.is_complete());
  object.publish(directory.in("final"), false);
  CHECK(contents(directory.in("final")).empty());
}

TEST_CASE("wrong bytes do not count any more") {
  const TemporaryDirectory directory;
  PartialObject object = PartialObject::create(directory.in("x"), "id", 4, 4);
  object.write(0, 0, as_bytes("wron"));
  object.reset();
  CHECK(object.available() == 0);
  object.write(0, 0, as_bytes("good"));
  object.publish(directory.in("final"), false);
  CHECK(contents(directory.in("final")) == "good");
}

TEST_CASE("what is published is one's own file, whoever has the name") {
  const TemporaryDirectory directory;
  const std::string path = directory.in("x");
  PartialObject mine = PartialObject::create(path, "id", 4, 4);
  mine.write(0, 0, as_bytes("mine"));
  SECTION("another") {
    const PartialObject other = PartialObject::create(path, "id2", 4, 4);
    mine.publish(directory.in("final"), false);
    CHECK(other.available() == 0);
    CHECK(access(path.c_str(), F_OK) == 0);  // the other one's stays
  }
  SECTION("nobody") {
    unlink(path.c_str());
    mine.publish(directory.in("final"), false);
  }
  SECTION("two that share it") {
    PartialObject other = PartialObject::create(path, "id", 4, 4);
    CHECK(other.is_complete());
    mine.publish(directory.in("final"), false);
    other.publish(directory.in("final"), false);
    CHECK(directory.files() == 1);
  }
  CHECK(contents(directory.in("final")) == "mine");
}

TEST_CASE("a disk that is too small shows at once, and nothing is left") {
  const TemporaryDirectory directory;
  const std::string path = directory.in("x");
  try {
    PartialObject::create(path, "id", std::uint64_t{1} << 50, 8 << 20);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::io);
  }
  CHECK(directory.files() == 0);
}

TEST_CASE("hidden from others, and removed on demand") {
  const TemporaryDirectory directory;
  PartialObject object = PartialObject::create(directory.in("x"), "id", 4, 4);
  struct stat st {};
  REQUIRE(stat(directory.in("x").c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  object.remove();
  CHECK(directory.files() == 0);
}

}  // namespace
}  // namespace prep::remote_partial_object_test
