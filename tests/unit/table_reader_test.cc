#include "formats/table_reader.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"

namespace prep::table_reader_test {

namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;
using Type = Cell::Type;

// Gives a few bytes at a time, so that every row is cut somewhere.
class Dripping final : public ByteReader {
 public:
  Dripping(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t count = std::min({step_, out.size(), text_.size() - position_});
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(position_), count, out.begin());
    position_ += count;
    return count;
  }
  std::uint64_t consumed() const override { return position_; }

 private:
  std::string text_;
  std::size_t step_, position_ = 0;
};

TableReader reader_of(const std::string& text, TableFormat format, std::size_t step = 1 << 20) {
  return TableReader(std::make_unique<Dripping>(text, step), "t.x", format);
}

Rows read_all(TableReader& reader, std::vector<std::uint64_t>* lines = nullptr) {
  Rows rows;
  TableRow row;
  while (reader.next(row)) {
    Row& texts = rows.emplace_back();
    for (const Cell& cell : row.cells) texts.push_back(cell.text());
    if (lines) lines->push_back(row.line);
  }
  CHECK_FALSE(reader.next(row));
  return rows;
}

Rows read_all(const std::string& text, TableFormat format) {
  TableReader whole = reader_of(text, format);
  const Rows rows = read_all(whole);
  CHECK(whole.consumed() == text.size());
  for (const std::size_t step : {1, 3}) {
    TableReader cut = reader_of(text, format, step);
    CHECK(read_all(cut) == rows);
  }
  return rows;
}

Rows csv(const std::string& text) { return read_all(text, TableFormat::csv); }
Rows tsv(const std::string& text) { return read_all(text, TableFormat::tsv); }

std::string failure_of(const std::string& text, TableFormat format, Code code) {
  try {
    TableReader reader = reader_of(text, format);
    read_all(reader);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "no error";
}

std::vector<std::uint64_t> lines_of(const std::string& text, TableFormat format) {
  std::vector<std::uint64_t> lines;
  TableReader reader = reader_of(text, format);
  read_all(reader, &lines);
  return lines;
}

// "name=JSON" of each member of one line.
Row members_of(const std::string& line) {
  TableReader reader = reader_of(line, TableFormat::jsonl);
  TableRow row;
  REQUIRE(reader.next(row));
  Row members;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    std::string member = std::string(row.names[i]) + "=";
    row.cells[i].append_json(member);
    members.push_back(member);
  }
  return members;
}

std::string gzip(const std::string& text) {
  std::string out(compressBound(text.size()) + 32, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

TEST_CASE("a table's format is told by the end of its name") {
  CHECK(table_format_for_name("a.csv") == TableFormat::csv);
  CHECK(table_format_for_name("A.TSV.GZ") == TableFormat::tsv);
  CHECK(table_format_for_name("x/metadata.jsonl.zst") == TableFormat::jsonl);
  for (const char* other : {"a.json", "csv", "a.csv.tar", "a.csv.gz.gz", "a.gz", ""}) {
    CHECK_FALSE(table_format_for_name(other));
  }
}

TEST_CASE("plain fields, with any line end and without the last one") {
  const Rows expected{{"a", "b", ""}, {"1", " 2", "x y"}};
  CHECK(csv("a,b,\n1, 2,x y\n") == expected);
  CHECK(csv("a,b,\r\n1, 2,x y\r\n") == expected);
  CHECK(csv("a,b,\r\n1, 2,x y") == expected);
  CHECK(csv("a,b,\n1, 2,x y\r") == expected);
  CHECK(csv("\xEF\xBB\xBF"
            "a,b,\n1, 2,x y\n") == expected);
  CHECK(tsv("a\tb\t\n1\t 2\tx y\n") == expected);
  CHECK(csv("").empty());
  CHECK(csv("\xEF\xBB\xBF").empty());
  CHECK(csv("\n\r\n\n").empty());
  CHECK(csv("a") == Rows{{"a"}});
  CHECK(csv(",") == Rows{{"", ""}});
}

TEST_CASE("quoted fields hold separators, newlines and quotes") {
  CHECK(csv("a,\"b,c\",\"d\"\"e\"\n") == Rows{{"a", "b,c", "d\"e"}});
  CHECK(csv("\"x\ny\r\nz\",1\nb,2\n") == Rows{{"x\ny\r\nz", "1"}, {"b", "2"}});
  CHECK(csv("\"\",\"\"\"\",\"\"\"\"\"\"\n") == Rows{{"", "\"", "\"\""}});
  CHECK(csv("\"a\",\"b\"\r\n\"c\",\"d\"\r\n") == Rows{{"a", "b"}, {"c", "d"}});
  CHECK(csv("\"a\",\"b\"\r") == Rows{{"a", "b"}});
  CHECK(csv("\"a\"\"\n\"\"b\"") == Rows{{"a\"\n\"b"}});
  CHECK(csv("\"\"\n\"\"\n") == Rows{{""}, {""}});
  // Within a plain field they stand for themselves.
  CHECK(csv("a,5\" disk,b\"c\"\n") == Rows{{"a", "5\" disk", "b\"c\""}});
}

TEST_CASE("a CSV may be separated by semicolons") {
  CHECK(csv("a;b\n1,5;2\n") == Rows{{"a", "b"}, {"1,5", "2"}});
  CHECK(csv("\"a;b;c\",d\n1;2;3,4\n") == Rows{{"a;b;c", "d"}, {"1;2;3", "4"}});
  CHECK(csv("\n\n\"x\n,,,\";b\n") == Rows{{"x\n,,,", "b"}});
  CHECK(csv("a\n1;2\n") == Rows{{"a"}, {"1;2"}});
}

TEST_CASE("quotes in a TSV mean what fits, never beyond a line") {
  CHECK(tsv("a\t\"b\tc\"\t\"d\"\"e\"\n") == Rows{{"a", "b\tc", "d\"e"}});
  CHECK(tsv("1\t\"Hello\" he said\n2\t\"open\n3\t\"\n") ==
        Rows{{"1", "\"Hello\" he said"}, {"2", "\"open"}, {"3", "\""}});
  CHECK(tsv("a;b,c\td\n") == Rows{{"a;b,c", "d"}});
}

TEST_CASE("lines are counted with those in quotes and the empty ones") {
  using Lines = std::vector<std::uint64_t>;
  CHECK(lines_of("a,b\n\"x\n\ny\",\"z\n\"\n\nc,d\n", TableFormat::csv) == Lines{1, 2, 7});
  CHECK(lines_of("\"a\"\"\n\"\"\n\"\nb\n", TableFormat::csv) == Lines{1, 4});
  CHECK(lines_of("\n{}\r\n\n{}", TableFormat::jsonl) == Lines{2, 4});
  TableReader reader = reader_of("\n\na\n\nb\n\n", TableFormat::csv);
  CHECK(read_all(reader) == Rows{{"a"}, {"b"}});
  CHECK(reader.empty_lines() == 4);
}

TEST_CASE("what is no table is an error that names the line") {
  const TableFormat kCsv = TableFormat::csv, kTsv = TableFormat::tsv;
  CHECK(failure_of("a,b\n1,2\n\n1,2,3\n", kCsv, Code::corrupt) ==
        "t.x: line 4: the row has 3 fields, the first one has 2");
  CHECK(failure_of("a\tb\n1\n", kTsv, Code::corrupt) ==
        "t.x: line 2: the row has 1 field, the first one has 2");
  CHECK(failure_of("a,b\n1,\"2\n3,4\n", kCsv, Code::truncated) ==
        "t.x: line 2: field 2 starts with a quote that has no partner");
  CHECK(failure_of("a,b\n\"1\"x,2\n", kCsv, Code::corrupt) ==
        "t.x: line 2: field 1: something follows its closing quote; quotes in it must be doubled");
  CHECK(failure_of("a,b\n1,\"2\"\r3\n", kCsv, Code::corrupt).starts_with("t.x: line 2: field 2"));
  CHECK(failure_of("a,b\r1,2\r", kCsv, Code::corrupt) ==
        "t.x: line 1: a lone carriage return; lines must end in LF or CRLF");
  CHECK(failure_of(std::string("a,b\n1,\0\n", 8), kCsv, Code::corrupt) ==
        "t.x: line 2: holds a NUL byte, so it is no table of text");
  CHECK(failure_of(std::string("\xFF\xFE"
                               "a\0",
                               4),
                   kCsv,
                   Code::corrupt) == "t.x: is in UTF-16; convert it: iconv -f UTF-16 -t UTF-8");
}

TEST_CASE("rows are bounded") {
  const std::string longest((1 << 20) - 2, 'x');
  CHECK(csv("a," + longest + "\nb,c\n").size() == 2);
  CHECK(csv("a," + longest).size() == 1);
  CHECK(
      failure_of("a,b" + longest + "\n", TableFormat::csv, Code::limit).starts_with("t.x: line 1"));
  CHECK(failure_of("a,\"" + std::string(5 << 20, '\n'), TableFormat::csv, Code::limit)
            .starts_with("t.x: line 1: a row of more than 1048576 bytes"));
  CHECK(failure_of(std::string(5 << 20, ' '), TableFormat::jsonl, Code::limit).starts_with("t.x"));
  CHECK(csv(std::string(9'999, ',')).at(0).size() == 10'000);
  CHECK(failure_of(std::string(10'000, ','), TableFormat::csv, Code::limit) ==
        "t.x: line 1: a row of more than 10000 fields");
}

TEST_CASE("a table longer than the buffer") {
  std::string text;
  Rows expected;
  for (int i = 0; i < 100'000; ++i) {
    text += fmt::format("dir/{:06}.jpg,\"a \"\"{}\"\"\nb\",{}\r\n", i, i, i % 10);
    expected.push_back({fmt::format("dir/{:06}.jpg", i), fmt::format("a \"{}\"\nb", i),
                        fmt::format("{}", i % 10)});
  }
  TableReader reader = reader_of(text, TableFormat::csv);
  CHECK(read_all(reader) == expected);
  TableReader compressed = reader_of(gzip(text), TableFormat::csv);
  CHECK(read_all(compressed) == expected);
}

TEST_CASE("JSON values are kept as they are written") {
  CHECK(members_of(R"({"a":"x\u00e9\"", "b" : 1.50,"c":[1, {"d":null}],"e":null,"f":true})") ==
        Row{R"(a="x\u00e9\"")", "b=1.50", R"(c=[1, {"d":null}])", "e=null", "f=true"});
  CHECK(members_of(R"({"big":123456789012345678901234567890,"x":-0.0e+5})") ==
        Row{"big=123456789012345678901234567890", "x=-0.0e+5"});
  CHECK(members_of(" { } ").empty());
  CHECK(members_of(R"({"na\u006de\n":1})") == Row{"name\n=1"});
  CHECK(members_of("\xEF\xBB\xBF{\"\":\"\xC3\xA9\"}\r\n") == Row{"=\"\xC3\xA9\""});
}

TEST_CASE("JSON strings are read") {
  CHECK(read_all(R"({"a":"\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00","b":7,"c":"","d":{}})"
                 "\n{}\n",
                 TableFormat::jsonl) ==
        Rows{{"\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "7", "", "{}"}, {}});
  for (const char* half : {R"({"a":"\ud83d"})", R"({"a":"\ude00"})", R"({"a":"\ud83d\u0041"})"}) {
    CHECK(members_of(half).size() == 1);  // as it is, it is sound
    TableReader reader = reader_of(half, TableFormat::jsonl);
    TableRow row;
    REQUIRE(reader.next(row));
    CHECK_THROWS_WITH(row.cells[0].text(), Catch::Contains("half of a surrogate pair"));
  }
}

TEST_CASE("types of JSON values, and what is empty") {
  TableReader reader =
      reader_of(R"({"a":"x","b":"","c":0,"d":false,"e":null,"f":[],"g":{}})", TableFormat::jsonl);
  TableRow row;
  REQUIRE(reader.next(row));
  std::vector<Type> types;
  std::vector<bool> empty;
  for (const Cell& cell : row.cells) {
    types.push_back(cell.type);
    empty.push_back(cell.empty());
  }
  CHECK(types == std::vector<Type>{Type::json_string, Type::json_string, Type::json_scalar,
                                   Type::json_scalar, Type::json_null, Type::json_nested,
                                   Type::json_nested});
  CHECK(empty == std::vector<bool>{false, true, false, false, true, false, false});
}

TEST_CASE("what is no JSON object is an error that names the line") {
  const auto failure = [](const std::string& line) {
    return failure_of("{}\n" + line + "\n", TableFormat::jsonl, Code::corrupt);
  };
  CHECK(failure("[1]") ==
        "t.x: line 2: an array, no object; for a file that is one array: jq -c '.[]'");
  CHECK(failure("{\"a\":") ==
        "t.x: line 2: the JSON ends early: expected a value (a line must be a "
        "whole object)");
  CHECK(failure("{\"a\":NaN}") == "t.x: line 2: byte 6: NaN and Infinity are no JSON; write null");
  CHECK(failure("{'a':1}") == "t.x: line 2: byte 2: expected a name in double quotes, not '''");
  CHECK(failure(R"({"a":1,"\u0061":2})") == "t.x: line 2: the name 'a' comes twice in the object");
  for (const char* line : {"1",
                           "null",
                           "\"a\"",
                           "{} {}",
                           "{},",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{\"a\":01}",
                           "{\"a\":1.}",
                           "{\"a\":.5}",
                           "{\"a\":+1}",
                           "{\"a\":-}",
                           "{\"a\":1e}",
                           "{\"a\":1e+}",
                           "{\"a\":tru}",
                           "{\"a\":truex}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12g4\"}",
                           "{\"a\":\"\t\"}",
                           "{\"a\":\"}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1 2]}",
                           "{\"a\":[}",
                           "{\"a\":{1:2}}",
                           "{a:1}",
                           "{\"a\":1\v}"}) {
    CAPTURE(line);
    CHECK_FALSE((nlohmann::json::accept(line) && nlohmann::json::parse(line).is_object()));
    CHECK(failure(line).starts_with("t.x: line 2: "));
  }
  const auto nested = [](int depth) {
    const auto count = static_cast<std::size_t>(depth - 1);
    return "{\"a\":" + std::string(count, '[') + std::string(count, ']') + "}";
  };
  CHECK(members_of(nested(128)).size() == 1);
  CHECK(failure_of(nested(129), TableFormat::jsonl, Code::limit) ==
        "t.x: line 1: JSON nested over 128 levels deep");
  CHECK(failure_of("{\"a\":" + std::string(1'000'000, '['), TableFormat::jsonl, Code::limit)
            .starts_with("t.x: line 1"));
}

TEST_CASE("text becomes JSON that others read") {
  std::string all = "\xC3\xA9/\x7F";
  for (char c = 1; c < 0x20; ++c) all += c;
  all += "\"\\";
  std::string json;
  Cell{Type::text, all}.append_json(json);
  CHECK(nlohmann::json::parse(json).get<std::string>() == all);
  Cell latin1{Type::text, "caf\xE9"};
  CHECK_THROWS_WITH(latin1.append_json(json), Catch::StartsWith("'caf\\xe9' is not UTF-8"));
  Cell raw{Type::json_string, "\"caf\xE9\""};
  CHECK_THROWS_AS(raw.append_json(json), Error);
}

TEST_CASE("many members, each once") {
  std::string line = "{";
  for (int i = 0; i < 10'000; ++i) line += fmt::format("{}\"m{}\":{}", i ? "," : "", i, i);
  CHECK(members_of(line + "}").size() == 10'000);
  CHECK(failure_of(line + ",\"m5\":0}", TableFormat::jsonl, Code::limit) ==
        "t.x: line 1: an object of more than 10000 members");
  CHECK(failure_of(line.substr(0, line.find(",\"m99\"")) + ",\"m5\":0}", TableFormat::jsonl,
                   Code::corrupt)
            .find("comes twice") != std::string::npos);
}

}  // namespace prep::table_reader_test
