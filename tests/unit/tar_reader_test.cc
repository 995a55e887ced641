#include "formats/tar_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"

namespace prep::tar_reader_test {

namespace {

const std::string kEnd(1024, '\0');

std::string padded(std::string data) {
  data.append(tar_padding(data.size()), '\0');
  return data;
}

// A member of any type; `data` need not be what the header says.
std::string member(const std::string& name, char type, const std::string& data) {
  std::string blocks;
  append_tar_header(name, data.size(), blocks);
  const std::size_t last = blocks.size() - 512;  // behind a PAX header, if there is one
  blocks[last + 156] = type;
  blocks.replace(last + 148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : blocks.substr(last)) sum += static_cast<unsigned char>(c);
  blocks.replace(last + 148, 7, fmt::format("{:06o}", sum) + std::string(1, '\0'));
  return blocks + padded(data);
}
std::string file(const std::string& name, const std::string& data) {
  return member(name, '0', data);
}

enum class From { memory, file };

std::unique_ptr<TarInput> input_of(const std::string& bytes, From from) {
  if (from == From::memory) {
    return std::make_unique<TarStreamInput>(std::make_unique<MemoryReader>(Bytes::take(bytes)));
  }
  const auto fd = std::make_shared<const Fd>(memfd_create("tar", MFD_CLOEXEC));
  write_fully(fd->get(), as_bytes(bytes), "tar");
  return std::make_unique<TarFileInput>(fd, "x.tar", 0, bytes.size());
}

// "name=data" of every member, after the end was found to be sound.
std::vector<std::string> walk(const std::string& bytes, From from, bool read = true) {
  const auto input = input_of(bytes, from);
  TarReader reader(*input, "x.tar");
  std::vector<std::string> members;
  TarMember m;
  while (reader.next(m)) {
    std::string data(read ? std::min<std::uint64_t>(m.size, 1 << 20) : 0, '\0');
    const auto count = reader.read({reinterpret_cast<std::uint8_t*>(data.data()), data.size()});
    CHECK(count == data.size());
    members.push_back(m.name + "=" + data);
  }
  return members;
}

struct Failure {
  Code code;
  std::string message;
};

// What both kinds of input must say alike.
Failure failure_of(const std::string& bytes) {
  std::vector<Failure> failures;
  for (const From from : {From::memory, From::file}) {
    try {
      walk(bytes, from);
    } catch (const Error& error) {
      failures.push_back({error.code(), error.what()});
    }
  }
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].code == failures[1].code);
  CHECK(failures[0].message == failures[1].message);
  CHECK(failures[0].message.starts_with("x.tar: "));
  return failures[0];
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("Members come in order with their data, read or skipped") {
  const std::string large(700'000, 'L');
  const std::string tar = file("a.jpg", "A") + file("b.jpg", large) + file("c.jpg", "") +
                          file("d.jpg", std::string(512, 'd')) + kEnd;
  for (const From from : {From::memory, From::file}) {
    CHECK(walk(tar, from) ==
          Names{"a.jpg=A", "b.jpg=" + large, "c.jpg=", "d.jpg=" + std::string(512, 'd')});
    CHECK(walk(tar, from, false) == Names{"a.jpg=", "b.jpg=", "c.jpg=", "d.jpg="});
  }
}

TEST_CASE("Offsets are those of the file") {
  const auto input = input_of(
      file("a", "A") + file(std::string(200, 'n'), "B") + file("c", "") + kEnd, From::file);
  TarReader reader(*input, "x.tar");
  TarMember m;
  REQUIRE(reader.next(m));
  CHECK(m.header_offset == 0);
  CHECK(m.data_offset == 512);
  REQUIRE(reader.next(m));
  CHECK(m.header_offset == 1024);
  CHECK(m.data_offset == 1024 + 3 * 512);
  REQUIRE(reader.next(m));
  CHECK(m.header_offset == 3072);
  CHECK_FALSE(reader.next(m));
}

TEST_CASE("Data can be read in pieces, and not beyond the member") {
  const auto input = input_of(file("a", "abcde") + file("b", "x") + kEnd, From::memory);
  TarReader reader(*input, "x.tar");
  TarMember m;
  REQUIRE(reader.next(m));
  std::uint8_t buffer[4];
  CHECK(reader.read(buffer) == 4);
  CHECK(reader.read(buffer) == 1);
  CHECK(buffer[0] == 'e');
  CHECK(reader.read(buffer) == 0);
  REQUIRE(reader.next(m));
  CHECK(m.name == "b");
}

TEST_CASE("The end of an archive") {
  const std::string a = file("a", "A"), b = file("b", "B");
  for (const From from : {From::memory, From::file}) {
    CHECK(walk(kEnd, from).empty());
    CHECK(walk(a + kEnd, from) == Names{"a=A"});
    CHECK(walk(a + kEnd + std::string(9000, '\0'), from) == Names{"a=A"});
    CHECK(walk(a + kEnd + std::string(100, '\0'), from) == Names{"a=A"});
    CHECK(walk(a + kEnd + b + kEnd, from) == Names{"a=A", "b=B"});
    CHECK(walk(a + kEnd + kEnd + kEnd + b + kEnd, from) == Names{"a=A", "b=B"});
  }
  const std::string zeros(512, '\0');
  CHECK(failure_of(a).code == Code::truncated);
  CHECK(failure_of(a).message.ends_with("(at byte 1024)"));
  CHECK(failure_of(a + zeros).code == Code::truncated);
  CHECK(failure_of(a + zeros + zeros.substr(1)).code == Code::truncated);
  CHECK(failure_of(a + zeros + b + kEnd).code == Code::corrupt);
  CHECK(failure_of(a + kEnd + b).code == Code::truncated);
  CHECK(failure_of(a + kEnd + "trailing text").code == Code::corrupt);
  CHECK(failure_of(a + kEnd + std::string(512, 'x')).code == Code::corrupt);
  CHECK(failure_of("").code == Code::empty);
}

TEST_CASE("An archive that is cut anywhere is truncated") {
  const std::string tar = file("a", "A") + file(std::string(300, 'n'), "B") +
                          member("l", 'L', "x") + file("c", std::string(600, 'c')) + kEnd;
  for (std::size_t size = 1; size < tar.size(); size += 13) {
    CAPTURE(size);
    CHECK(failure_of(tar.substr(0, size)).code == Code::truncated);
  }
  CHECK(failure_of(tar.substr(0, tar.size() - 1)).code == Code::truncated);
}

TEST_CASE("One wrong bit in any header is corrupt, with its offset") {
  const std::string tar = file("a", "A") + file("b", "B") + kEnd;
  for (std::size_t i = 1024; i < 1536; i += 3) {
    std::string damaged = tar;
    damaged[i] ^= 1;
    if (i >= 148 + 1024 && i < 156 + 1024) continue;
    const Failure failure = failure_of(damaged);
    CHECK(failure.code == Code::corrupt);
    CHECK(failure.message == "x.tar: a header with a wrong checksum (at byte 1024)");
  }
}

TEST_CASE("GNU and PAX extensions") {
  const std::string name(70'000 - 6'000, 'g');
  const std::string tar = member("././@LongLink", 'L', name + '\0') + file("short", "1") +
                          member("x", 'x', "13 path=long\n") + file("short", "2") +
                          member("g", 'g', "13 comment=x\n") + file("plain", "3") +
                          member("x", 'X', "10 size=2\n") + file("sized", "45") + kEnd;
  for (const From from : {From::memory, From::file}) {
    CHECK(walk(tar, from) == Names{name + "=1", "long=2", "plain=3", "sized=45"});
  }
  CHECK(failure_of(member("x", 'x', "13 path=long\n") + kEnd).code == Code::corrupt);
  CHECK(failure_of(member("x", 'x', "13 path=longer\n") + kEnd).code == Code::corrupt);
  CHECK(failure_of(member("g", 'g', "13 path=long\n") + file("a", "")).code == Code::unsupported);
  CHECK(failure_of(member("L", 'L', std::string(kMaxTarName + 1, 'x'))).code == Code::limit);
  std::string huge;
  append_tar_header("L", kMaxTarExtension + 1, huge);
  huge[156] = 'L';
  huge.replace(148, 6,
               fmt::format("{:06o}", std::stoul(huge.substr(148, 6), nullptr, 8) + 'L' - '0'));
  CHECK(failure_of(huge).code == Code::limit);
}

TEST_CASE("Links have no data, whatever their size says") {
  for (const From from : {From::memory, From::file}) {
    const std::string link = member("l", '1', std::string(512, 'x')).substr(0, 512);
    CHECK(walk(link + file("a", "A") + kEnd, from) == Names{"l=", "a=A"});
  }
}

TEST_CASE("GNU's sparse map is walked over") {
  std::string block = member("s", 'S', "data").substr(0, 512);
  block[482] = 1;
  block.replace(148, 6, fmt::format("{:06o}", std::stoul(block.substr(148, 6), nullptr, 8) + 1));
  std::string more(512, '\0');
  more[504] = 1;
  const std::string tar =
      block + more + std::string(512, '\0') + padded("data") + file("a", "A") + kEnd;
  for (const From from : {From::memory, From::file}) {
    CHECK(walk(tar, from) == Names{"s=data", "a=A"});
  }
  CHECK(failure_of(block + more + std::string(100, '\0')).code == Code::truncated);
}

TEST_CASE("A size beyond the end is truncated, not allocated") {
  std::string blocks;
  append_tar_header("a.bin", kMaxTarSize, blocks);
  CHECK(failure_of(blocks + "some data").code == Code::truncated);
}

TEST_CASE("What is no tar is called by its name") {
  const auto message = [](const std::string& bytes) {
    const Failure failure = failure_of(bytes);
    CHECK(failure.code == Code::unsupported);
    return failure.message.substr(0, failure.message.find(';'));
  };
  const std::string filler(1000, 'x');
  CHECK(message("\xFF\xD8\xFF\xE0" + filler) == "x.tar: not a tar: a JPEG image");
  CHECK(message("\x89PNG\r\n\x1A\n") == "x.tar: not a tar: a PNG image");
  CHECK(message(std::string("MM\0*", 4)) == "x.tar: not a tar: a TIFF image");
  CHECK(message("PK\3\4" + filler) == "x.tar: not a tar: a zip archive");
  CHECK(message("\x1F\x8B\x08" + filler) == "x.tar: not a tar: gzip data, once more inside");
  CHECK(message("\xEF\xBB\xBF\n <!doctype html>") ==
        "x.tar: not a tar: a web page (HTML), probably a server's error message");
  CHECK(message("<HTML><body>" + filler).starts_with("x.tar: not a tar: a web page"));
  CHECK(message("<?xml version=\"1.0\"?><Error>").starts_with("x.tar: not a tar: XML"));
  CHECK(message("version https://git-lfs.github.com/spec/v1\n")
            .starts_with("x.tar: not a tar: a Git LFS pointer"));
  // A record of 3 bytes, as TensorFlow writes it.
  CHECK(message(std::string("\3\0\0\0\0\0\0\0\xB0\x99\x49\x0E"
                            "abc\x6E\x57\xF1\x21",
                            19))
            .starts_with("x.tar: not a tar: a TFRecord"));
  const Failure unknown = failure_of(filler);
  CHECK(unknown.code == Code::corrupt);
  CHECK(unknown.message == "x.tar: not a tar: it does not start with a tar header");
}

TEST_CASE("A file is walked from where it stands") {
  const auto fd = std::make_shared<const Fd>(memfd_create("tar", MFD_CLOEXEC));
  const std::string tar = "junk" + file("a", "A") + kEnd;
  write_fully(fd->get(), as_bytes(tar), "tar");
  TarFileInput input(fd, "x.tar", 4, tar.size());
  TarReader reader(input, "x.tar");
  TarMember m;
  REQUIRE(reader.next(m));
  CHECK(m.data_offset == 516);
  CHECK_FALSE(reader.next(m));
}

}  // namespace prep::tar_reader_test
