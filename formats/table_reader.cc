#include "formats/table_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "formats/table_json.h"
#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::size_t kFirstBuffer = 64 << 10;

struct Ending {
  std::string_view text;
  TableFormat format;
};
constexpr std::array<Ending, 3> kEndings{
    {{".csv", TableFormat::csv}, {".tsv", TableFormat::tsv}, {".jsonl", TableFormat::jsonl}}};

// Programs differ in which of two members with one name they take.
void refuse_twins(const std::vector<std::string_view>& names) {
  const auto refuse = [](std::string_view name) {
    fail(Code::corrupt, "the name '{}' comes twice in the object", printable(name));
  };
  constexpr std::size_t kFew = 16;
  if (names.size() <= kFew) {
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (std::find(names.begin(), name, *name) != name) refuse(*name);
    }
    return;
  }
  std::unordered_set<std::string_view> met;
  for (const std::string_view name : names) {
    if (!met.insert(name).second) refuse(name);
  }
}

}  // namespace

std::optional<TableFormat> table_format_for_name(std::string_view path) {
  std::string name(path);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (!name.ends_with(compressed)) continue;
    name.resize(name.size() - compressed.size());
    break;
  }
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.format;
  }
  return std::nullopt;
}

// --- cells
// ----------------------------------------------------------------------------------------

std::string Cell::text() const {
  if (type != Type::json_string) return std::string(raw);
  return unescape_json(raw.substr(1, raw.size() - 2));
}

void Cell::append_json(std::string& out) const {
  if (!is_utf8(raw)) {
    fail(Code::corrupt, "'{}' is not UTF-8, as JSON must be; convert the table with iconv",
         printable(raw.substr(0, 80)));
  }
  type == Type::text ? append_json_string(raw, out) : void(out += raw);
}

// --- lines
// ----------------------------------------------------------------------------------------

TableReader::TableReader(std::unique_ptr<ByteReader> input, std::string name, TableFormat format)
    : input_(decompress(std::move(input), name)),
      name_(std::move(name)),
      format_(format),
      buffer_(kFirstBuffer) {
  skip_byte_order_mark();
  if (format_ == TableFormat::csv) separator_ = find_separator();
}

std::string TableReader::where(std::uint64_t line) const {
  return fmt::format("{}: line {}", printable(name_), line);
}

// Reads once more behind what is buffered; false at the end.
bool TableReader::fill() {
  if (ended_) return false;
  if (end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    if (end_ > buffer_.size() / 2) buffer_.resize(buffer_.size() * 2);
  }
  const std::span<char> room = std::span(buffer_).subspan(end_);
  const std::size_t count =
      input_->read({reinterpret_cast<std::uint8_t*>(room.data()), room.size()});
  end_ += count;
  ended_ = count == 0;
  return !ended_;
}

// Where the next `wanted` is, from `from` on, or npos if the input ends before it.
std::size_t TableReader::find(char wanted, std::size_t from) {
  for (;;) {
    const std::size_t found = text(0, buffered()).find(wanted, from);
    if (std::min(found, buffered()) > kMaxRow) {
      fail(Code::limit, "{}: a row of more than {} bytes{}", where(line_), kMaxRow,
           format_ == TableFormat::csv ? "; is there a quote without its partner?" : "");
    }
    if (found != npos) return found;
    from = std::max(from, buffered());
    if (!fill()) return npos;
  }
}

// Of the line that holds `from`: where its newline is, or where the text ends.
std::size_t TableReader::end_of_line(std::size_t from) {
  const std::size_t newline = find('\n', from);  // which may change what is buffered
  return std::min(newline, buffered());
}

// Goes to where the next row starts; false at the end.
bool TableReader::skip_empty_lines() {
  begin_ += std::exchange(row_size_, 0);
  for (;;) {
    const std::size_t end = end_of_line(0);
    const bool has_newline = end < buffered();
    if (end == 0 && !has_newline) return false;
    const std::string_view line = text(0, end);
    if (!line.empty() && line != "\r") return true;
    begin_ += end + has_newline;
    ++line_;
    ++empty_lines_;
  }
}

void TableReader::skip_byte_order_mark() {
  constexpr std::string_view kUtf8 = "\xEF\xBB\xBF", kUtf16Le = "\xFF\xFE", kUtf16Be = "\xFE\xFF";
  while (buffered() < kUtf8.size() && fill()) {
  }
  const std::string_view head = text(0, std::min(buffered(), kUtf8.size()));
  if (head.starts_with(kUtf16Le) || head.starts_with(kUtf16Be)) {
    fail(Code::corrupt, "{}: is in UTF-16; convert it: iconv -f UTF-16 -t UTF-8", printable(name_));
  }
  if (head == kUtf8) begin_ += kUtf8.size();
}

// The semicolon, if the first row has more of these outside of quotes than commas.
char TableReader::find_separator() {
  if (!skip_empty_lines()) return ',';
  std::size_t commas = 0, semicolons = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < buffered() || fill(); ++i) {
    const char c = *at(i);
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' || i > kMaxRow) break;
    commas += c == ',';
    semicolons += c == ';';
  }
  return semicolons > commas ? ';' : ',';
}

bool TableReader::next(TableRow& row) {
  row.cells.clear();
  row.names.clear();
  if (!skip_empty_lines()) return false;
  row.line = line_;
  line_end_ = end_of_line(0);
  newlines_ = 1;
  format_ == TableFormat::jsonl ? parse_object(row) : split_fields(row);
  row_size_ = std::min(line_end_ + 1, buffered());
  line_ += newlines_;
  return true;
}

void TableReader::refuse_nul() {
  if (text(0, line_end_).find('\0') == npos) return;
  fail(Code::corrupt, "{}: holds a NUL byte, so it is no table of text", where(line_));
}

// --- CSV and TSV
// ----------------------------------------------------------------------------------

void TableReader::split_fields(TableRow& row) {
  fields_.clear();
  position_ = 0;
  for (;;) {
    if (fields_.size() == kMaxColumns) {
      fail(Code::limit, "{}: a row of more than {} fields", where(line_), kMaxColumns);
    }
    if (!take_quoted()) take_plain();
    if (position_ == line_end_) break;
    ++position_;  // over a separator
  }
  refuse_nul();
  check_width();
  // Not before, since reading on may have moved the row.
  for (const auto& [from, size] : fields_)
    row.cells.push_back({Cell::Type::text, {at(from), size}});
}

void TableReader::take_plain() {
  const std::string_view line = text(0, line_end_);
  const std::size_t end = std::min(line.find(separator_, position_), line_end_);
  std::string_view field = line.substr(position_, end - position_);
  if (end == line_end_ && field.ends_with('\r')) field.remove_suffix(1);
  if (field.find('\r') != npos) {
    fail(Code::corrupt, "{}: a lone carriage return; lines must end in LF or CRLF", where(line_));
  }
  fields_.emplace_back(position_, field.size());
  position_ = end;
}

// False if there is no quoted field here.
bool TableReader::take_quoted() {
  if (position_ == line_end_ || *at(position_) != '"') return false;
  const std::size_t begin = position_ + 1;
  const std::size_t close = closing_quote(begin);
  if (close == npos && format_ == TableFormat::csv) {
    fail(Code::truncated, "{}: field {} starts with a quote that has no partner", where(line_),
         fields_.size() + 1);
  }
  const bool whole = close != npos && ends_field(close + 1);
  if (!whole && format_ == TableFormat::csv) {
    fail(Code::corrupt,
         "{}: field {}: something follows its closing quote; quotes in it must be "
         "doubled",
         where(line_), fields_.size() + 1);
  }
  if (!whole) return false;
  fields_.emplace_back(begin, undouble_quotes(begin, close));
  const bool cr = close + 1 < line_end_ && *at(close + 1) == '\r';
  position_ = cr ? line_end_ : close + 1;
  return true;
}

// The first quote from `from` on that is not doubled; in a CSV it may be some lines further.
std::size_t TableReader::closing_quote(std::size_t from) {
  const bool may_span_lines = format_ == TableFormat::csv;
  for (;;) {
    const std::size_t quote = may_span_lines ? find('"', from) : text(0, line_end_).find('"', from);
    if (quote == npos) return npos;
    if (quote > line_end_) {
      newlines_ += static_cast<std::uint64_t>(std::count(at(from), at(quote), '\n'));
      line_end_ = end_of_line(quote);
    }
    if (quote + 1 >= line_end_ || *at(quote + 1) != '"') return quote;
    from = quote + 2;
  }
}

// Whether a field may end before `position`.
bool TableReader::ends_field(std::size_t position) {
  return position == line_end_ || *at(position) == separator_ ||
         (*at(position) == '\r' && position + 1 == line_end_);
}

// In place; returns the new size.
std::size_t TableReader::undouble_quotes(std::size_t begin, std::size_t end) {
  char* out = std::find(at(begin), at(end), '"');
  for (const char* in = out; in < at(end); ++in) {
    *out++ = *in;
    in += *in == '"';
  }
  return static_cast<std::size_t>(out - at(begin));
}

void TableReader::check_width() {
  if (width_ == 0) width_ = fields_.size();
  if (fields_.size() == width_) return;
  fail(Code::corrupt, "{}: the row has {} {}, the first one has {}", where(line_), fields_.size(),
       fields_.size() == 1 ? "field" : "fields", width_);
}

// --- JSONL
// ----------------------------------------------------------------------------------------

void TableReader::parse_object(TableRow& row) {
  refuse_nul();
  unescaped_names_.clear();
  try {
    split_json_object(text(0, line_end_), row.names, row.cells);
    for (std::string_view& name : row.names) {
      if (name.find('\\') == npos) continue;
      name = unescaped_names_.emplace_back(unescape_json(name));
    }
    refuse_twins(row.names);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", where(line_), error.what());
  }
}

}  // namespace prep
