#include "formats/tfrecord.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "formats/numbers_text.h"
#include "lib/core/error.h"
#include "tests/unit/temp_dir.h"

namespace prep::tfrecord_test {

using test::read_file;
using test::TempDir;
using test::write_file;
namespace fs = std::filesystem;

namespace {

const std::string kJpeg = "\xFF\xD8\xFF jpeg";

using Texts = std::vector<std::string>;
using Parts = std::vector<std::pair<std::string, std::string>>;

std::string framed(const std::string& data) {
  Crc32c crc;
  crc.update(as_bytes(data));
  std::string record(as_text(tfrecord_header(data.size())));
  return record.append(data).append(as_text(tfrecord_footer(crc)));
}

// A framed Example. A value that starts with "#" is an int64 list, with "~" a float list, of
// numbers with spaces between.
std::string record_of(const Parts& features) {
  ExampleEncoder encoder;
  for (const auto& [name, value] : features) {
    if (value.starts_with('#')) {
      encoder.add_int64(name, parse_int64s("[" + value.substr(1) + "]"));
    } else if (value.starts_with('~')) {
      encoder.add_float(name, parse_floats("[" + value.substr(1) + "]"));
    } else {
      encoder.add_bytes(name, as_bytes(value));
    }
  }
  std::string bytes;
  for (const ByteView piece : encoder.finish()) bytes += as_text(piece);
  return framed(bytes);
}

// "key part=data part=data", or "key !message" for a faulty sample.
std::string describe(const Sample& sample) {
  std::string text = sample.key;
  if (sample.fault) return text + " !" + sample.fault->what();
  for (const Part& part : sample.parts) {
    text += fmt::format(" {}={}", part.name, part.content->load().text());
  }
  return text;
}

Texts read_all(Source& source) {
  Texts texts;
  Sample sample;
  while (source.next(sample)) texts.push_back(describe(sample));
  return texts;
}

// The same from a file, a stream, and compressed: they must not differ.
Texts read_records(const std::string& bytes, Tally* left_out = nullptr) {
  const TempDir directory;
  const auto cwd = fs::current_path();
  fs::current_path(directory.path());
  write_file(directory / "x.tfrecord", bytes);
  TfRecordSource from_file({std::string("x.tfrecord")});
  const Texts texts = read_all(from_file);
  CHECK(from_file.consumed_bytes() == bytes.size());
  CHECK(from_file.expected_bytes() == bytes.size());
  TfRecordSource from_stream(std::make_unique<MemoryReader>(Bytes::take(bytes)), "x.tfrecord");
  CHECK(read_all(from_stream) == texts);
  CHECK(from_stream.left_out() == from_file.left_out());
  {
    const Fd out = open_file("x.zst", O_RDWR | O_CREAT);
    const auto writer = make_writer(out.get(), Compression::zstd, "x.zst");
    writer->write(as_bytes(bytes));
    writer->finish();
    fs::rename("x.zst", "x.tfrecord");
  }
  CHECK(looks_like_tfrecord("x.tfrecord"));
  TfRecordSource from_zstd({std::string("x.tfrecord")});
  CHECK(read_all(from_zstd) == texts);
  fs::current_path(cwd);
  if (left_out) *left_out = from_file.left_out();
  return texts;
}

std::string read_one(const Parts& features) {
  const Texts texts = read_records(record_of(features));
  REQUIRE(texts.size() == 1);
  return texts[0];
}

Sample sample_of(const std::string& key, const Parts& parts) {
  Sample sample;
  sample.key = key;
  for (const auto& [name, data] : parts) {
    sample.parts.push_back(
        {name, std::make_shared<MemoryContent>(Bytes::take(data), part_path(key, name))});
  }
  return sample;
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

Texts left_in(const TempDir& directory) {
  Texts names;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("What the sink writes comes back as the same samples") {
  const TempDir directory;
  const std::string path = directory / "x.tfrecord";
  {
    TfRecordSink sink(path);
    for (const std::string i : {"0", "1", "2"}) {
      const Sample sample =
          sample_of("n/" + i, {{"cls", i}, {"jpg", kJpeg + i}, {"json", "{}"}, {"seg.png", ""}});
      sink.check(sample);
      sink.put(sample);
    }
    sink.commit();
  }
  CHECK(left_in(directory) == Texts{"x.tfrecord"});
  Tally left_out;
  CHECK(read_records(read_file(path), &left_out) ==
        Texts{"n/0 cls=0 jpg=" + kJpeg + "0 json={} seg.png=",
              "n/1 cls=1 jpg=" + kJpeg + "1 json={} seg.png=",
              "n/2 cls=2 jpg=" + kJpeg + "2 json={} seg.png="});
  CHECK(left_out == Tally{{"feature that only describes the picture", 6}});
}

TEST_CASE("Contents are in memory, and where they can be, ranges of the file") {
  const TempDir directory;
  const std::string bytes = record_of({{"__key__", "a"}, {"cls", "#7"}, {"txt", "a text"}});
  write_file(directory / "x.tfrecord", bytes);
  TfRecordSource source({directory / "x.tfrecord"});
  Sample sample;
  REQUIRE(source.next(sample));
  REQUIRE(sample.parts.size() == 2);
  const Content& cls = *sample.parts[0].content;
  CHECK(cls.is_literal());
  CHECK_FALSE(cls.range());
  const Content& txt = *sample.parts[1].content;
  CHECK(txt.resident_bytes() == 6);
  CHECK(txt.read(2, 3).text() == "tex");
  CHECK(txt.read(9, 3).empty());
  CHECK(txt.mtime_ns() > 0);
  CHECK(txt.origin() == directory / "x.tfrecord" + ": a.txt");
  const auto range = txt.range();
  REQUIRE(range);
  CHECK(bytes.substr(range->offset, range->size) == "a text");
  std::string again(range->size, '\0');
  CHECK(pread(range->file->get(), again.data(), again.size(), static_cast<off_t>(range->offset)) ==
        6);
  CHECK(again == "a text");
  TfRecordSource stream(std::make_unique<MemoryReader>(Bytes::take(bytes)), "x");
  REQUIRE(stream.next(sample));
  CHECK_FALSE(sample.parts[1].content->range());
}

TEST_CASE("A key comes from __key__, the file name, or the number") {
  CHECK(read_one({{"__key__", "d.ir/a"}, {"txt", "x"}}) == "d.ir/a txt=x");
  CHECK(read_one({{"image/encoded", kJpeg}, {"image/filename", "n01/a.JPEG"}}) ==
        "n01/a JPEG=" + kJpeg);
  CHECK(read_one({{"image/encoded", kJpeg}, {"image/filename", "/abs/./a.jpg"}}) ==
        "abs/a jpg=" + kJpeg);
  CHECK(read_records(record_of({{"txt", "x"}}) + record_of({{"txt", "y"}})) ==
        Texts{"x-tfrecord-000000000 txt=x", "x-tfrecord-000000001 txt=y"});
  const std::string start = "x-tfrecord-000000000 !x.tfrecord: record 0 at byte 0: ";
  CHECK(
      read_one({{"__key__", "../a"}, {"txt", "x"}}).starts_with(start + "../a: a name with '..'"));
  CHECK(read_one({{"__key__", "a.b"}, {"txt", "x"}}) ==
        start + "the key 'a.b' has a dot in its last step, where parts begin");
  CHECK(read_one({{"__key__", ""}, {"txt", "x"}}).starts_with(start));
  CHECK(read_one({{"__key__", "#7"}, {"txt", "x"}}) == start + "its __key__ is not one text");
  CHECK(read_one({{"image/encoded", kJpeg}, {"image/filename", ".jpg"}}).starts_with(start));
}

TEST_CASE("The picture's part is named by its file name, its bytes, its format") {
  const auto name = [](const Parts& more, const std::string& bytes) {
    Parts features{{"__key__", "a"}, {"image/encoded", bytes}};
    features.insert(features.end(), more.begin(), more.end());
    const std::string text = read_one(features);
    return text.substr(2, text.find('=') - 2);
  };
  CHECK(name({{"image/filename", "a.odd name?"}}, kJpeg) == "odd name?");  // this sample's own
  CHECK(name({{"image/filename", "b.JPEG"}}, kJpeg) == "JPEG");
  CHECK(name({{"image/filename", "http://x.y/z.php?id=7"}}, kJpeg) == "jpg");
  CHECK(name({{"image/filename", "noext"}}, "\x89PNG\r\n\x1A\n") == "png");
  CHECK(name({{"image/format", "PNG"}}, kJpeg) == "jpg");
  CHECK(name({{"image/format", "WebP"}}, "RIFF") == "webp");
  CHECK(name({}, "unknown") == "image.encoded");
}

TEST_CASE("Other features are parts of their own names") {
  CHECK(read_one({{"__key__", "a"},
                  {"image/class/label", "#5"},
                  {"image/class/text", "cat"},
                  {"image/object/bbox/xmin", "~0.25 1"},
                  {"ids", "#1"},
                  {"none", "#"}}) ==
        "a cls=5 cls.txt=cat ids=1 image.object.bbox.xmin=[0.25,1] none=[]");
  // Without a picture, nothing only describes it.
  CHECK(read_one({{"__key__", "a"}, {"image/height", "#5"}, {"image/format", "x"}}) ==
        "a image.format=x image.height=5");
  // Large lists of numbers.
  std::string numbers = "#1", text = "[1";
  for (int i = 0; i < 2000; ++i) numbers += " 12", text += ",12";
  CHECK(read_one({{"__key__", "a"}, {"n", numbers}}) == "a n=" + text + "]");
}

TEST_CASE("Several texts are a JSON array; of other bytes only one can be a part") {
  const auto list = [](const std::string& a, const std::string& b) {
    // Feature { bytes_list { value: a, value: b } } named "t", and __key__ "k".
    const auto field = [](int number, const std::string& payload) {
      return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(payload.size())} +
             payload;
    };
    const auto entry = [&](const std::string& name, const std::string& values) {
      return field(1, field(1, name) + field(2, field(1, values)));
    };
    return framed(
        field(1, entry("__key__", field(1, "k")) + entry("t", field(1, a) + field(1, b))));
  };
  CHECK(read_records(list("a\"", "ä")) == Texts{"k t=[\"a\\\"\",\"ä\"]"});
  CHECK(read_records(list("a", "\xFF"))[0].ends_with(
      "the feature 't' holds 2 values that are no texts; a part can hold only one"));
}

TEST_CASE("A record that can be no sample is a faulty one, and the next is read") {
  const std::string sound = record_of({{"__key__", "a"}, {"txt", "x"}});
  const auto fault = [&](const std::string& record) {
    const Texts texts = read_records(record + sound);
    REQUIRE(texts.size() == 2);
    CHECK(texts[1] == "a txt=x");
    const std::string start = "x-tfrecord-000000000 !x.tfrecord: record 0 at byte 0: ";
    CHECK((texts[0].starts_with(start) || texts[0].starts_with("a !")));
    return texts[0].substr(texts[0].find("byte 0: ") + 8);
  };
  CHECK(fault(framed("no protobuf")).starts_with("not a tf.train.Example: "));
  CHECK(fault(framed("")) == "there is no feature in it that could be a part");
  CHECK(fault(record_of({{"__key__", "a"}})) == "there is no feature in it that could be a part");
  CHECK(fault(record_of({{"a/b", "1"}, {"a.b", "2"}})) == "two features would be the part 'a.b'");
  CHECK(fault(record_of({{"cls", "1"}, {"image/class/label", "#2"}})) ==
        "two features would be the part 'cls'");
  CHECK(fault(record_of({{"", "1"}})) == "the feature '' cannot be a part: it has no name");
  CHECK(fault(record_of({{std::string("\0x", 2), "1"}})).ends_with("a NUL byte in its name"));
  CHECK(fault(framed(std::string("\x12\x02\x0A\x00", 4))) ==
        "a SequenceExample, or something else that is no Example");
}

TEST_CASE("Damage ends the run, after the samples before it") {
  std::string bytes = record_of({{"__key__", "a"}, {"txt", "x"}});
  const std::size_t second = bytes.size();
  bytes += record_of({{"__key__", "b"}, {"txt", "y"}});
  bytes[second + 20] ^= 1;
  TfRecordSource source(std::make_unique<MemoryReader>(Bytes::take(bytes)), "x.tfrecord");
  Sample sample;
  REQUIRE(source.next(sample));
  const Error error = error_of([&] { source.next(sample); });
  CHECK(error.code() == Code::corrupt);
  CHECK(error.what() ==
        fmt::format("x.tfrecord: corrupted record at {}: the checksum of its data does not fit",
                    second));
}

TEST_CASE("Several files are one source, each with numbers of its own") {
  const TempDir directory;
  write_file(directory / "b.tfrecord", record_of({{"txt", "1"}}));
  write_file(directory / "a.tfrecord", record_of({{"txt", "2"}}) + record_of({{"txt", "3"}}));
  TfRecordSource source({directory / "b.tfrecord", directory / "a.tfrecord"});
  CHECK(read_all(source) == Texts{"b-tfrecord-000000000 txt=1", "a-tfrecord-000000000 txt=2",
                                  "a-tfrecord-000000001 txt=3"});
  const auto open = [&](const std::string& path) {
    return error_of([&] { TfRecordSource({directory / "a.tfrecord", path}); }).code();
  };
  CHECK(open(directory / "missing") == Code::not_found);
  CHECK(open(directory.path()) == Code::usage);
}

TEST_CASE("A sample that does not fit is a bad one, and leaves no trace") {
  const TempDir directory;
  const std::string path = directory / "x.tfrecord";
  TfRecordSink sink(path);
  const auto is_bad = [&](const Sample& sample) {
    try {
      sink.put(sample);
      return false;
    } catch (const BadSample&) {
      return true;
    }
  };
  CHECK(is_bad(sample_of("no", {{"", "x"}})));  // decides nothing
  CHECK_FALSE(is_bad(sample_of("a", {{"txt", "x"}})));
  CHECK(is_bad(sample_of("b", {{"json", "x"}})));
  CHECK_FALSE(is_bad(sample_of("c", {{"txt", "y"}})));
  sink.commit();
  TfRecordSource source({path});
  CHECK(read_all(source) == Texts{"a txt=x", "c txt=y"});
  CHECK(error_of([&] { sink.check(sample_of("d", {{"\xFF", "x"}})); }).code() == Code::name);
}

TEST_CASE("An output is complete or not there") {
  const TempDir directory;
  const std::string path = directory / "x.tfrecord.gz";
  { TfRecordSink(path).put(sample_of("a", {{"txt", "x"}})); }
  CHECK(left_in(directory).empty());
  {
    TfRecordSink sink(path);
    sink.put(sample_of("a", {{"txt", "x"}}));
    sink.abandon();
  }
  CHECK(left_in(directory).empty());
  {
    TfRecordSink sink(path);
    const Error error = error_of([&] { sink.commit(); });
    CHECK(error.code() == Code::empty);
  }
  CHECK(left_in(directory).empty());
  TfRecordSink sink(path);
  CHECK(error_of([&] { TfRecordSink other(path); }).code() == Code::io);
  sink.put(sample_of("a", {{"txt", "x"}}));
  sink.commit();
  CHECK(read_file(path).starts_with("\x1F\x8B"));
  CHECK(error_of([&] { TfRecordSink other(directory.path()); }).code() == Code::usage);
}

TEST_CASE("A stream that is abandoned is cut short for its reader, wherever that is") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Fd in(ends[0]);
  {
    TfRecordSink sink(Fd(ends[1]), "pipe");
    // More than is held back for a write at a time.
    sink.put(sample_of("a", {{"bin", std::string(40'000, 'x')}}));
    sink.put(sample_of("b", {{"bin", std::string(20'000, 'x')}}));
    sink.abandon();
  }
  TfRecordSource source(std::move(in), "pipe");
  Sample sample;
  const Error error = error_of([&] {
    while (source.next(sample)) {
    }
  });
  CHECK((error.code() == Code::truncated || error.code() == Code::empty));
}

TEST_CASE("A file that is no TFRecord does not look like one") {
  const TempDir directory;
  write_file(directory / "yes", record_of({{"txt", "x"}}));
  write_file(directory / "no", "something else, of some length");
  write_file(directory / "short", "x");
  CHECK(looks_like_tfrecord(directory / "yes"));
  CHECK_FALSE(looks_like_tfrecord(directory / "no"));
  CHECK_FALSE(looks_like_tfrecord(directory / "short"));
  CHECK_FALSE(looks_like_tfrecord(directory / "missing"));
}

}  // namespace prep::tfrecord_test
