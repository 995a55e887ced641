#include "formats/tfrecord_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "formats/tar_header.h"
#include "formats/tfrecord_writer.h"
#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::tfrecord_reader_test {

using test::TempDir;

namespace {

using Texts = std::vector<std::string>;

std::string hex(ByteView bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string framed(const std::string& data) {
  Crc32c crc;
  crc.update(as_bytes(data));
  std::string record(as_text(tfrecord_header(data.size())));
  return record.append(data).append(as_text(tfrecord_footer(crc)));
}

std::string all_framed(const Texts& records) {
  std::string bytes;
  for (const std::string& data : records) bytes += framed(data);
  return bytes;
}

std::shared_ptr<const Fd> memory_file(const std::string& bytes) {
  auto file = std::make_shared<const Fd>(memfd_create("test", MFD_CLOEXEC));
  write_fully(file->get(), as_bytes(bytes), "test");
  return file;
}

TfRecordReader stream_reader(const std::string& bytes) {
  return {std::make_unique<MemoryReader>(Bytes::take(bytes)), "x.tfrecord"};
}
TfRecordReader file_reader(const std::string& bytes) {
  return {memory_file(bytes), "x.tfrecord", 0, bytes.size()};
}

// The records' data, and "!message" for each that is damaged.
Texts walk(TfRecordReader reader) {
  Texts found;
  TfRecord record;
  for (;;) {
    try {
      if (!reader.next(record)) return found;
      found.emplace_back(record.data.text());
      CHECK(record.length == record.data.size());
      CHECK(record.end() == reader.position());
    } catch (const Error& error) {
      found.push_back(std::string("!") + error.what());
      if (!reader.resync()) return found;
    }
  }
}

// From a file and from a stream, which must not differ.
Texts walk(const std::string& bytes) {
  Texts found = walk(file_reader(bytes));
  CHECK(walk(stream_reader(bytes)) == found);
  return found;
}

Texts sound(const Texts& found) {
  Texts texts;
  for (const std::string& text : found) {
    if (!text.starts_with('!')) texts.push_back(text);
  }
  return texts;
}

template <typename F>
Error error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return Error(Code::internal, "");
}

// Of the first record, from a file and from a stream.
Error first_error(const std::string& bytes) {
  const auto first = [](TfRecordReader reader) {
    TfRecord record;
    return error_of([&] { reader.next(record); });
  };
  const Error error = first(file_reader(bytes));
  const Error streamed = first(stream_reader(bytes));
  CHECK(std::string(streamed.what()) == error.what());
  CHECK(streamed.code() == error.code());
  return error;
}

const Texts kRecords{"first", "", "the third record", std::string(300, 'x'), "last"};

// Where each record begins, and the end.
std::vector<std::size_t> boundaries(const Texts& records) {
  std::vector<std::size_t> offsets{0};
  for (const std::string& data : records) {
    offsets.push_back(offsets.back() + data.size() + kTfRecordOverhead);
  }
  return offsets;
}

Texts without(Texts texts, std::size_t index) {
  texts.erase(texts.begin() + static_cast<std::ptrdiff_t>(index));
  return texts;
}

}  // namespace

TEST_CASE("The framing is TensorFlow's, byte for byte") {
  CHECK(hex(as_bytes(framed(""))) ==
        "0000000000000000"
        "29039807"
        "d8ea82a2");
  CHECK(hex(as_bytes(framed("abc"))) ==
        "0300000000000000"
        "b099490e"
        "616263"
        "6e57f121");
  // RFC 3720, B.4.
  Crc32c crc;
  crc.update(as_bytes(std::string(16, '\0')));
  crc.update(as_bytes(std::string(16, '\0')));
  CHECK(crc.value() == 0x8A9136AA);
  Crc32c check;
  check.update(as_bytes("1234"));
  check.update(as_bytes("56789"));
  CHECK(check.value() == 0xE3069283);
}

TEST_CASE("Records come with their places") {
  const std::string bytes = all_framed(kRecords);
  CHECK(walk(bytes) == kRecords);
  TfRecordReader reader = file_reader(bytes);
  TfRecord record;
  for (std::size_t i = 0; i < kRecords.size(); ++i) {
    REQUIRE(reader.next(record));
    CHECK(record.offset == boundaries(kRecords)[i]);
    CHECK(bytes.substr(record.data_offset(), record.length) == kRecords[i]);
    CHECK(record.end() == boundaries(kRecords)[i + 1]);
  }
  CHECK_FALSE(reader.next(record));
  CHECK(reader.consumed() == bytes.size());
}

TEST_CASE("A part of a file can be read") {
  const auto offsets = boundaries(kRecords);
  TfRecordReader reader(memory_file(all_framed(kRecords)), "x", offsets[1], offsets[3]);
  CHECK(walk(std::move(reader)) == Texts{"", "the third record"});
}

TEST_CASE("Skipping gives the same places, and in a file does not read the data") {
  std::string bytes = all_framed(kRecords) + framed(std::string(100'000, 'y')) + framed("end");
  bytes[15] ^= 1;  // in the first record's data
  TfRecordReader reader = file_reader(bytes);
  TfRecord record;
  std::vector<std::uint64_t> offsets;
  while (reader.skip(record)) {
    offsets.push_back(record.offset);
    CHECK(record.data.empty());
  }
  CHECK(offsets == std::vector<std::uint64_t>{0, 21, 37, 69, 385, 405, 100'421});
  TfRecordReader stream = stream_reader(all_framed(kRecords));
  std::size_t count = 0;
  while (stream.skip(record)) ++count;
  CHECK(count == kRecords.size());
}

TEST_CASE("Every cut is found but those between two records") {
  const std::string bytes = all_framed(kRecords);
  const auto offsets = boundaries(kRecords);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const Texts found = walk(bytes.substr(0, size));
    std::size_t whole = 0;
    while (offsets[whole + 1] <= size) ++whole;
    CHECK(sound(found) == Texts(kRecords.begin(), kRecords.begin() + std::ptrdiff_t(whole)));
    CHECK((found.size() > whole) == (offsets[whole] != size));
    TfRecordReader quick = file_reader(bytes.substr(0, size));
    TfRecord record;
    const auto skip_all = [&] {
      while (quick.skip(record)) {
      }
    };
    if (offsets[whole] == size) {
      skip_all();
    } else {
      CHECK(error_of(skip_all).code() == Code::truncated);
    }
  }
}

TEST_CASE("What a cut lies in is said") {
  const std::string bytes = all_framed({"first", "second"});
  const auto message = [&](std::size_t size) { return walk(bytes.substr(0, size)).back(); };
  const std::string start =
      "!x.tfrecord: corrupted record at 21: cut short: the file ends inside its ";
  CHECK(message(26) == start + "header (5 of 12 bytes)");
  CHECK(message(35) == start + "data (2 of 6 bytes)");
  CHECK(message(42) == start + "checksum (3 of 4 bytes)");
}

TEST_CASE("Every flipped bit is found, and costs no other record", "[exhaustive]") {
  const std::string bytes = all_framed(kRecords);
  const auto offsets = boundaries(kRecords);
  for (std::size_t record = 0; record < kRecords.size(); ++record) {
    for (std::size_t at = offsets[record]; at < offsets[record + 1]; ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
        const Texts found = walk(damaged);
        CHECK(found.size() == kRecords.size());
        CHECK(sound(found) == without(kRecords, record));
        CHECK(found[record].starts_with(
            fmt::format("!x.tfrecord: corrupted record at {}: the checksum of its {} does not fit",
                        offsets[record], at < offsets[record] + 12 ? "length" : "data")));
      }
    }
  }
}

TEST_CASE("Behind a length that is wrong, the next record is found inside the data") {
  // Five bytes were lost inside the first record, so that it reaches into the second.
  std::string bytes = all_framed(kRecords);
  bytes.erase(14, 5);
  CHECK(sound(walk(bytes)) == without(kRecords, 0));
  // Bytes were put in.
  bytes = all_framed(kRecords);
  bytes.insert(40, "surplus");
  CHECK(sound(walk(bytes)) == without(kRecords, 2));
  // A file that was cut in its last record, and another one behind it.
  const std::string cut = all_framed({"a", std::string(1000, 'b')}).substr(0, 200);
  CHECK(sound(walk(cut + all_framed(kRecords))) == [] {
    Texts all = kRecords;
    all.insert(all.begin(), "a");
    return all;
  }());
}

TEST_CASE("A stretch of zeros, or of anything else, costs the records that it touches") {
  for (const char filler : {'\0', '\xFF', 'a'}) {
    std::string bytes = all_framed(kRecords);
    bytes.replace(30, 50, 50, filler);  // the end of the second to the beginning of the fourth
    const Texts found = walk(bytes);
    CHECK(sound(found) == Texts{"first", "last"});
    CHECK(found.size() < 5);
  }
}

TEST_CASE("Records inside a damaged one are not taken for records where its length is right") {
  std::string bytes = all_framed({"before", all_framed({"inner", "inner too"}), "behind"});
  bytes[40] ^= 4;
  CHECK(sound(walk(bytes)) == Texts{"before", "behind"});
}

TEST_CASE("A length is not believed before its bytes are there") {
  const std::string huge(as_text(tfrecord_header(kMaxTfRecord)));
  const Error cut = first_error(huge + "abc");
  CHECK(cut.code() == Code::truncated);
  CHECK(std::string(cut.what()).ends_with("data (3 of 2147483647 bytes)"));
  const Error limit = first_error(std::string(as_text(tfrecord_header(kMaxTfRecord + 1))) + "abc");
  CHECK(limit.code() == Code::limit);
  CHECK(first_error(std::string(as_text(tfrecord_header(UINT64_MAX)))).code() == Code::limit);
  CHECK(sound(walk(std::string(as_text(tfrecord_header(UINT64_MAX - 3))) + all_framed(kRecords))) ==
        kRecords);
}

TEST_CASE("A file of headers that each claim half of it takes no quadratic time") {
  constexpr std::size_t kHeaders = 200'000;
  std::string bytes;
  for (std::size_t i = 0; i < kHeaders; ++i) {
    bytes.append(as_text(tfrecord_header(kHeaders * kTfRecordHeader / 2)));
  }
  const Texts found = walk(file_reader(bytes));
  CHECK(sound(found).empty());
  CHECK(found.size() < 100);
  CHECK(walk(stream_reader(bytes)).size() < 100);
}

TEST_CASE("Large records come through a stream whole") {
  std::string large(40 << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  const std::string bytes = all_framed({"a", large, "b"});
  const Texts found = walk(bytes);
  REQUIRE(found.size() == 3);
  CHECK(found[1] == large);
  CHECK(found[2] == "b");
}

TEST_CASE("What is no TFRecord is called by its name") {
  const auto message = [](const std::string& bytes) {
    const Error error = first_error(bytes);
    CHECK(error.code() == Code::unsupported);
    return std::string(error.what());
  };
  CHECK(message("\x1F\x8B\x08 compressed twice") ==
        "x.tfrecord: not a TFRecord: gzip data, once more inside; decompress it first");
  CHECK(message("version https://git-lfs.github.com/spec/v1\n")
            .starts_with("x.tfrecord: not a TFRecord: a Git LFS pointer"));
  CHECK(message("\n<!DOCTYPE html>").starts_with("x.tfrecord: not a TFRecord: a web page (HTML)"));
  std::string tar;
  append_tar_header("a.jpg", 0, tar);
  CHECK(message(tar) == "x.tfrecord: not a TFRecord: a tar; name it with tar: before its path");
  CHECK(first_error("").code() == Code::empty);
  CHECK(first_error("what is this, with more than twelve bytes").code() == Code::corrupt);
  CHECK(first_error("short").code() == Code::truncated);
}

TEST_CASE("A file that shrinks while it is read is not taken for one that ends") {
  const std::string bytes = framed(std::string(100'000, 'x')) + framed("b");
  const auto file = memory_file(bytes);
  TfRecordReader reader(file, "x.tfrecord", 0, bytes.size());
  REQUIRE(ftruncate(file->get(), 0) == 0);
  TfRecord record;
  CHECK(error_of([&] { reader.next(record); }).code() == Code::truncated);
}

TEST_CASE("The writer gives places, and ends the last record only when told to") {
  const TempDir directory;
  const std::string path = directory / "x.tfrecord";
  const Fd out = open_file(path, O_RDWR | O_CREAT);
  const auto bytes = make_writer(out.get(), Compression::none, path);
  TfRecordWriter writer(*bytes);
  const std::vector<ByteView> pieces{as_bytes("fi"), as_bytes(""), as_bytes("rst")};
  CHECK(writer.add(pieces).offset == 0);
  const TfRecordWriter::Place place = writer.add({});
  CHECK(place.offset == 21);
  CHECK(place.size == 16);
  CHECK(writer.offset() == 37);
  bytes->finish();
  CHECK(test::read_file(path) == all_framed({"first", ""}).substr(0, 33));
  CHECK(walk(test::read_file(path)).back().ends_with("its checksum (0 of 4 bytes)"));
  writer.finish();
  writer.finish();
  bytes->finish();
  CHECK(test::read_file(path) == all_framed({"first", ""}));
}

}  // namespace prep::tfrecord_reader_test
