#include "formats/class_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <utility>

#include "formats/compression.h"
#include "formats/list.h"
#include "formats/table_columns.h"
#include "formats/table_reader.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/key_hash.h"
#include "lib/core/spec.h"

namespace prep {
namespace {

std::unique_ptr<ByteReader> open_text(const std::string& path) {
  Fd file = open_file(path, O_RDONLY);
  const struct stat status = file_status(file.get(), path);
  if (S_ISDIR(status.st_mode)) fail(Code::usage, "{}: is a directory", printable(path));
  return std::make_unique<FdReader>(std::make_shared<const Fd>(std::move(file)), path);
}

std::string read_text(const std::string& path, std::size_t limit) {
  const auto input = decompress(open_text(path), path);
  std::string text;
  for (std::size_t size = 0;;) {
    constexpr std::size_t kStep = 256 << 10;
    text.resize(size + kStep);
    const std::size_t count =
        input->read({reinterpret_cast<std::uint8_t*>(text.data()) + size, kStep});
    size += count;
    text.resize(size);
    if (count == 0) return text;
    if (size > limit) fail(Code::limit, "{}: over {} MiB of names", printable(path), limit >> 20);
  }
}

// Line by line, without the line ends.
std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

// --- classes
// --------------------------------------------------------------------------------------

ClassNames::ClassNames(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto [first, is_new] = indexes_.emplace(names_[i], i);
    if (is_new) continue;
    fail(Code::duplicate, "the class '{}' comes twice, as number {} and number {}",
         printable(names_[i]), first->second, i);
  }
}

ClassNames ClassNames::read(const std::string& path) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string text = read_text(path, kMaxFile);
  std::string_view view = text;
  if (view.starts_with(kByteOrderMark)) view.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> names = split_lines(view);
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) fail(Code::empty, "{}: names no class", printable(path));
  std::unordered_map<std::string_view, std::size_t> lines;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto where = [&] { return fmt::format("{}: line {}", printable(path), i + 1); };
    if (name.empty()) fail(Code::corrupt, "{}: is empty; every line is a class", where());
    if (name.find('\0') != std::string::npos) fail(Code::corrupt, "{}: holds a NUL", where());
    const auto [first, is_new] = lines.emplace(name, i + 1);
    if (is_new) continue;
    fail(Code::duplicate, "{}: the class '{}' stands in line {} too", where(), printable(name),
         first->second);
  }
  return ClassNames(std::move(names));
}

std::optional<std::int64_t> ClassNames::index(std::string_view name) const {
  const auto found = indexes_.find(name);
  if (found == indexes_.end()) return std::nullopt;
  return found->second;
}

// --- labels of samples
// ----------------------------------------------------------------------------

namespace {

struct LabelColumns {
  std::optional<std::size_t> name, label;
};

std::optional<TableFormat> format_of(const Spec& spec) {
  switch (spec.kind) {
    case SpecKind::csv:
      return TableFormat::csv;
    case SpecKind::tsv:
      return TableFormat::tsv;
    case SpecKind::jsonl:
      return TableFormat::jsonl;
    case SpecKind::automatic:
      return table_format_for_name(spec.path);
    default:
      return std::nullopt;
  }
}

// The rows of a table with the two columns that matter.
class LabelTable {
 public:
  LabelTable(const Spec& spec, TableFormat format, const TableOptions& options)
      : path_(spec.path),
        format_(format),
        options_(options),
        reader_(open_text(path_), path_, format) {
    if (options.path_columns.size() > 1) {
      fail(Code::usage, "{}: labels go by one column of names", printable(path_));
    }
  }

  // False at the end. A row without a label has an empty one.
  bool next() {
    while (reader_.next(row_)) {
      if (format_ == TableFormat::jsonl) {
        names_.assign(row_.names.begin(), row_.names.end());
        columns_ = find_columns();
      } else if (std::exchange(is_first_, false) && know_header()) {
        continue;
      }
      return true;
    }
    return false;
  }

  std::string name() const { return text_in(columns_.name, "name"); }
  std::string label() const {
    return columns_.label ? text_in(columns_.label, "label") : std::string();
  }
  std::uint64_t line() const { return row_.line; }
  std::string where() const { return reader_.where(row_.line); }
  const std::string& path() const { return path_; }

 private:
  // Takes the columns from the first row; whether that was a header.
  bool know_header() {
    std::vector<std::string> texts;
    for (const Cell& cell : row_.cells) texts.emplace_back(cell.raw);
    const bool header = is_header(texts);
    names_ = header ? header_columns(texts, where()) : numbered_columns(texts.size());
    columns_ = find_columns();
    if (!columns_.label) fail_no_column("labels");
    return header;
  }

  bool is_header(const std::vector<std::string>& texts) const {
    if (options_.header != TableOptions::Header::automatic) {
      return options_.header == TableOptions::Header::yes;
    }
    const auto is_asked_by_name = [](const std::string& column) {
      return !column.empty() && !is_column_number(column);
    };
    if (is_asked_by_name(options_.label_column)) return true;
    if (!options_.path_columns.empty() && is_asked_by_name(options_.path_columns[0])) return true;
    // A label may well be "image": such a name tells nothing by itself but in the first column.
    const auto names = name_column(texts);
    return names && (*names == 0 || find_column_for(ColumnUse::label, texts));
  }

  static std::optional<std::size_t> name_column(const std::vector<std::string>& names) {
    if (const auto path = find_column_for(ColumnUse::path, names)) return path;
    return find_column_for(ColumnUse::key, names);
  }

  LabelColumns find_columns() const {
    LabelColumns columns;
    const bool asked = !options_.path_columns.empty();
    columns.name = asked ? find_column(options_.path_columns[0], names_) : name_column(names_);
    columns.label = options_.label_column.empty() ? find_column_for(ColumnUse::label, names_)
                                                  : find_column(options_.label_column, names_);
    if (columns.label == columns.name && options_.label_column.empty()) columns.label.reset();
    complete(columns);
    if (!columns.name) fail_no_column("names");
    return columns;
  }

  // Of two columns, each is what the other one is not.
  void complete(LabelColumns& columns) const {
    if (names_.size() != 2 || format_ == TableFormat::jsonl) return;
    if (!columns.name && options_.path_columns.empty()) {
      columns.name = columns.label ? 1 - *columns.label : 0;
    }
    if (!columns.label && columns.name && options_.label_column.empty()) {
      columns.label = 1 - *columns.name;
    }
  }

  [[noreturn]] void fail_no_column(std::string_view what) const {
    fail(Code::usage, "{}: which column holds the {}? There are {}; call them file_name and label",
         where(), what, list_columns(names_));
  }

  std::string text_in(std::optional<std::size_t> column, std::string_view what) const {
    const Cell& cell = row_.cells[*column];
    if (cell.empty()) return "";
    if (cell.type == Cell::Type::json_nested) {
      fail(Code::corrupt, "{}: the {} is an array or an object", where(), what);
    }
    try {
      return cell.text();
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", where(), error.what());
    }
  }

  const std::string path_;
  const TableFormat format_;
  const TableOptions options_;
  TableReader reader_;
  TableRow row_;
  bool is_first_ = true;
  std::vector<std::string> names_;
  LabelColumns columns_;
};

constexpr std::size_t kMostRows = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

Labels Labels::read(const std::string& word, const TableOptions& options) {
  const Spec spec = parse_spec(word);
  const auto format = format_of(spec);
  if (!format) {
    fail(Code::usage, "{}: labels come from a table; if this is one, say csv:{}, tsv:… or jsonl:…",
         printable(word), printable(spec.path));
  }
  Labels labels;
  LabelTable table(spec, *format, options);
  while (table.next()) {
    const std::string name = table.name(), label = table.label();
    if (label.empty()) continue;
    if (name.empty()) fail(Code::corrupt, "{}: the name is empty", table.where());
    try {
      labels.add(key_path(name), label, table.line());
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", table.where(), error.what());
    }
  }
  if (labels.size() == 0) fail(Code::empty, "{}: holds no labels", printable(table.path()));
  return labels;
}

std::string_view Labels::name_of(std::size_t row) const {
  const std::size_t begin = rows_[row].begin;
  const std::size_t end = row + 1 < rows_.size() ? rows_[row + 1].begin : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

// Where the name is, or the free place where it would have to be.
std::size_t Labels::place_of(std::string_view name) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = key_hash(name) & mask;
  while (places_[place] && name_of(places_[place] - 1) != name) place = (place + 1) & mask;
  return place;
}

// Doubles the table.
void Labels::grow() {
  constexpr std::size_t kSmallest = 1024;
  places_.assign(std::max(places_.size() * 2, kSmallest), 0);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    places_[place_of(name_of(row))] = static_cast<std::uint32_t>(row + 1);
  }
}

void Labels::add(std::string_view name, std::string_view label, std::uint64_t line) {
  if (rows_.size() >= kMostRows || line > kMostRows) {
    fail(Code::limit, "more than {} rows of labels", kMostRows);
  }
  if (rows_.size() * 3 >= places_.size() * 2) grow();
  const std::size_t place = place_of(name);
  const std::uint32_t number = label_number(label);
  if (places_[place] == 0) {
    rows_.push_back({text_.size(), number, static_cast<std::uint32_t>(line)});
    text_ += name;
    places_[place] = static_cast<std::uint32_t>(rows_.size());
    return;
  }
  const Row& other = rows_[places_[place] - 1];
  if (other.label == number) return;
  fail(Code::duplicate, "'{}' has the label '{}' here and '{}' in line {}", printable(name),
       printable(label), printable(labels_[other.label]), other.line);
}

std::uint32_t Labels::label_number(std::string_view label) {
  const auto found = label_numbers_.find(label);
  if (found != label_numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(labels_.size());
  labels_.emplace_back(label);
  label_numbers_.emplace(label, number);
  return number;
}

std::optional<std::string_view> Labels::find(std::string_view name) const {
  if (places_.empty()) return std::nullopt;
  const std::uint32_t row = places_[place_of(name)];
  if (row == 0) return std::nullopt;
  return labels_[rows_[row - 1].label];
}

// The label that the names with parts have, if any of them has one.
std::optional<std::string_view> Labels::agreed(std::string_view key,
                                               const std::vector<Part>& parts) const {
  std::optional<std::string_view> label;
  const Part* labelled = nullptr;
  for (const Part& part : parts) {
    if (part.name.empty()) continue;
    const auto found = find(part_path(key, part.name));
    if (!found) continue;
    if (label && *label != *found) {
      fail(Code::duplicate, "'{}' has the label '{}', and '{}' has '{}'",
           printable(part_path(key, labelled->name)), printable(*label),
           printable(part_path(key, part.name)), printable(*found));
    }
    label = found;
    labelled = &part;
  }
  return label;
}

std::optional<std::string_view> Labels::find(const Sample& sample) const {
  for (const std::string_view key : {std::string_view(sample.key), base_name(sample.key)}) {
    if (const auto label = agreed(key, sample.parts)) return label;
    if (const auto label = find(key)) return label;
  }
  return std::nullopt;
}

}  // namespace prep
