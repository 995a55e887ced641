#include "formats/compression.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace prep::compression_test {

namespace {

// What `compression` makes of `data`, written in pieces of many sizes.
std::string compressed(const std::string& data, Compression compression) {
  const Fd file(memfd_create("out", MFD_CLOEXEC));
  const auto writer = make_writer(file.get(), compression, "out");
  std::size_t piece = 1;
  for (std::size_t i = 0; i < data.size(); i += piece, piece = piece * 3 % 300'007) {
    writer->write(as_bytes(std::string_view(data).substr(i, piece)));
  }
  writer->finish();
  std::string bytes(writer->written(), '\0');
  const auto size = pread_fully(file.get(), reinterpret_cast<std::uint8_t*>(bytes.data()),
                                bytes.size() + 1, 0, "out");
  REQUIRE(size == bytes.size());
  return bytes;
}

std::string decompressed(const std::string& bytes, std::size_t piece = 100'000) {
  const auto reader = decompress(std::make_unique<MemoryReader>(Bytes::take(bytes)), "the\nname");
  std::string data, buffer(piece, '\0');
  for (;;) {
    const auto count = reader->read({reinterpret_cast<std::uint8_t*>(buffer.data()), piece});
    if (count == 0) break;
    data.append(buffer, 0, count);
  }
  CHECK(reader->consumed() == bytes.size());
  return data;
}

Code failure_of(const std::string& bytes) {
  try {
    decompressed(bytes);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("the\\nname: "));
    return error.code();
  }
  FAIL("no error");
  return Code::internal;
}

std::string sample_data() {
  std::mt19937 random(1);
  std::string data(1'500'000, '\0');
  for (std::size_t i = 0; i < data.size() / 2; ++i) data[i] = static_cast<char>(random());
  return data;
}

constexpr Compression kAll[] = {Compression::none, Compression::gzip, Compression::zstd};

}  // namespace

TEST_CASE("Compression is told by magic bytes on input and by name on output") {
  CHECK(detect_compression(as_bytes("\x1F\x8B\x08")) == Compression::gzip);
  CHECK(detect_compression(as_bytes("\x28\xB5\x2F\xFD")) == Compression::zstd);
  CHECK(detect_compression(as_bytes("\x5A\x2A\x4D\x18")) == Compression::zstd);
  CHECK(detect_compression(as_bytes("\x28\xB5\x2F")) == Compression::none);
  CHECK(detect_compression({}) == Compression::none);
  CHECK(compression_for_name("x.tar.gz") == Compression::gzip);
  CHECK(compression_for_name("x.tgz") == Compression::gzip);
  CHECK(compression_for_name("x.tar.zst") == Compression::zstd);
  CHECK(compression_for_name("X.TAR.GZ") == Compression::gzip);
  CHECK(compression_for_name("gz") == Compression::none);
  CHECK(compression_for_name("x.gz.tar") == Compression::none);
}

TEST_CASE("Every compression gives back what went in, and the same bytes each time") {
  for (const std::string& data : {std::string(), std::string("a"), sample_data()}) {
    for (const Compression compression : kAll) {
      const std::string bytes = compressed(data, compression);
      CHECK(detect_compression(as_bytes(bytes)) == compression);
      CHECK(bytes == compressed(data, compression));
      CHECK(decompressed(bytes) == data);
      if (data.size() < 10) CHECK(decompressed(bytes, 1) == data);
      if (compression != Compression::none && data.size() > 10) CHECK(bytes.size() < data.size());
    }
  }
}

TEST_CASE("gzip output holds no time and no name") {
  const std::string bytes = compressed("abc", Compression::gzip);
  // RFC 1952: flags, then the time in four bytes.
  CHECK(bytes.substr(3, 5) == std::string(5, '\0'));
}

TEST_CASE("Concatenated members and frames are one stream") {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    const std::string bytes = compressed("one,", compression) + compressed("", compression) +
                              compressed("two", compression);
    CHECK(decompressed(bytes) == "one,two");
  }
  const std::string skippable("\x50\x2A\x4D\x18\x03\0\0\0abc", 11);
  CHECK(decompressed(skippable + compressed("x", Compression::zstd) + skippable) == "x");
  CHECK(decompressed(compressed("x", Compression::gzip) + std::string(700, '\0')) == "x");
}

TEST_CASE("A compressed stream that is cut anywhere is truncated") {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    const std::string bytes = compressed("some data, some data", compression);
    for (std::size_t size = 4; size < bytes.size(); ++size) {
      CHECK(failure_of(bytes.substr(0, size)) == Code::truncated);
      CHECK(failure_of(bytes + bytes.substr(0, size)) == Code::truncated);
    }
    CHECK(failure_of(bytes + bytes.substr(0, 1)) == Code::truncated);
  }
}

TEST_CASE("Damaged compressed data is corrupt") {
  for (const Compression compression : {Compression::gzip, Compression::zstd}) {
    std::string bytes = compressed(sample_data(), compression);
    CHECK(failure_of(bytes + "something else") == Code::corrupt);
    bytes[bytes.size() / 2] ^= 1;
    CHECK(failure_of(bytes) == Code::corrupt);
    std::string checksum = compressed("abcdef", compression);
    checksum[checksum.size() - (compression == Compression::gzip ? 5 : 1)] ^= 1;
    CHECK(failure_of(checksum) == Code::corrupt);
  }
  CHECK(failure_of(compressed("x", Compression::gzip) + std::string(9, '\0') + "x") ==
        Code::corrupt);
}

TEST_CASE("A zstd window over 128 MiB is refused") {
  // A frame header with the window descriptor for 2^28 bytes, then an empty last block.
  const std::string large("\x28\xB5\x2F\xFD\x00\x90\x01\x00\x00", 9);
  CHECK(failure_of(large) == Code::limit);
  const std::string allowed("\x28\xB5\x2F\xFD\x00\x88\x01\x00\x00", 9);
  CHECK(decompressed(allowed).empty());
}

TEST_CASE("zstd formats before 1.0 do not get to their decoders") {
  const std::string version_07("\x27\xB5\x2F\xFD\x00\x00\x00\x00", 8);
  CHECK(failure_of(compressed("x", Compression::zstd) + version_07) == Code::corrupt);
}

TEST_CASE("A closed pipe and a full disk are errors that name the output") {
  const Fd full = open_file("/dev/full", O_WRONLY);
  for (const Compression compression : kAll) {
    const auto writer = make_writer(full.get(), compression, "x.tar");
    writer->write(as_bytes("abc"));
    CHECK_THROWS_WITH(writer->finish(), Catch::StartsWith("x.tar: "));
  }
}

}  // namespace prep::compression_test
