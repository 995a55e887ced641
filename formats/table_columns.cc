#include "formats/table_columns.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <unordered_map>

#include "lib/core/error.h"

namespace prep {
namespace {

// The best first.
constexpr std::string_view kPaths[] = {
    "file_name",  "filename",   "file_path", "filepath", "path",     "file",       "image_path",
    "image_file", "image_name", "img_path",  "img_file", "img_name", "audio_path", "audio_file",
    "video_path", "video_file", "image",     "img",      "audio",    "video"};
constexpr std::string_view kLabels[] = {"label", "class", "cls", "target"};
constexpr std::string_view kTexts[] = {"caption", "text", "txt"};
constexpr std::string_view kKeys[] = {"key", "__key__", "sample", "id", "image_id", "name"};
// As Hugging Face's metadata files name columns of paths where there are several.
constexpr std::string_view kPathEnding = "_file_name";

constexpr std::size_t kListed = 20;

std::span<const std::string_view> names_for(ColumnUse use) {
  switch (use) {
    case ColumnUse::path:
      return kPaths;
    case ColumnUse::label:
      return kLabels;
    case ColumnUse::text:
      return kTexts;
    case ColumnUse::key:
      break;
  }
  return kKeys;
}

// " Image Path" is "image_path".
std::string plain_name(std::string_view name) {
  const std::size_t begin = std::min(name.find_first_not_of(' '), name.size());
  std::string plain(name.substr(begin, name.find_last_not_of(' ') + 1 - begin));
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '-') c = '_';
  }
  return plain;
}

std::size_t rank_of(ColumnUse use, std::string_view name) {
  const auto known = names_for(use);
  return static_cast<std::size_t>(std::find(known.begin(), known.end(), plain_name(name)) -
                                  known.begin());
}

std::vector<std::optional<std::size_t>> path_columns(const std::vector<std::string>& names) {
  if (const auto best = find_column_for(ColumnUse::path, names)) return {best};
  std::vector<std::optional<std::size_t>> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plain_name(names[i]).ends_with(kPathEnding)) columns.push_back(i);
  }
  return columns;
}

bool is_path(const Columns& columns, std::optional<std::size_t> column) {
  return column &&
         std::find(columns.paths.begin(), columns.paths.end(), column) != columns.paths.end();
}

[[noreturn]] void fail_two_uses(const std::string& name) {
  fail(Code::usage, "the column '{}' is to be two things at once", printable(name));
}

}  // namespace

std::optional<std::size_t> find_column_for(ColumnUse use, const std::vector<std::string>& names) {
  std::optional<std::size_t> best;
  std::size_t best_rank = names_for(use).size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t rank = rank_of(use, names[i]);
    if (rank >= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

bool tells_use(ColumnUse use, std::string_view name) {
  return rank_of(use, name) < names_for(use).size() ||
         (use == ColumnUse::path && plain_name(name).ends_with(kPathEnding));
}

bool is_column_number(std::string_view wanted) {
  return !wanted.empty() && wanted.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::size_t> find_column(std::string_view wanted,
                                       const std::vector<std::string>& names) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::size_t number = 0;
  const auto result = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (!is_column_number(wanted) || result.ec != std::errc()) return std::nullopt;
  if (number < 1 || number > names.size()) return std::nullopt;
  return number - 1;
}

std::string list_columns(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kListed); ++i) {
    text += fmt::format("{}'{}'", i ? ", " : "", printable(names[i]));
  }
  if (names.size() > kListed) text += fmt::format(" and {} more", names.size() - kListed);
  return text;
}

std::vector<std::string> numbered_columns(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

std::vector<std::string> header_columns(std::vector<std::string> row, std::string_view where) {
  std::unordered_map<std::string_view, std::size_t> met;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].empty()) row[i] = fmt::format("{}", i + 1);
    const auto [first, is_new] = met.emplace(row[i], i);
    if (is_new) continue;
    fail(Code::usage, "{}: columns {} and {} have one name, '{}'; rename one of them", where,
         first->second + 1, i + 1, printable(row[i]));
  }
  return row;
}

Columns ColumnFinder::find(const std::vector<std::string>& names) {
  Columns columns;
  for (std::size_t i = 0; i < options_.path_columns.size(); ++i) {
    const auto column = find_column(options_.path_columns[i], names);
    if (is_path(columns, column)) fail_two_uses(names[*column]);
    if (column) paths_met_[i] = true;
    columns.paths.push_back(column);
  }
  if (columns.paths.empty()) columns.paths = path_columns(names);
  find_label(names, columns);
  columns.text = find_column_for(ColumnUse::text, names);
  if (is_path(columns, columns.text) || columns.text == columns.label) columns.text.reset();
  return columns;
}

// A column whose name tells that it holds labels is none if it was asked for as one of paths.
void ColumnFinder::find_label(const std::vector<std::string>& names, Columns& columns) {
  const bool asked = !options_.label_column.empty();
  columns.label =
      asked ? find_column(options_.label_column, names) : find_column_for(ColumnUse::label, names);
  label_met_ = label_met_ || columns.label;
  if (!is_path(columns, columns.label)) return;
  if (asked) fail_two_uses(names[*columns.label]);
  columns.label.reset();
}

std::optional<std::string> ColumnFinder::missing() const {
  for (std::size_t i = 0; i < paths_met_.size(); ++i) {
    if (!paths_met_[i]) return options_.path_columns[i];
  }
  if (!options_.label_column.empty() && !label_met_) return options_.label_column;
  return std::nullopt;
}

}  // namespace prep
