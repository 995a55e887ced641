#include "tools/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "lib/core/file_io.h"
#include "lib/core/report.h"

namespace prep {
namespace {

// The characters of UTF-8 text, as good as its width on a terminal.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

std::vector<std::size_t> column_widths(const ReportTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.head) widths.push_back(width_of(name));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  return widths;
}

}  // namespace

ReportTable::Cell text_cell(std::string text) { return {std::move(text)}; }

ReportTable::Cell number_cell(double value, int digits) {
  const double factor = std::pow(10, digits);
  const auto scaled = static_cast<std::uint64_t>(std::llround(std::abs(value) * factor));
  const auto unit = static_cast<std::uint64_t>(factor);
  std::string text = fmt::format("{}{}", value < 0 ? "-" : "", human_count(scaled / unit));
  if (digits > 0) text += fmt::format(".{:0{}}", scaled % unit, digits);
  ReportTable::Cell cell{std::move(text)};
  cell.is_number = true;
  return cell;
}

std::string table_text(const ReportTable& table) {
  const std::vector<std::size_t> widths = column_widths(table);
  const auto is_number = [&](std::size_t i) {
    return !table.rows.empty() && table.rows[0][i].is_number;
  };
  std::string text = table.caption + "\n";
  const auto add_line = [&](const auto& text_of) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += (i ? "  " : "  ") + padded(text_of(i), widths[i], is_number(i));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](std::size_t i) { return table.head[i]; });
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i].text; });
  return text;
}

void write_report(const std::string& path, const std::string& text) {
  AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
  file.write(as_bytes(text));
  file.commit();
}

}  // namespace prep
