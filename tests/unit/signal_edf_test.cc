#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "lib/core/error.h"
#include "lib/signal/edf.h"
#include "lib/signal/edf_annotations.h"
#include "lib/signal/edf_header.h"
#include "lib/signal/units.h"
#include "tests/unit/recordings.h"

namespace prep::signal_edf_test {

using namespace prep::signal;
using Doubles = std::vector<double>;
using std::string_literals::operator""s;

namespace {

std::unique_ptr<Recording> open(const std::string& bytes, const OpenOptions& options = {}) {
  return open_edf(in_memory(bytes), options);
}

std::unique_ptr<Recording> open(const EdfFile& file, const OpenOptions& options = {}) {
  return open(encode(file), options);
}

Code code_of(const std::string& bytes) {
  try {
    open(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

EdfField counting(const std::string& label = "Fp1", int samples = 4) {
  EdfField signal;
  signal.label = label;
  signal.samples = samples;
  signal.digital = [samples](int record, int i) { return record * samples + i; };
  return signal;
}

EdfField annotations(std::vector<std::string> lists) {
  EdfField signal;
  signal.label = "EDF Annotations";
  signal.unit = "";
  signal.samples = 32;
  signal.annotations = std::move(lists);
  return signal;
}

EdfFile with_lists(std::vector<std::string> lists) {
  EdfFile file;
  file.records = static_cast<int>(lists.size());
  file.signals = {counting(), annotations(std::move(lists))};
  return file;
}

}  // namespace

TEST_CASE("stored numbers become microvolts") {
  EdfFile file;
  EdfField signal;
  signal.digital = [](int record, int i) { return record == 0 ? i : -32768 + i; };
  file.signals = {signal};
  const auto recording = open(file);
  const Doubles values = read_channel(*recording, 0);
  const Doubles expected = {0, .1, .2, .3, -3276.8, -3276.7, -3276.6, -3276.5};
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == Approx(expected[i]).margin(1e-9));
  const RecordingInfo& info = recording->info();
  CHECK(info.channels[0].unit == "\xc2\xb5V");
  CHECK(info.channels[0].rate == 4);
  CHECK(info.start == "2020-02-01T03:04:05");
  CHECK(info.warnings.empty());
}

TEST_CASE("millivolts are scaled, whatever their range is written like") {
  EdfFile file;
  EdfField signal = counting();
  signal.unit = "mV";
  signal.physical_min = "-32,768";
  signal.physical_max = "+32.767\0"s;
  file.signals = {signal};
  CHECK(read_channel(*open(file), 0)[5] == Approx(5.0));
}

TEST_CASE("24 bits have a sign") {
  EdfFile file;
  file.bdf = true;
  EdfField signal;
  signal.physical_min = signal.digital_min = "-8388608";
  signal.physical_max = signal.digital_max = "8388607";
  signal.digital = [](int record, int i) { return (record ? -1 : 1) * (8388600 + i); };
  file.signals = {signal};
  const auto recording = open(file);
  CHECK(read_channel(*recording, 0) ==
        Doubles{8388600, 8388601, 8388602, 8388603, -8388600, -8388601, -8388602, -8388603});
  CHECK(recording->info().format == "BDF");
}

TEST_CASE("any range of any channels in one pass") {
  EdfFile file;
  file.records = 50;
  file.signals = {counting("a", 7), counting("b", 1), counting("c", 40)};
  for (EdfField& signal : file.signals) {
    signal.physical_min = signal.digital_min;
    signal.physical_max = signal.digital_max;
  }
  const auto recording = open(file);
  std::vector<float> a(100), b(3);
  Doubles c(2000);
  const ReadRequest<float> floats[] = {{0, 13, a}, {1, 47, b}};
  recording->read(std::span<const ReadRequest<float>>(floats));
  recording->read(2, 0, std::span<double>(c));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == static_cast<float>(13 + i));
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(b[i] == static_cast<float>(47 + i));
  for (std::size_t i = 0; i < c.size(); ++i) CHECK(c[i] == static_cast<double>(i));
  CHECK_THROWS_AS(recording->read(1, 48, std::span<float>(b)), Error);
}

TEST_CASE("several threads read at once") {
  EdfFile file;
  file.records = 20;
  file.signals.clear();
  for (int i = 0; i < 8; ++i) file.signals.push_back(counting("E" + std::to_string(i), 2000));
  const auto recording = open(file);
  const Doubles expected = read_channel(*recording, 0);
  std::atomic<int> same = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { same += read_channel(*recording, i) == expected ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(same == 8);
}

TEST_CASE("records are counted by the file's size") {
  EdfFile file;
  file.records_said = "-1";
  const auto unknown = open(file);
  CHECK(unknown->info().channels[0].samples == 8);
  CHECK(warns(*unknown, "does not say how many records"));
  file.records_said = "";
  const std::string bytes = encode(file);
  const auto cut = open(bytes.substr(0, bytes.size() - 3));
  CHECK(cut->info().channels[0].samples == 4);
  CHECK(warns(*cut, "2 records; it holds 1"));
  CHECK(warns(*cut, "5 bytes"));
  file.header_said = "9999";
  CHECK(read_channel(*open(file), 0).size() == 8);
}

TEST_CASE("what can't be read is refused, with the reason") {
  EdfFile file;
  const std::string bytes = encode(file);
  CHECK(code_of("") == Code::empty);
  CHECK(code_of(bytes.substr(0, 100)) == Code::truncated);
  CHECK(code_of(bytes.substr(0, 300)) == Code::truncated);
  CHECK(code_of(bytes.substr(0, 512)) == Code::empty);
  CHECK(code_of(bytes.substr(0, 515)) == Code::truncated);
  for (const char* duration : {"0", "-1", "x", "nan", "1e-300"}) {
    file.duration = duration;
    CHECK(code_of(encode(file)) == Code::corrupt);
  }
  file.duration = "1";
  file.signals[0].samples = 0;
  CHECK(code_of(encode(file)) == Code::corrupt);
  EdfFile notes;
  notes.duration = "0";
  notes.signals = {annotations({"+0\x14\x14\0"s, "+1\x14\x14\0"s})};
  CHECK(code_of(encode(notes)) == Code::unsupported);
}

TEST_CASE("a file that went through a text editor is recognised") {
  EdfFile file;
  const std::string bytes = encode(file);
  const std::string header = bytes.substr(0, 512), lost = "\xef\xbf\xbd";
  CHECK_THROWS_WITH(open(header + "a" + lost + "b" + lost + lost + "cde"),
                    Catch::Contains("U+FFFD"));
  CHECK(looks_like_bdf(as_bytes(lost + "BIOSEMI")));
  CHECK_THROWS_WITH(open(lost + "BIOSEMI" + std::string(400, ' ')), Catch::Contains("U+FFFD"));
}

TEST_CASE("a signal without a range is a fault of its own only") {
  EdfFile file;
  file.signals = {counting(), counting("-"), counting("x")};
  file.signals[1].digital_min = file.signals[1].digital_max = "0";
  file.signals[2].physical_min = "?";
  const auto recording = open(file);
  CHECK(read_channel(*recording, 0)[7] == Approx(0.7));
  CHECK(recording->info().channels[1].fault.find("range is empty") != std::string::npos);
  std::vector<float> out(1);
  CHECK_THROWS_WITH(recording->read(1, 0, std::span<float>(out)), Catch::Contains("is empty"));
  CHECK_THROWS_WITH(recording->read(2, 0, std::span<float>(out)), Catch::Contains("not numbers"));
}

TEST_CASE("units that the file leaves open are the user's to say") {
  EdfFile file;
  file.signals = {counting("a"), counting("b"), counting("SpO2")};
  file.signals[0].unit = "";
  file.signals[1].unit = ".V";
  file.signals[2].unit = "%";
  const std::size_t all[] = {0, 1, 2};
  const auto as_is = open(file);
  CHECK(read_channel(*as_is, 0)[7] == Approx(0.7));
  CHECK(unit_warning(as_is->info(), all) ==
        "the unit is not known of a, b ('.V'): the values are as the file has them (--unit says "
        "what they are)");
  const auto told = open(file, {"mV", {}, {}, {}, {}});
  CHECK(read_channel(*told, 0)[7] == Approx(700));
  CHECK(read_channel(*told, 2)[7] == Approx(0.7));
  CHECK(unit_warning(told->info(), all).empty());
}

TEST_CASE("each channel has its own rate; triggers and annotations are no signals") {
  EdfFile file = with_lists({"+0\x14\x14\0"s, "+1\x14\x14\0"s});
  file.signals.push_back(counting("slow", 1));
  file.signals.push_back(counting("Status", 4));
  const auto recording = open(file);
  const auto& channels = recording->info().channels;
  CHECK(channels[0].rate == 4);
  CHECK(channels[1].kind == ChannelKind::annotations);
  CHECK(channels[2].rate == 1);
  CHECK(channels[3].kind == ChannelKind::status);
}

TEST_CASE("gaps are where the records' times say, not the label") {
  const std::vector<std::string> lists = {"+0\x14\x14\0"s, "+1\x14\x14\0"s, "+10\x14\x14\0"s,
                                          "+11\x14\x14\0+11.5\x15"
                                          "0.25\x14spike\x14\0"s};
  for (const char* label : {"EDF+C", "EDF+D", ""}) {
    EdfFile file = with_lists(lists);
    file.reserved = label;
    const auto recording = open(file);
    const RecordingInfo& info = recording->info();
    REQUIRE(info.segments.size() == 2);
    CHECK(info.segments[1].start == 10);
    CHECK(info.range(0, 1).first == 8);
    CHECK(info.range(0, 1).count == 8);
    REQUIRE(info.annotations.size() == 1);
    CHECK(info.annotations[0].onset == 11.5);
    CHECK(info.annotations[0].duration == 0.25);
    CHECK(info.annotations[0].text == "spike");
    CHECK(warns(*recording, "gaps between them") == (info.format != "EDF+D"));
  }
  CHECK(open(with_lists({"+0.5\x14\x14\0"s, "+1.5\x14\x14\0"s}))->info().segments[0].start == 0.5);
}

TEST_CASE("times that are rounded are no gaps, a lost sample is one") {
  EdfFile file = with_lists({"+0\x14\x14\0"s, "+1.1\x14\x14\0"s, "+2.1\x14\x14\0"s});
  CHECK(open(file)->info().segments.size() == 1);
  file = with_lists({"+0\x14\x14\0"s, "+1.25\x14\x14\0"s, "+2.25\x14\x14\0"s});
  CHECK(open(file)->info().segments.size() == 2);
  file = with_lists({"+5\x14\x14\0"s, "+1\x14\x14\0"s});
  CHECK(warns(*open(file), "backwards"));
  file = with_lists({"+5\x14\x14\0"s, ""s, "?"s});
  const auto untimed = open(file);
  CHECK(untimed->info().segments.size() == 1);
  CHECK(warns(*untimed, "carry no time"));
}

TEST_CASE("annotation lists") {
  const auto read = [](const std::string& bytes) {
    std::string all;
    TalReader reader(as_bytes(bytes));
    while (const auto tal = reader.next()) {
      all += fmt::format("{}/{}:", tal->onset, tal->duration.value_or(-1));
      for (const auto text : tal->texts) all += std::string(text) + ",";
      all += " ";
    }
    return all + (reader.malformed() ? "!" : "");
  };
  CHECK(read("+1\x14\x14\0+2.5\x15"
             "3\x14"
             "a\x14"
             "b\x14\0\0\0"s) == "1/-1: 2.5/3:a,b, ");
  CHECK(read("-0.5\x14x\x14\0"s) == "-0.5/-1:x, ");
  // The NUL between two lists is missing.
  CHECK(read("+1\x14\x14+2\x14"
             "a\x14\0"s) == "1/-1: 2/-1:a, !");
  CHECK(read("+1\x14"
             "a\x14+2\x15"
             "1\x14"
             "b\x14\0"s) == "1/-1:a, 2/1:b, !");
  // A text that looks like a number is one.
  CHECK(read("+1\x14+5\x14\0"s) == "1/-1:+5, ");
  CHECK(read("+1\x14"
             "cut"s) == "1/-1: !");
  CHECK(read("1\x14"
             "a\x14\0nonsense\0+3\x14"
             "b\x14"s) == "3/-1:b, !");
  CHECK(read("+1e999\x14"
             "a\x14\0"s) == "!");
}

TEST_CASE("annotations that are not UTF-8 are Latin-1") {
  const auto recording = open(with_lists({"+0\x14\x14\0+0.5\x14\xe9t\xe9\x14\0"s}));
  CHECK(recording->info().annotations[0].text == "\xc3\xa9t\xc3\xa9");
  CHECK(warns(*recording, "Latin-1"));
}

TEST_CASE("dates") {
  EdfFile file;
  const auto start = [&](const char* date, const char* time, const char* id = "") {
    file.date = date;
    file.time = time;
    file.recording = id;
    return open(file)->info().start.value_or("none");
  };
  CHECK(start("31.12.85", "23.59.59") == "1985-12-31T23:59:59");
  CHECK(start("29.02.84", "00:00:00") == "2084-02-29T00:00:00");
  CHECK(start("01/02/03", "04-05-06") == "2003-02-01T04:05:06");
  CHECK(start("01.02.84", "04.05.06", "Startdate 01-FEB-1984 X X X") == "1984-02-01T04:05:06");
  CHECK(start("30.02.20", "00.00.00") == "none");
  CHECK(start("00.00.00", "00.00.00") == "none");
  CHECK(start("01.01.yy", "00.00.00") == "none");
  CHECK(start("01.01.20", "24.00.00") == "none");
}

}  // namespace prep::signal_edf_test
