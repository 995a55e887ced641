// Tables (CSV, TSV, JSONL) as sources of samples: a row is a sample.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/table_columns.h"
#include "formats/table_reader.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"
#include "lib/core/table_options.h"

namespace prep {

// The columns of paths become the parts that are files, the label's column "cls", the text's "txt",
// and all others one "json", an object of column name to value (see docs/tables.md). Paths are
// opaque bytes, relative to the table's directory; a key is made of the first one as it is of an
// entry of a list. A sample's parts stand in the bytewise order of their names, as a directory
// would give them.
//
// A row that cannot be a sample (no path, a path with "..", a value that is not UTF-8) is a faulty
// one; a text that cannot be split into rows ends the run. Nothing grows with the number of rows.
class TableSource final : public Source {
 public:
  // Relative paths in what is no regular file (a pipe) start from the working directory.
  // throws Error not_found, io; usage for a directory, or if there is no telling which column holds
  // the paths: the message lists the columns.
  TableSource(const std::string& path, TableFormat format, const TableOptions& options);
  // `name` is for messages: "standard input". Relative paths start from `directory`.
  TableSource(Fd input, std::string name, std::string directory, TableFormat format,
              const TableOptions& options);

  bool next(Sample& sample) override;
  bool is_rereadable() const override { return true; }
  Tally left_out() const override;
  // Of the table, not of the files in it.
  std::uint64_t expected_bytes() const override { return expected_bytes_; }
  std::uint64_t consumed_bytes() const override {
    return consumed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  void read_first_row();
  void know_header();
  bool is_header() const;
  bool is_file(const Cell& cell) const;
  void know_columns();
  void know_json_keys();
  [[noreturn]] void fail_no_paths(bool header) const;
  bool next_row();

  bool build(Sample& sample);
  std::string path_in(std::optional<std::size_t> column) const;
  std::shared_ptr<const Content> file(const std::string& path) const;
  void add_other_files(Sample& sample);
  void add_literals(Sample& sample) const;
  void add_literal(Sample& sample, std::string_view part, const std::string& column,
                   std::string text) const;
  std::string json_object() const;
  std::string column_part(std::size_t column) const;
  Sample faulty(const Error& error) const;

  std::string name_;
  std::string directory_;  // "" for the working directory
  TableFormat format_;
  TableOptions options_;
  std::unique_ptr<TableReader> reader_;
  ColumnFinder finder_;
  std::int64_t mtime_ns_ = 0;
  TableRow row_;
  bool has_row_ = false;                // row_ is one that next() has not seen yet
  std::vector<std::string> names_;      // of row_'s columns
  Columns columns_;                     // what they are for
  std::vector<std::string> json_keys_;  // by column: "\"name\":", or "" for one of paths
  Tally left_out_;
  std::uint64_t expected_bytes_ = 0;
  std::atomic<std::uint64_t> consumed_bytes_{0};
};

// Tables one after another, each of which is opened when the one before it has ended; "-" is
// standard input. The first one is opened at once, so that wrong options show before any work.
std::unique_ptr<Source> open_tables(std::vector<std::string> paths, TableFormat format,
                                    const TableOptions& options);

}  // namespace prep
