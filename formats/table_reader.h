// Rows of a CSV, TSV or JSONL text, one after another, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/compression.h"

namespace prep {

enum class TableFormat { csv, tsv, jsonl };

// By a name's ending: ".csv", ".tsv", ".jsonl", in upper or lower case, with ".gz" or ".zst" behind
// it or not.
std::optional<TableFormat> table_format_for_name(std::string_view path);

// One value of a row.
struct Cell {
  enum class Type {
    text,         // a field of a CSV or TSV, without its quotes
    json_string,  // JSON as it is written, from here on
    json_scalar,  // a number, true or false
    json_null,
    json_nested,  // an array or an object
  };
  Type type = Type::text;
  std::string_view raw;

  // What it says: a string's characters, everything else as it is written. throws Error corrupt
  // for an escape that stands for no character (half of a surrogate pair).
  std::string text() const;
  // Whether there is nothing in it: no characters, or null.
  bool empty() const { return raw.empty() || raw == "\"\"" || type == Type::json_null; }
  // As JSON: a text as a string, JSON as it is written. throws Error corrupt for what is not UTF-8.
  void append_json(std::string& out) const;
};

struct TableRow {
  std::uint64_t line = 0;  // where it starts, from 1
  std::vector<Cell> cells;
  std::vector<std::string_view> names;  // of the cells; JSONL only, where each row has its own
};

// A table is text in UTF-8 or any superset of ASCII, with or without a byte order mark, compressed
// with gzip or zstd or not. Lines end in LF or CRLF; empty ones are left out.
//
// CSV is RFC 4180: a field that starts with a quote ends at the next one that is not doubled, and
// may hold newlines; quotes within other fields stand for themselves. It is separated by commas, or
// by semicolons if the first row has more of these (outside of quotes). In a TSV, quotes mean the
// same, but never beyond a line; where they do not fit (a caption that starts with a quote) they
// stand for themselves. A line of JSONL is one JSON object (RFC 8259).
//
// throws Error that names the table and the line: corrupt for a row with more or fewer fields than
// the first, a NUL, a lone CR, what is no JSON, a name that comes twice in an object; truncated for
// a quote without an end; limit for a row over kMaxRow, kMaxColumns or kMaxDepth; and what the
// reader underneath throws.
class TableReader {
 public:
  static constexpr std::size_t kMaxRow = 1 << 20;  // bytes, with what separates and quotes
  static constexpr std::size_t kMaxColumns = 10'000;
  static constexpr int kMaxDepth = 128;  // of nested JSON

  // `name` is for messages, not escaped.
  TableReader(std::unique_ptr<ByteReader> input, std::string name, TableFormat format);

  // Reads the next row; what it points to lives until the next call. False at the end.
  bool next(TableRow& row);
  std::uint64_t consumed() const { return input_->consumed(); }
  std::uint64_t empty_lines() const { return empty_lines_; }
  // "table.csv: line 7", escaped.
  std::string where(std::uint64_t line) const;

 private:
  // Positions count from the beginning of the row that is being read.
  static constexpr std::size_t npos = std::string_view::npos;
  char* at(std::size_t position) { return buffer_.data() + begin_ + position; }
  std::string_view text(std::size_t from, std::size_t to) { return {at(from), to - from}; }
  std::size_t buffered() const { return end_ - begin_; }
  bool fill();
  std::size_t find(char wanted, std::size_t from);
  std::size_t end_of_line(std::size_t from);
  bool skip_empty_lines();
  void skip_byte_order_mark();
  char find_separator();

  void refuse_nul();
  void split_fields(TableRow& row);
  void take_plain();
  bool take_quoted();
  std::size_t closing_quote(std::size_t from);
  bool ends_field(std::size_t position);
  std::size_t undouble_quotes(std::size_t begin, std::size_t end);
  void check_width();
  void parse_object(TableRow& row);

  std::unique_ptr<ByteReader> input_;
  std::string name_;
  TableFormat format_;
  char separator_ = '\t';
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  bool ended_ = false;        // the input
  std::size_t row_size_ = 0;  // of the row before, with its newline: what to skip
  std::size_t position_ = 0;  // in the row
  std::size_t line_end_ = 0;  // of the line that holds position_: its newline, or the text's end
  std::uint64_t line_ = 1;    // where the row starts
  std::uint64_t newlines_ = 0;
  std::size_t width_ = 0;  // of the first row
  std::uint64_t empty_lines_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> fields_;  // the row's: from, size
  std::deque<std::string> unescaped_names_;
};

}  // namespace prep
