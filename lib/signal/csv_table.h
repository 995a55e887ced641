// Rows and cells of comma-separated text and its kin, and the numbers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/random_access.h"

namespace prep::signal {

// Lines of a file, read in pieces. The byte order mark of UTF-8 is left out.
class LineReader {
 public:
  explicit LineReader(const RandomAccess& data) : data_(data) {}
  // The next line without its end (LF or CR LF), valid until the next call; nullopt at the end.
  // throws Error limit for a line of more than 16 MB.
  std::optional<std::string_view> next();
  std::uint64_t number() const { return number_; }  // of the last line, from 1
  std::uint64_t consumed() const { return read_ - (buffer_.size() - at_); }

 private:
  bool fill();
  const RandomAccess& data_;
  std::string buffer_;
  std::size_t at_ = 0;  // in buffer_: where the next line starts
  std::uint64_t read_ = 0, number_ = 0;
};

// Whether a line stands before the table and is not part of it ("# …", "% …").
bool is_csv_comment(std::string_view line);

// What stands between cells, told by the first two rows: '\t', ';' or ','.
char find_delimiter(std::string_view first, std::optional<std::string_view> second);

// The cells of a row, trimmed, without quotes; they are views of `line` or of `unquoted`. throws
// Error corrupt where a quote isn't closed.
void split_row(std::string_view line, char delimiter, std::vector<std::string_view>& cells,
               std::string& unquoted);

// A cell's number; NaN for an empty cell, "NaN", "NA", "null". nullopt if it is none.
std::optional<double> parse_cell(std::string_view cell, char delimiter);

}  // namespace prep::signal
