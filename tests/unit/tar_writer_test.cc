#include "formats/tar_writer.h"

#include <catch2/catch.hpp>
#include <string>

#include "formats/tar_header.h"
#include "lib/core/error.h"

namespace prep::tar_writer_test {

namespace {

class StringWriter final : public ByteWriter {
 public:
  void write(ByteView data) override { text += as_text(data); }
  void finish() override {}
  std::uint64_t written() const override { return text.size(); }
  std::string text;
};

MemoryContent content(const std::string& data) {
  return MemoryContent(Bytes::take(data), "origin.jpg");
}

// Promises more than it has.
class ShortContent final : public Content {
 public:
  std::uint64_t size() const override { return 3 << 20; }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override {
    if (offset >= 2 << 20) return Bytes();
    return Bytes::take(std::string(length, 'x'));
  }
  std::string origin() const override { return "raw/short.bin"; }
};

}  // namespace

TEST_CASE("An archive is headers, padded data and two zero blocks") {
  StringWriter out;
  TarWriter tar(out);
  const std::string large(3'000'000, 'L');
  const auto a = tar.add("a.jpg", content("abc"));
  const auto b = tar.add("b.jpg", content(""));
  const auto c = tar.add(std::string(150, 'c'), content(large));
  const auto d = tar.add("d.jpg", content(std::string(512, 'd')));
  tar.finish();
  CHECK(tar.offset() == out.text.size());
  CHECK(a.header_offset == 0);
  CHECK(a.data_offset == 512);
  CHECK(a.size == 3);
  CHECK_FALSE(a.pax);
  CHECK(b.header_offset == 1024);
  CHECK(c.header_offset == 1536);
  CHECK(c.data_offset == 1536 + 3 * 512);
  CHECK(c.pax);
  CHECK(d.header_offset == c.data_offset + 3'000'000 + tar_padding(3'000'000));
  CHECK(out.text.size() == d.data_offset + 512 + 1024);
  CHECK(out.text.substr(512, 512) == "abc" + std::string(509, '\0'));
  CHECK(out.text.substr(c.data_offset, large.size()) == large);
  CHECK(out.text.substr(out.text.size() - 1024) == std::string(1024, '\0'));
}

TEST_CASE("A content that delivers less than its size is an error") {
  StringWriter out;
  TarWriter tar(out);
  try {
    tar.add("a.bin", ShortContent());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::truncated);
    CHECK(std::string(error.what()) == "raw/short.bin: ends after 2097152 of 3145728 bytes");
  }
}

TEST_CASE("A name that no tar can hold leaves the archive untouched") {
  StringWriter out;
  TarWriter tar(out);
  CHECK_THROWS_AS(tar.add("", content("x")), Error);
  CHECK(out.text.empty());
  CHECK(tar.offset() == 0);
}

}  // namespace prep::tar_writer_test
