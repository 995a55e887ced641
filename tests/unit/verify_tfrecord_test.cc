#include "formats/verify_tfrecord.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "formats/example.h"
#include "formats/tfrecord_record.h"
#include "formats/verify_shard.h"
#include "lib/core/digest.h"
#include "lib/core/unnamed_file.h"

namespace prep::verify_tfrecord_test {

using Catch::Matchers::Contains;

namespace {

std::string framed(const std::string& data) {
  Crc32c crc;
  crc.update(as_bytes(data));
  std::string record(as_text(tfrecord_header(data.size())));
  return record.append(data).append(as_text(tfrecord_footer(crc)));
}

// A record with a key, a label and a text.
std::string record(const std::string& key, std::int64_t label, const std::string& text) {
  ExampleEncoder encoder;
  encoder.add_bytes("__key__", as_bytes(key));
  encoder.add_int64("image/class/label", {&label, 1});
  encoder.add_bytes("txt", as_bytes(text));
  std::string data;
  for (const ByteView piece : encoder.finish()) data += as_text(piece);
  return framed(data);
}

const std::vector<std::string> kRecords{record("d/a", 1, std::string(50, 'A')),
                                        record("d/b", 2, "B"), record("d/c", 1, "")};

std::string all(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& one : records) bytes += one;
  return bytes;
}

std::string lines(const std::string& bytes, const ExampleSchema* schema = nullptr) {
  Findings findings("x");
  SampleLedger ledger(findings, {});
  TfRecordReader reader(std::make_unique<MemoryReader>(Bytes::copy(as_bytes(bytes))), "x");
  TfRecordCheck check;
  check.name = "x";
  check.schema = schema;
  verify_tfrecord(reader, check, ledger, findings);
  ledger.finish();
  std::string text;
  for (const Finding& finding : findings.finish()) text += finding.text().substr(3) + "\n";
  return text;
}

class ShardOnDisk {
 public:
  explicit ShardOnDisk(const std::string& bytes) : file_(open_unnamed_file()) { write(bytes); }
  void write(const std::string& bytes) {
    REQUIRE(ftruncate(file_.get(), 0) == 0);
    REQUIRE(pwrite(file_.get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
  }
  ShardReport check(const ShardRecord* expected, bool for_repair, bool quick = false) const {
    ShardCheck check;
    check.path = fmt::format("/proc/self/fd/{}", file_.get());
    check.container = ShardContainer::tfrecord;
    check.expected = expected;
    VerifyOptions options;
    options.for_repair = for_repair;
    options.quick = quick;
    return verify_shard(check, options);
  }

 private:
  Fd file_;
};

// The records that can be saved, as they are in the file.
std::string sound_records(const ShardReport& report) {
  std::string bytes;
  for (const VerifiedSample& sample : report.kept) {
    if (!sample.damage.empty()) continue;
    std::string one(sample.placed.end - sample.placed.begin, '\0');
    pread_fully(report.archive->get(), reinterpret_cast<std::uint8_t*>(one.data()), one.size(),
                sample.placed.begin, "x");
    bytes += one;
  }
  return bytes;
}

}  // namespace

TEST_CASE("nothing is wrong with a sound TFRecord") { CHECK(lines(all(kRecords)).empty()); }

TEST_CASE("damage in a TFRecord is named with its place") {
  std::string bytes = all(kRecords);
  const std::size_t second = kRecords[0].size(), third = second + kRecords[1].size();
  bytes[second + 3] ^= 1;
  CHECK(lines(bytes) == fmt::format("offset {}: corrupted record: the checksum of its length does "
                                    "not fit; {} bytes lost, up to the next record\n",
                                    second, kRecords[1].size()));
  bytes = all(kRecords);
  bytes[second + 14] ^= 1;
  CHECK(lines(bytes) == fmt::format("offset {}: corrupted record: the checksum of its data does "
                                    "not fit; {} bytes lost, up to the next record\n",
                                    second, kRecords[1].size()));
  CHECK_THAT(lines(all(kRecords).substr(0, third + 5)),
             Contains(fmt::format("offset {}: corrupted record: cut short", third)));
  CHECK_THAT(lines(""), Contains("empty"));
  CHECK_THAT(lines("<!DOCTYPE html>" + std::string(600, ' ')),
             Contains("not a TFRecord: a web page"));
}

TEST_CASE("records that are no samples") {
  CHECK_THAT(lines(kRecords[0] + framed("\xFFrubbish")),
             Contains(fmt::format("offset {}: ", kRecords[0].size())));
  CHECK_THAT(lines(all(kRecords) + kRecords[0]),
             Contains("sample d/a: its key was at offset 0 already"));
}

TEST_CASE("records are held to the manifest's schema") {
  const auto json = nlohmann::ordered_json::parse(
      R"([{"name": "__key__", "type": "bytes"},
          {"name": "image/class/label", "type": "int64", "part": "cls"},
          {"name": "txt", "type": "bytes", "part": "txt"}])");
  const ExampleSchema schema = ExampleSchema::parse(json, "x");
  CHECK(lines(all(kRecords), &schema).empty());
  ExampleEncoder encoder;
  encoder.add_bytes("__key__", as_bytes("k"));
  encoder.add_bytes("txt", as_bytes("t"));
  std::string data;
  for (const ByteView piece : encoder.finish()) data += as_text(piece);
  CHECK_THAT(lines(all(kRecords) + framed(data), &schema),
             Contains("sample k: ") && Contains("image/class/label"));
}

TEST_CASE("every flipped bit of a TFRecord is found, and costs its record only", "[exhaustive]") {
  const std::string whole = all(kRecords);
  ShardOnDisk shard(whole);
  std::size_t missed = 0, wrong = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::vector<std::string> left;
    std::size_t end = 0;
    for (const std::string& one : kRecords) {
      end += one.size();
      if (at < end - one.size() || at >= end) left.push_back(one);
    }
    for (int bit = 0; bit < 8; ++bit) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      shard.write(bytes);
      const ShardReport report = shard.check(nullptr, /*for_repair=*/true);
      missed += report.errors == 0;
      wrong += sound_records(report) != all(left);
    }
  }
  CHECK(missed == 0);
  CHECK(wrong == 0);
}

TEST_CASE("every cut of a TFRecord is found, those between records with a manifest") {
  const std::string whole = all(kRecords);
  const ShardRecord expected{
      "x", "", kRecords.size(), whole.size(), hex_digest(Digest::Kind::sha256, as_bytes(whole)),
      ""};
  ShardOnDisk shard(whole);
  CHECK(shard.check(&expected, false).findings.empty());
  std::size_t missed = 0, wrong = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    shard.write(whole.substr(0, size));
    missed += shard.check(&expected, false).errors == 0;
    missed += shard.check(&expected, false, /*quick=*/true).errors == 0;
    std::string left;
    for (const std::string& one : kRecords) {
      if (left.size() + one.size() > size) break;
      left += one;
    }
    const ShardReport report = shard.check(nullptr, /*for_repair=*/true);
    if (size != left.size()) missed += report.errors == 0;
    wrong += sound_records(report) != left;
  }
  CHECK(missed == 0);
  CHECK(wrong == 0);
}

}  // namespace prep::verify_tfrecord_test
