#include <catch2/catch.hpp>

#include "lib/core/digest.h"
#include "lib/remote/checksum.h"
#include "lib/remote/crc64_nvme.h"

namespace prep::remote_checksum_test {

using prep::as_bytes;
using prep::likely_part_sizes;
using prep::ObjectChecker;
using prep::ObjectInfo;
using Verdict = prep::ObjectChecker::Verdict;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

ObjectInfo object_of(const std::string& text, std::string etag, std::string checksum = "") {
  ObjectInfo object;
  object.size = text.size();
  object.etag = std::move(etag);
  object.checksum = std::move(checksum);
  return object;
}

struct Checked {
  Verdict verdict;
  std::string method;
};

Checked check(const ObjectInfo& object, const std::string& text, std::size_t step = 1'000'003) {
  ObjectChecker checker(object);
  for (std::size_t i = 0; i < text.size(); i += step) {
    checker.update(as_bytes(std::string_view(text).substr(i, step)));
  }
  const Verdict verdict = checker.finish();
  return {verdict, checker.method()};
}

std::string md5_bytes(std::string_view text) {
  const std::string hex = hex_digest(prep::Digest::Kind::md5, as_bytes(text));
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string multipart_etag(const std::string& text, std::uint64_t part_size) {
  std::string digests;
  for (std::size_t i = 0; i < text.size(); i += part_size) {
    digests += md5_bytes(std::string_view(text).substr(i, part_size));
  }
  return hex_digest(prep::Digest::Kind::md5, as_bytes(digests)) + "-" +
         std::to_string(digests.size() / 16);
}

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return text;
}

}  // namespace

TEST_CASE("an ETag that is an MD5") {
  const std::string etag = "900150983cd24fb0d6963f7d28e17f72";
  CHECK(check(object_of("abc", etag), "abc").verdict == Verdict::verified);
  CHECK(check(object_of("abc", etag), "abc").method == "MD5 ETag");
  CHECK(check(object_of("abc", "900150983CD24FB0D6963F7D28E17F72"), "abc").verdict ==
        Verdict::verified);
  CHECK(check(object_of("abc", etag), "abd").verdict == Verdict::wrong);
  CHECK(check(object_of("abc", etag), "abd").method == "MD5 ETag");
  CHECK(check(object_of("", "d41d8cd98f00b204e9800998ecf8427e"), "").verdict == Verdict::verified);
}

TEST_CASE("bytes that are too few or too many are wrong, whatever else there is") {
  const Checked less = check(object_of("abc", ""), "ab");
  CHECK(less.verdict == Verdict::wrong);
  CHECK(less.method == "size of 3 bytes, 2 came");
  CHECK(check(object_of("abc", ""), "abcd").verdict == Verdict::wrong);
}

TEST_CASE("what is no MD5 proves nothing") {
  const std::string etag =
      GENERATE("", "abc", "2aa6-5e9", "W/\"x\"", "900150983cd24fb0d6963f7d28e17f7g",
               "900150983cd24fb0d6963f7d28e17f72-0", "900150983cd24fb0d6963f7d28e17f72-10001",
               "900150983cd24fb0d6963f7d28e17f72-x", "900150983cd24fb0d6963f7d28e17f72-");
  CHECK(check(object_of("abc", etag), "abd").verdict == Verdict::unverified);
}

TEST_CASE("the ETag of an encrypted object is not looked at") {
  ObjectInfo object = object_of("abc", "00000000000000000000000000000000");
  object.etag_is_md5 = false;
  CHECK(check(object, "abc").verdict == Verdict::unverified);
  object.etag_is_md5 = true;
  ObjectChecker checker(object);
  checker.update(as_bytes("a"));
  checker.etag_is_no_md5();
  checker.update(as_bytes("bc"));
  CHECK(checker.finish() == Verdict::unverified);
  CHECK(checker.method() == "the object is encrypted");
}

TEST_CASE("a checksum is still looked at when the ETag is not") {
  ObjectChecker checker(object_of("123456789", "", "crc32c:4waSgw=="));
  checker.etag_is_no_md5();
  checker.update(as_bytes("123456789"));
  CHECK(checker.finish() == Verdict::verified);
}

// The check values of "123456789" in the catalogue of parametrised CRC algorithms, and FIPS 180-4's
// digests of "abc", in Base64.
TEST_CASE("checksums of whole objects") {
  const auto [text, checksum, method] = GENERATE(table<std::string, std::string, std::string>({
      {"123456789", "crc32:y/Q5Jg==", "CRC-32"},
      {"123456789", "crc32c:4waSgw==", "CRC-32C"},
      {"123456789", "crc64nvme:rosUhgp5mIg=", "CRC-64/NVME"},
      {"abc", "sha1:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=", "SHA-1"},
      {"abc", "sha256:ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "SHA-256"},
      {"", "crc32c:AAAAAA==", "CRC-32C"},
  }));
  const std::string etag = "00000000000000000000000000000000";  // the checksum goes first
  CHECK(check(object_of(text, etag, checksum), text, 2).verdict == Verdict::verified);
  CHECK(check(object_of(text, etag, checksum), text).method == method);
  if (text.empty()) return;
  const std::string other = "x" + text.substr(1);
  CHECK(check(object_of(text, etag, checksum), other).verdict == Verdict::wrong);
  CHECK(check(object_of(text, etag, checksum), other).method == method);
}

TEST_CASE("a checksum without a value, or of an unknown kind, leaves the ETag") {
  const std::string checksum = GENERATE("crc32c:", "crc32c", "blake3:AAAA", "crc32c:AAAA-x");
  const Checked checked =
      check(object_of("abc", "900150983cd24fb0d6963f7d28e17f72", checksum), "abc");
  CHECK(checked.verdict == Verdict::verified);
  CHECK(checked.method == "MD5 ETag");
}

TEST_CASE("multipart ETags, with part sizes that uploaders use") {
  const std::string text = noise(17 * kMiB + 12345);
  const auto [part_size, method] = GENERATE(table<std::uint64_t, std::string>({
      {8 * kMiB, "multipart ETag of 8 MiB parts"},
      {5 * kMiB, "multipart ETag of 5 MiB parts"},
      {16 * kMiB, "multipart ETag of 16 MiB parts"},
      {6 * kMiB, "multipart ETag of 6 MiB parts"},
      {5'000'000, "multipart ETag of 5000000 bytes parts"},
      {64 * kMiB, "multipart ETag of 17838137 bytes parts"},
  }));
  const std::size_t step = GENERATE(999'983, 8 * kMiB);
  const ObjectInfo object = object_of(text, multipart_etag(text, part_size));
  const Checked checked = check(object, text, step);
  CHECK(checked.verdict == Verdict::verified);
  CHECK(checked.method == method);
}

TEST_CASE("parts that end where the object does") {
  const std::string text = noise(16 * kMiB);
  CHECK(check(object_of(text, multipart_etag(text, 8 * kMiB)), text).verdict == Verdict::verified);
  const std::string nothing_etag =
      hex_digest(prep::Digest::Kind::md5, as_bytes(md5_bytes(""))) + "-1";
  CHECK(check(object_of("", nothing_etag), "").verdict == Verdict::verified);
}

TEST_CASE("a multipart ETag that matches no part size proves nothing") {
  const std::string text = noise(17 * kMiB);
  const Checked checked = check(object_of(text, multipart_etag(text, 7'777'777)), text);
  CHECK(checked.verdict == Verdict::unverified);
  CHECK(checked.method == "multipart ETag of parts of an unknown size");
}

TEST_CASE("composite checksums") {
  // CRC-32C of the two parts' CRC-32C, worked out with another implementation.
  const std::string text(10 * kMiB, 'a');
  const Checked checked = check(object_of(text, "", "crc32c:r1rmPQ==-2"), text);
  CHECK(checked.verdict == Verdict::verified);
  CHECK(checked.method == "composite CRC-32C of 8 MiB parts");
}

TEST_CASE("part sizes") {
  CHECK(likely_part_sizes(100 * kMiB, 13) == std::vector<std::uint64_t>{8 * kMiB, 8'065'970});
  CHECK(likely_part_sizes(16 * kMiB, 2).front() == 8 * kMiB);
  CHECK(likely_part_sizes(17 * kMiB, 2).front() == 16 * kMiB);
  CHECK(likely_part_sizes(5, 1) == std::vector<std::uint64_t>{5});
  CHECK(likely_part_sizes(0, 1) == std::vector<std::uint64_t>{1});
  CHECK(likely_part_sizes(0, 2).empty());
  CHECK(likely_part_sizes(1, 2).empty());
  CHECK(likely_part_sizes(10, 0).empty());
}

TEST_CASE("every part size gives the number of parts, and there are at most four") {
  for (std::uint64_t size = 1; size < (std::uint64_t{1} << 63); size = size * 3 + 7) {
    for (const std::uint64_t parts : {1, 2, 3, 7, 100, 9999, 10000}) {
      const auto sizes = likely_part_sizes(size, parts);
      CHECK(sizes.size() <= 4);
      for (const std::uint64_t part_size : sizes) {
        CHECK(size / part_size + (size % part_size != 0) == parts);
      }
    }
  }
}

TEST_CASE("CRC-64/NVME of pieces is that of the whole") {
  CHECK(prep::crc64_nvme(0, as_bytes("123456789")) == 0xAE8B14860A799888);
  CHECK(prep::crc64_nvme(0, {}) == 0);
  const std::string text = noise(1000);
  const std::uint64_t whole = prep::crc64_nvme(0, as_bytes(text));
  for (std::size_t cut = 0; cut <= text.size(); cut += 37) {
    const std::uint64_t front = prep::crc64_nvme(0, as_bytes(text.substr(0, cut)));
    CHECK(prep::crc64_nvme(front, as_bytes(text.substr(cut))) == whole);
  }
  // Byte by byte, without the tables' steps.
  std::uint64_t crc = 0;
  for (const char c : text) crc = prep::crc64_nvme(crc, as_bytes(std::string_view(&c, 1)));
  CHECK(crc == whole);
}

}  // namespace prep::remote_checksum_test
