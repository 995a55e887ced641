#include "lib/signal/csv_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "lib/core/error.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

constexpr std::size_t kLongestLine = 16 << 20;

std::string_view trim_spaces(std::string_view cell) {
  while (!cell.empty() && (cell.front() == ' ' || cell.front() == '\t')) cell.remove_prefix(1);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.remove_suffix(1);
  return cell;
}

// How often `delimiter` stands outside of quotes.
std::size_t count_outside_quotes(std::string_view line, char delimiter) {
  std::size_t count = 0;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == delimiter && !quoted) ++count;
  }
  return count;
}

void split_plain(std::string_view line, char delimiter, std::vector<std::string_view>& cells) {
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(delimiter, at), line.size());
    cells.push_back(trim_spaces(line.substr(at, end - at)));
    at = end + 1;
  }
}

// Takes a quoted cell, without its quotes, off the front of `rest`, and what follows it up to the
// delimiter.
std::string_view take_quoted(std::string_view& rest, char delimiter, std::string& unquoted) {
  const std::size_t start = unquoted.size();
  std::size_t at = 1;
  for (;; ++at) {
    if (at >= rest.size()) fail(Code::corrupt, "a quote is not closed");
    if (rest[at] == '"') {
      if (at + 1 >= rest.size() || rest[at + 1] != '"') break;
      ++at;
    }
    unquoted += rest[at];
  }
  const std::size_t end = std::min(rest.find(delimiter, at), rest.size());
  if (!trim_spaces(rest.substr(at + 1, end - at - 1)).empty()) {
    fail(Code::corrupt, "text follows a quote");
  }
  rest.remove_prefix(end);
  return trim_spaces(std::string_view(unquoted).substr(start));
}

void split_quoted(std::string_view line, char delimiter, std::vector<std::string_view>& cells,
                  std::string& unquoted) {
  unquoted.clear();
  unquoted.reserve(line.size());  // cells are views of it
  for (std::string_view rest = line;;) {
    const std::string_view start = trim_spaces(rest);
    if (start.starts_with('"')) {
      rest.remove_prefix(static_cast<std::size_t>(start.data() - rest.data()));
      cells.push_back(take_quoted(rest, delimiter, unquoted));
    } else {
      const std::size_t end = std::min(rest.find(delimiter), rest.size());
      cells.push_back(trim_spaces(rest.substr(0, end)));
      rest.remove_prefix(end);
    }
    if (rest.empty()) return;
    rest.remove_prefix(1);
  }
}

}  // namespace

bool LineReader::fill() {
  const std::uint64_t length = std::min(kReadPiece, data_.size() - read_);
  if (length == 0) return false;
  if (buffer_.size() - at_ > kLongestLine) {
    fail(Code::limit, "line {} has more than {} bytes", number_ + 1, kLongestLine);
  }
  buffer_.erase(0, at_);
  at_ = 0;
  buffer_ += data_.read(read_, length).text();
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (read_ == 0 && buffer_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  read_ += length;
  return true;
}

std::optional<std::string_view> LineReader::next() {
  std::size_t searched = 0, end = std::string::npos;
  for (;;) {
    end = buffer_.find('\n', at_ + searched);
    if (end != std::string::npos) break;
    searched = buffer_.size() - at_;
    if (!fill()) break;
  }
  if (end == std::string::npos && at_ == buffer_.size()) return std::nullopt;
  std::string_view line = std::string_view(buffer_).substr(at_, end - at_);
  at_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++number_;
  return line;
}

bool is_csv_comment(std::string_view line) {
  return line.starts_with('#') || line.starts_with('%');
}

char find_delimiter(std::string_view first, std::optional<std::string_view> second) {
  for (const char delimiter : {'\t', ';'}) {
    const std::size_t count = count_outside_quotes(first, delimiter);
    if (count > 0 && (!second || count_outside_quotes(*second, delimiter) == count)) {
      return delimiter;
    }
  }
  return ',';
}

void split_row(std::string_view line, char delimiter, std::vector<std::string_view>& cells,
               std::string& unquoted) {
  cells.clear();
  if (line.find('"') == std::string_view::npos) {
    split_plain(line, delimiter, cells);
  } else {
    split_quoted(line, delimiter, cells, unquoted);
  }
}

std::optional<double> parse_cell(std::string_view cell, char delimiter) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (cell.empty()) return kNaN;
  double value = 0;
  const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc() && stop == cell.data() + cell.size()) {
    // from_chars also knows "nan(…)" and "inf".
    return std::isfinite(value) || equal_ignoring_case(cell, "nan") ? std::optional(value)
                                                                    : std::nullopt;
  }
  constexpr std::array<std::string_view, 4> kNothing = {"nan", "na", "n/a", "null"};
  for (const std::string_view word : kNothing) {
    if (equal_ignoring_case(cell, word)) return kNaN;
  }
  if (delimiter == ',' && cell.find(',') != std::string_view::npos) return std::nullopt;
  return parse_number(cell);
}

}  // namespace prep::signal
