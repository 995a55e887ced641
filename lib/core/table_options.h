// How a table (CSV, TSV, JSONL) is read as an input. docs/tables.md has the rules.
#pragma once

#include <string>
#include <vector>

namespace prep {

struct TableOptions {
  enum class Header { automatic, yes, no };

  // The columns that hold paths of files, by name or by number from 1. A sample has a part for each
  // and is called by the first. Empty: told by the columns' names.
  std::vector<std::string> path_columns = {};
  // The column that becomes the part "cls"; empty: told by the columns' names.
  std::string label_column = {};
  // Whether the first row of a CSV or TSV holds the columns' names.
  Header header = Header::automatic;
};

}  // namespace prep
