#include <catch2/catch.hpp>
#include <cmath>

#include "lib/core/error.h"
#include "lib/signal/csv.h"
#include "lib/signal/csv_table.h"
#include "tests/unit/recordings.h"

namespace prep::signal_csv_test {

using namespace prep::signal;
using Doubles = std::vector<double>;

namespace {

OpenOptions at(double rate) {
  OpenOptions options;
  options.rate = rate;
  return options;
}

std::unique_ptr<Recording> open(const std::string& text, const OpenOptions& options = {}) {
  return open_csv(in_memory(text), options);
}

std::string message_of(const std::string& text, const OpenOptions& options = {}) {
  try {
    open(text, options);
  } catch (const Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

bool is_csv(const std::string& text, bool whole = true) {
  return looks_like_csv(as_bytes(text), whole);
}

// Rows "0.000000,0", "0.003906,1", … without a header.
std::string ramp(int rows, double step) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += fmt::format("{:.6f},{}\n", i * step, i % 5);
  return text;
}

}  // namespace

TEST_CASE("a time column gives the rate") {
  const auto recording = open("time,Fp1,Fp2\n0,1,2\n0.25,3,4\n0.5,5,6\n");
  const RecordingInfo& info = recording->info();
  REQUIRE(info.channels.size() == 2);
  CHECK(info.channels[1].name == "Fp2");
  CHECK(info.channels[0].rate == 4);
  CHECK(read_channel(*recording, 0) == Doubles{1, 3, 5});
  CHECK(read_channel(*recording, 1) == Doubles{2, 4, 6});
  CHECK(open("a,Time (ms)\n1,0\n2,2\n3,4\n")->info().channels[0].rate == 500);
}

TEST_CASE("rounded times give the rate that was meant") {
  std::string text = "time,x\n";
  for (int i = 0; i < 2000; ++i) text += fmt::format("{:.3f},{}\n", i / 256.0, i);
  const auto recording = open(text);
  CHECK(recording->info().channels[0].rate == 256);
  CHECK(recording->info().segments.size() == 1);
}

TEST_CASE("a jump of the time starts a segment") {
  const auto recording = open("t,x\n1,1\n1.5,2\n2,3\n9,4\n9.5,5\n10,6\n");
  const auto& segments = recording->info().segments;
  REQUIRE(segments.size() == 2);
  CHECK(segments[0].start == 1);
  CHECK(segments[1].start == 9);
  CHECK(segments[1].first_record == 3);
}

TEST_CASE("separators, decimal commas, quotes and line ends") {
  CHECK(read_channel(*open("a;b\r\n1,5;2\r\n-3,25;4\r\n", at(1)), 0) == Doubles{1.5, -3.25});
  CHECK(read_channel(*open("a\tb\n1\t2\n", at(1)), 1) == Doubles{2});
  const auto quoted = open("\"a,\"\"b\"\"\",\"c\"\n\"1\",2\n", at(1));
  CHECK(quoted->info().channels[0].label == "a,\"b\"");
  CHECK(read_channel(*quoted, 0) == Doubles{1});
  CHECK(read_channel(*open("# made\n% by\n\n\n1,2\n3,4", at(1)), 1) == Doubles{2, 4});
  CHECK(read_channel(*open("\xef\xbb\xbf"
                           "a,b\n1,2\n\n\n",
                           at(1)),
                     0) == Doubles{1});
}

TEST_CASE("nothing is NaN") {
  const Doubles values = read_channel(*open("a,b\n,1\nNaN,2\nna,3\n NULL ,4\n7,5\n", at(1)), 0);
  REQUIRE(values.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::isnan(values[i]));
  CHECK(values[4] == 7);
}

TEST_CASE("faults are named with their line") {
  CHECK(message_of("a,b\n1,2\n3\n", at(1)) == "corrupt: line 3 has 1 cells where the first has 2");
  CHECK(message_of("a,b\n1,2\n3,x\n", at(1)) == "corrupt: line 3, column 2: 'x' is not a number");
  CHECK(message_of("a,b\n1,2\n3,1.2.3\n", at(1)) ==
        "corrupt: line 3, column 2: '1.2.3' is not a number");
  CHECK(message_of("a,b\n1,2\n3,inf\n", at(1)) ==
        "corrupt: line 3, column 2: 'inf' is not a number");
  CHECK(message_of("a,b\n1,2\n\n3,4\n", at(1)) == "corrupt: line 3 is blank");
  CHECK(message_of("a,b\n1,2\n\"3,4\n", at(1)) == "corrupt: line 3: a quote is not closed");
  CHECK(message_of("a,b\n1,2\n\"3\"x,4\n", at(1)) == "corrupt: line 3: text follows a quote");
  CHECK(message_of("t,b\n1,2\n2,3\n1.5,4\n").starts_with("corrupt: line 4: its time 1.5"));
  CHECK(message_of("t,b\n1,2\n,3\n") == "corrupt: line 3 has no time");
  CHECK(message_of("", at(1)).starts_with("empty"));
  CHECK(message_of("a,b\n", at(1)).starts_with("empty"));
  CHECK(message_of("time\n1\n2\n").starts_with("corrupt: it has a time column, but no channels"));
  CHECK(message_of("a,b\n1,2\n").starts_with("usage: it has no time column"));
  CHECK(message_of("t,b\n1,2\n2,2\n", at(2)).starts_with("usage: its time column says 1 Hz"));
}

TEST_CASE("a first column without a name that rises is the time, or counts rows") {
  const auto time = open(ramp(40, 1 / 256.0));
  CHECK(time->info().channels.size() == 1);
  CHECK(time->info().channels[0].rate == 256);
  CHECK(warns(*time, "taken for the time"));
  CHECK(read_channel(*time, 0)[7] == 2);
  std::string counted = ",Fp1\n";
  for (int i = 0; i < 40; ++i) counted += fmt::format("{},{}\n", i, -i);
  CHECK(message_of(counted).starts_with("usage"));
  const auto index = open(counted, at(100));
  CHECK(index->info().channels.size() == 1);
  CHECK(index->info().channels[0].name == "Fp1");
  CHECK(warns(*index, "counts rows"));
  // Too few rows to tell.
  CHECK(open(ramp(20, 1), at(100))->info().channels.size() == 2);
  OpenOptions none = at(100);
  none.time_column = OpenOptions::TimeColumn::none;
  CHECK(open(ramp(40, 1), none)->info().channels.size() == 2);
}

TEST_CASE("names carry units") {
  const auto recording = open("Fp1 (mV),Fp2 [uV],Fp3 (left)\n1,1,1\n", at(1));
  CHECK(recording->info().channels[0].label == "Fp1");
  CHECK(read_channel(*recording, 0) == Doubles{1000});
  CHECK(read_channel(*recording, 1) == Doubles{1});
  CHECK(recording->info().channels[2].label == "Fp3 (left)");
  CHECK_FALSE(recording->info().channels[2].unit_known);
}

TEST_CASE("lines that span pieces") {
  std::string text = "a,b\n";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("{},{}\n", i, -i);
  OpenOptions none = at(1);
  none.time_column = OpenOptions::TimeColumn::none;
  const Doubles values = read_channel(*open(text, none), 0);
  REQUIRE(values.size() == 100'000);
  for (std::size_t i = 0; i < values.size(); ++i) REQUIRE(values[i] == static_cast<double>(i));
}

TEST_CASE("what is a table of numbers, and what is none") {
  CHECK(is_csv("a,b\n1,2\n3,4\n"));
  CHECK(is_csv("1;2\n3,5;4\n"));
  CHECK(is_csv("1,2\n3,4\n5,6", false));
  CHECK_FALSE(is_csv("1,2\n3,4", false));  // the second may go on
  CHECK_FALSE(is_csv("3\n"));
  CHECK_FALSE(is_csv("1,2\n"));
  CHECK_FALSE(is_csv("A cat, sitting.\nOn a mat, black.\n"));
  CHECK_FALSE(is_csv("{\"a\": 1,\n\"b\": 2}\n"));
  CHECK_FALSE(is_csv(std::string("1,2\n3,4\n\0", 9)));
  CHECK_FALSE(is_csv("1,2\n3,4\n5\n"));
  CHECK_FALSE(is_csv(""));
}

}  // namespace prep::signal_csv_test
