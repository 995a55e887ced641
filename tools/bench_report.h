// What a benchmark has found, for people (text, HTML) and for programs (JSON).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/measure/html_page.h"
#include "lib/measure/statistics.h"
#include "tools/report_text.h"

namespace prep {

struct BenchReport {
  using Cell = ReportTable::Cell;
  using Table = ReportTable;
  struct Chart {
    std::string caption, svg;
  };

  std::string title, subtitle;
  std::vector<measure::HtmlPage::Figure> figures;  // the answers
  std::vector<std::string> sentences;              // the same in words
  std::vector<Table> tables;
  std::vector<Chart> charts;       // HTML only
  std::vector<std::string> notes;  // what to know before one trusts the figures
  nlohmann::ordered_json json;     // all of it
};

// Puts machine, storage below the paths, and versions of the libraries into the report: the JSON
// members "tool", "version", "machine", "storage", "libraries".
void add_surroundings(BenchReport& report, const std::string& mode,
                      const std::vector<std::string>& paths);

std::string report_text(const BenchReport& report);
// Prints the text to standard output; writes the files where their paths are not empty.
void publish(const BenchReport& report, const std::string& json_path, const std::string& html_path);

// {"mean", "deviation", "min", "max"}.
nlohmann::ordered_json moments_json(const measure::Moments& moments);

}  // namespace prep
