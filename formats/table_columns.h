// What the columns of a table are for, as told by their names or by options.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/table_options.h"

namespace prep {

// Uses that a column's name can tell: "file_name", "image" … a path; "label", "class" … a label;
// "caption", "text" … a text; "key", "id" … what a sample is called.
enum class ColumnUse { path, label, text, key };

// The column whose name tells this use; of several, the one whose name says it best. Upper and
// lower case are the same, and so are "_", "-" and spaces.
std::optional<std::size_t> find_column_for(ColumnUse use, const std::vector<std::string>& names);
bool tells_use(ColumnUse use, std::string_view name);

// The column of this name, else of this number (from 1) if it is one.
std::optional<std::size_t> find_column(std::string_view wanted,
                                       const std::vector<std::string>& names);
bool is_column_number(std::string_view wanted);

// "'a', 'b'", for messages; cut short if there are many.
std::string list_columns(const std::vector<std::string>& names);

// Names for a table without any: "1", "2", ….
std::vector<std::string> numbered_columns(std::size_t count);

// The names that a header row gives: a column without a name is called by its number.
// `where` is for messages. throws Error usage for a name that comes twice.
std::vector<std::string> header_columns(std::vector<std::string> row, std::string_view where);

// What each column of one row is for.
struct Columns {
  // In the order of the options or the table; nullopt for one that this row does not have.
  std::vector<std::optional<std::size_t>> paths;
  std::optional<std::size_t> label, text;
};

// By the options, where they name columns, else by the columns' names: for paths the one that says
// it best, or all that end in "_file_name"; none if no name tells. Remembers which columns of the
// options it met. throws Error usage for a column that is to be two things at once.
class ColumnFinder {
 public:
  explicit ColumnFinder(const TableOptions& options)
      : options_(options), paths_met_(options.path_columns.size()) {}
  Columns find(const std::vector<std::string>& names);
  // The first column of the options that was in no row so far.
  std::optional<std::string> missing() const;

 private:
  void find_label(const std::vector<std::string>& names, Columns& columns);

  const TableOptions options_;
  std::vector<bool> paths_met_;
  bool label_met_ = false;
};

}  // namespace prep
