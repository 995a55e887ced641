#include "formats/table.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "formats/list.h"
#include "formats/part_names.h"
#include "formats/table_json.h"
#include "lib/core/error.h"

namespace prep {
namespace {

// What stands for a column's name before "json" if the file is a "json" itself.
constexpr char kTable[] = "table";

// Names in /dev/fd and the like say nothing of where the data lies.
std::string directory_of(const std::string& path) {
  const auto status = find_file(path);
  return status && S_ISREG(status->st_mode) ? parent_directory(path) : "";
}

std::vector<std::string> texts_of(const TableRow& row) {
  std::vector<std::string> texts;
  for (const Cell& cell : row.cells) texts.push_back(cell.text());
  return texts;
}

bool has_part(const Sample& sample, const std::string& name) {
  return std::any_of(sample.parts.begin(), sample.parts.end(), [&](const Part& part) {
    return strcasecmp(part.name.c_str(), name.c_str()) == 0;
  });
}

// Nested JSON is no label and no text, and stays in the JSON.
bool is_nested(const Cell& cell) { return cell.type == Cell::Type::json_nested; }

}  // namespace

// --- opening
// --------------------------------------------------------------------------------------

TableSource::TableSource(const std::string& path, TableFormat format, const TableOptions& options)
    : TableSource(open_file(path, O_RDONLY), path, directory_of(path), format, options) {}

TableSource::TableSource(Fd input, std::string name, std::string directory, TableFormat format,
                         const TableOptions& options)
    : name_(std::move(name)),
      directory_(std::move(directory)),
      format_(format),
      options_(options),
      finder_(options) {
  const struct stat status = file_status(input.get(), name_);
  if (S_ISDIR(status.st_mode)) fail(Code::usage, "{}: is a directory, no table", printable(name_));
  if (isatty(input.get())) {
    fail(Code::usage, "{} is a terminal; give it a table: … | or < table.csv", printable(name_));
  }
  if (S_ISREG(status.st_mode)) {
    expected_bytes_ = static_cast<std::uint64_t>(status.st_size);
    mtime_ns_ = prep::mtime_ns(status);
  }
  auto file = std::make_unique<FdReader>(std::make_shared<const Fd>(std::move(input)), name_);
  reader_ = std::make_unique<TableReader>(std::move(file), name_, format);
  read_first_row();
}

void TableSource::read_first_row() {
  has_row_ = next_row();
  if (!has_row_) return;
  if (format_ != TableFormat::jsonl) return know_header();
  if (columns_.paths.empty() || !columns_.paths[0]) fail_no_paths(/*header=*/false);
}

// Of a CSV or TSV: what the first row says holds for all.
void TableSource::know_header() {
  const bool header = is_header();
  names_ = header ? header_columns(texts_of(row_), reader_->where(row_.line))
                  : numbered_columns(row_.cells.size());
  know_columns();
  if (const auto missing = finder_.missing()) {
    fail(Code::usage, "{}: there is no column '{}'; there are {}", printable(name_),
         printable(*missing), list_columns(names_));
  }
  if (columns_.paths.empty() && !header) {
    const auto first = std::find_if(row_.cells.begin(), row_.cells.end(),
                                    [&](const Cell& cell) { return is_file(cell); });
    if (first != row_.cells.end()) {
      columns_.paths = {static_cast<std::size_t>(first - row_.cells.begin())};
      know_json_keys();
    }
  }
  if (columns_.paths.empty()) fail_no_paths(header);
  has_row_ = !header;
}

// A known name may happen to be a file's as well.
bool TableSource::is_header() const {
  if (options_.header != TableOptions::Header::automatic) {
    return options_.header == TableOptions::Header::yes;
  }
  const auto is_name = [](const std::string& column) {
    return !column.empty() && !is_column_number(column);
  };
  if (is_name(options_.label_column) ||
      std::any_of(options_.path_columns.begin(), options_.path_columns.end(), is_name)) {
    return true;
  }
  const auto is_known = [](std::string_view name) {
    return tells_use(ColumnUse::path, name) || tells_use(ColumnUse::label, name) ||
           tells_use(ColumnUse::text, name);
  };
  return std::none_of(row_.cells.begin(), row_.cells.end(),
                      [&](const Cell& cell) { return !is_known(cell.raw) && is_file(cell); });
}

bool TableSource::is_file(const Cell& cell) const {
  if (cell.raw.empty() || cell.raw.size() >= PATH_MAX) return false;
  const std::string path(cell.raw);
  const auto status = find_file(path[0] == '/' ? path : join_path(directory_, path));
  return status && S_ISREG(status->st_mode);
}

void TableSource::fail_no_paths(bool header) const {
  const char* advice = "";
  if (format_ != TableFormat::jsonl) {
    advice = header ? " (or is its first row no header, and the file that it names is missing?)"
                    : " (no value of the first row names a file)";
  }
  fail(Code::usage,
       "{}: which column holds the paths of files? There are {}; call it file_name, path or image, "
       "or say --path-columns{}",
       printable(name_), list_columns(names_), advice);
}

// What the columns called names_ are for.
void TableSource::know_columns() {
  try {
    columns_ = finder_.find(names_);
    know_json_keys();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", reader_->where(row_.line), error.what());
  }
}

void TableSource::know_json_keys() {
  json_keys_.assign(names_.size(), "");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto& paths = columns_.paths;
    if (std::find(paths.begin(), paths.end(), i) != paths.end()) continue;
    Cell{Cell::Type::text, names_[i]}.append_json(json_keys_[i]);
    json_keys_[i] += ':';
  }
}

// --- rows
// -----------------------------------------------------------------------------------------

bool TableSource::next_row() {
  const bool more = reader_->next(row_);
  consumed_bytes_.store(reader_->consumed(), std::memory_order_relaxed);
  if (!more || format_ != TableFormat::jsonl) return more;
  const bool same = std::equal(row_.names.begin(), row_.names.end(), names_.begin(), names_.end());
  if (same && !names_.empty()) return true;
  names_.assign(row_.names.begin(), row_.names.end());
  know_columns();
  return true;
}

bool TableSource::next(Sample& sample) {
  while (std::exchange(has_row_, false) || next_row()) {
    sample = Sample();
    try {
      if (build(sample)) return true;
      ++left_out_["hidden file"];
    } catch (const Error& error) {
      sample = faulty(error);
      return true;
    }
  }
  if (const auto missing = finder_.missing(); missing && !names_.empty()) {
    fail(Code::usage, "{}: there is no column '{}' in any row", printable(name_),
         printable(*missing));
  }
  return false;
}

Tally TableSource::left_out() const {
  Tally tally = left_out_;
  if (reader_->empty_lines() > 0) tally["empty line in a table"] = reader_->empty_lines();
  return tally;
}

// False for a hidden file.
bool TableSource::build(Sample& sample) {
  if (columns_.paths.empty()) {
    fail(Code::name, "no column of paths; there are {}", list_columns(names_));
  }
  const std::string path = path_in(columns_.paths[0]);
  if (path.empty()) fail(Code::name, "the path of the file is empty");
  const std::string clean = key_path(path);
  if (is_hidden(clean)) return false;
  if (path.ends_with('/')) fail(Code::usage, "{}: is a directory", printable(path));
  const auto [key, part] = split_key(clean);
  sample.key = key;
  sample.parts.push_back({std::string(part), file(path)});
  add_other_files(sample);
  add_literals(sample);
  std::sort(sample.parts.begin(), sample.parts.end(),
            [](const Part& a, const Part& b) { return a.name < b.name; });
  return true;
}

// Empty if the row has none.
std::string TableSource::path_in(std::optional<std::size_t> column) const {
  if (!column || row_.cells[*column].empty()) return "";
  const Cell& cell = row_.cells[*column];
  if (cell.type != Cell::Type::text && cell.type != Cell::Type::json_string) {
    fail(Code::name, "the path in '{}' is no string", printable(names_[*column]));
  }
  return cell.text();
}

std::shared_ptr<const Content> TableSource::file(const std::string& path) const {
  return std::make_shared<FileContent>(path[0] == '/' ? path : join_path(directory_, path));
}

// Called by their columns, whatever the first file is: otherwise the mask of a PNG would have
// another name than that of a JPEG.
void TableSource::add_other_files(Sample& sample) {
  for (std::size_t i = 1; i < columns_.paths.size(); ++i) {
    const std::string path = path_in(columns_.paths[i]);
    if (path.empty()) {
      ++left_out_["empty path besides a sample's first"];
      continue;
    }
    if (path.ends_with('/')) fail(Code::usage, "{}: is a directory", printable(path));
    const std::string clean = key_path(path);
    std::string name = part_path(column_part(*columns_.paths[i]), split_key(clean).second);
    if (has_part(sample, name)) {
      fail(Code::duplicate, "two files want to be the part '{}'", printable(name));
    }
    sample.parts.push_back({std::move(name), file(path)});
  }
}

void TableSource::add_literals(Sample& sample) const {
  if (columns_.label) {
    const Cell& label = row_.cells[*columns_.label];
    const bool known = !label.empty() && !is_nested(label);
    if (known) add_literal(sample, kLabelPart, column_part(*columns_.label), label.text());
  }
  if (columns_.text) {
    const Cell& text = row_.cells[*columns_.text];
    const bool known = text.type != Cell::Type::json_null && !is_nested(text);
    if (known) add_literal(sample, kTextPart, column_part(*columns_.text), text.text());
  }
  std::string json = json_object();
  if (!json.empty()) add_literal(sample, kJsonPart, kTable, std::move(json));
}

void TableSource::add_literal(Sample& sample, std::string_view part, const std::string& column,
                              std::string text) const {
  std::string name(part);
  if (has_part(sample, name)) name = part_path(column, part);
  if (has_part(sample, name)) {
    fail(Code::duplicate, "a file and a value want to be the part '{}'", printable(name));
  }
  sample.parts.push_back(
      {std::move(name),
       std::make_shared<LiteralContent>(std::move(text), reader_->where(row_.line), mtime_ns_)});
}

// Of the columns that are nothing else; "" if there are none.
std::string TableSource::json_object() const {
  std::string json;
  for (std::size_t i = 0; i < row_.cells.size(); ++i) {
    const Cell& cell = row_.cells[i];
    const bool has_part = i == columns_.label || i == columns_.text;
    if (json_keys_[i].empty() || (has_part && !is_nested(cell))) continue;
    json += json.empty() ? '{' : ',';
    json += json_keys_[i];
    try {
      cell.append_json(json);
    } catch (const Error& error) {
      fail(error.code(), "column '{}': {}", printable(names_[i]), error.what());
    }
  }
  if (!json.empty()) json += '}';
  return json;
}

// The column's name if it can stand in a part's name, else its number.
std::string TableSource::column_part(std::size_t column) const {
  const std::string& name = names_[column];
  const bool fit = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
                   name.find('\0') == std::string::npos;
  return fit ? name : fmt::format("{}", column + 1);
}

// The row as a sample that the run counts and names as bad.
Sample TableSource::faulty(const Error& error) const {
  const std::string where = reader_->where(row_.line);
  Sample sample;
  try {
    if (!columns_.paths.empty()) sample.key = path_in(columns_.paths[0]);
  } catch (const Error&) {  // it is the path that is bad
  }
  if (sample.key.empty()) sample.key = fmt::format("line {}", row_.line);
  sample.parts.push_back({"", std::make_shared<LiteralContent>("", where)});
  sample.fault = Error(error.code(), fmt::format("{}: {}", where, error.what()));
  return sample;
}

// --- several
// --------------------------------------------------------------------------------------

namespace {

std::unique_ptr<TableSource> open_table(const std::string& path, TableFormat format,
                                        const TableOptions& options) {
  if (path != "-") return std::make_unique<TableSource>(path, format, options);
  return std::make_unique<TableSource>(Fd(dup(STDIN_FILENO)), "standard input", "", format,
                                       options);
}

class TablesSource final : public Source {
 public:
  TablesSource(std::vector<std::string> paths, TableFormat format, const TableOptions& options)
      : paths_(std::move(paths)), format_(format), options_(options) {
    expected_bytes_ = total_size();
    open_next();
  }

  bool next(Sample& sample) override {
    for (;;) {
      const bool more = table_->next(sample);
      consumed_bytes_.store(consumed_before_ + table_->consumed_bytes(), std::memory_order_relaxed);
      if (more) return true;
      if (opened_ == paths_.size()) return false;
      open_next();
    }
  }
  bool is_rereadable() const override { return true; }
  Tally left_out() const override {
    Tally sum = left_out_before_;
    for (const auto& [reason, count] : table_->left_out()) sum[reason] += count;
    return sum;
  }
  std::uint64_t expected_bytes() const override { return expected_bytes_; }
  std::uint64_t consumed_bytes() const override {
    return consumed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  // 0 if one is not a file that knows its size.
  std::uint64_t total_size() const {
    std::uint64_t sum = 0;
    for (const std::string& path : paths_) {
      struct stat status {};
      if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
      sum += static_cast<std::uint64_t>(status.st_size);
    }
    return sum;
  }

  void open_next() {
    auto table = open_table(paths_[opened_], format_, options_);
    if (table_) {
      left_out_before_ = left_out();
      consumed_before_ += table_->consumed_bytes();
    }
    table_ = std::move(table);
    ++opened_;
  }

  const std::vector<std::string> paths_;
  const TableFormat format_;
  const TableOptions options_;
  std::size_t opened_ = 0;
  std::unique_ptr<TableSource> table_;
  Tally left_out_before_;
  std::uint64_t expected_bytes_ = 0, consumed_before_ = 0;
  std::atomic<std::uint64_t> consumed_bytes_{0};
};

}  // namespace

std::unique_ptr<Source> open_tables(std::vector<std::string> paths, TableFormat format,
                                    const TableOptions& options) {
  return std::make_unique<TablesSource>(std::move(paths), format, options);
}

}  // namespace prep
