// Tables of reports: the same ones as text on a terminal and in HTML.
#pragma once

#include <string>
#include <vector>

#include "lib/measure/html_page.h"

namespace prep {

struct ReportTable {
  using Cell = measure::HtmlPage::Cell;
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
};

ReportTable::Cell text_cell(std::string text);
ReportTable::Cell number_cell(double value, int digits = 0);  // "12,345.6"

// In columns, each as wide as its widest cell; numbers to the right.
std::string table_text(const ReportTable& table);

// Writes a report's file, which appears when it is complete. throws Error io.
void write_report(const std::string& path, const std::string& text);

}  // namespace prep
