#include "tools/bench_report.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <opencv2/core/utility.hpp>

#include "lib/core/file_io.h"
#include "lib/core/report.h"
#include "lib/core/version.h"
#include "lib/image/rgb_decoder.h"
#include "lib/measure/machine.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;
using Table = BenchReport::Table;

// The characters of UTF-8 text, as good as its width on a terminal.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (const std::string& name : table.head) widths.push_back(width_of(name));
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i].text));
    }
  }
  return widths;
}

std::string table_text(const Table& table) {
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

// Which JPEG library OpenCV was built with: "/usr/lib/x86_64-linux-gnu/libjpeg.so (ver 62)".
std::string opencv_jpeg() {
  const std::string information = cv::getBuildInformation();
  const std::size_t begin = information.find("JPEG:");
  if (begin == std::string::npos) return "";
  const std::size_t end = information.find('\n', begin);
  std::string value = information.substr(begin + 5, end - begin - 5);
  value.erase(0, value.find_first_not_of(' '));
  return json_text(value);
}

std::string machine_sentence(const Json& machine) {
  const Json& cpu = machine["cpu"];
  const std::string model = cpu["model"].get<std::string>();
  const std::string governor = cpu["governor"].get<std::string>();
  return fmt::format("{}, {} of {} CPUs usable{}, {}, load {:.1f}",
                     model.empty() ? "a CPU of unknown model" : model, cpu["usable"].get<int>(),
                     cpu["cpus"].get<int>(), governor.empty() ? "" : ", governor " + governor,
                     machine["kernel"].get<std::string>(), machine["load"].get<double>());
}

void write_file(const std::string& path, const std::string& text) {
  AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
  file.write(as_bytes(text));
  file.commit();
}

std::string html_text(const BenchReport& report) {
  measure::HtmlPage page(report.title, report.subtitle);
  page.heading("Result");
  page.figures(report.figures);
  for (const std::string& sentence : report.sentences) page.paragraph(sentence);
  for (const std::string& note : report.notes) page.note(note);
  for (const BenchReport::Chart& chart : report.charts) page.chart(chart.caption, chart.svg);
  page.heading("Measurements");
  for (const Table& table : report.tables) page.table(table.caption, table.head, table.rows);
  page.heading("Where it was measured");
  page.paragraph(machine_sentence(report.json["machine"]));
  std::vector<std::vector<BenchReport::Cell>> rows;
  for (const Json& one : report.json["storage"]) {
    rows.emplace_back();
    for (const char* key : {"path", "file_system", "kind", "model", "device"}) {
      rows.back().push_back(text_cell(one[key].get<std::string>()));
    }
  }
  page.table("Storage", {"path", "file system", "kind", "model", "device"}, rows);
  rows.clear();
  for (const auto& [name, version] : report.json["libraries"].items()) {
    rows.push_back({text_cell(name), text_cell(version.get<std::string>())});
  }
  page.table("Libraries", {"library", "version"}, rows);
  return page.text();
}

}  // namespace

void add_surroundings(BenchReport& report, const std::string& mode,
                      const std::vector<std::string>& paths) {
  Json storage = Json::array();
  for (const std::string& path : paths) storage.push_back(measure::describe_storage(path));
  report.title = "prep-bench " + mode;
  report.json["tool"] = "prep-bench";
  report.json["version"] = kVersion;
  report.json["mode"] = mode;
  report.json["machine"] = measure::describe_machine();
  report.json["storage"] = std::move(storage);
  report.json["libraries"] = {{"jpeg", image::libjpeg_version()},
                              {"opencv", cv::getVersionString()},
                              {"opencv_jpeg", opencv_jpeg()}};
}

std::string report_text(const BenchReport& report) {
  std::string text = report.title + ": " + report.subtitle + "\n";
  text += "on " + machine_sentence(report.json["machine"]) + "\n";
  for (const Table& table : report.tables) text.append(1, '\n').append(table_text(table));
  if (!report.sentences.empty()) text += "\n";
  for (const std::string& sentence : report.sentences) text += sentence + "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

void publish(const BenchReport& report, const std::string& json_path,
             const std::string& html_path) {
  write_fully(STDOUT_FILENO, as_bytes(report_text(report)), "standard output");
  if (!json_path.empty()) {
    write_file(json_path, report.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (!html_path.empty()) write_file(html_path, html_text(report));
}

BenchReport::Cell text_cell(std::string text) { return {std::move(text)}; }

BenchReport::Cell number_cell(double value, int digits) {
  const double factor = std::pow(10, digits);
  const auto scaled = static_cast<std::uint64_t>(std::llround(std::abs(value) * factor));
  const auto unit = static_cast<std::uint64_t>(factor);
  std::string text = fmt::format("{}{}", value < 0 ? "-" : "", human_count(scaled / unit));
  if (digits > 0) text += fmt::format(".{:0{}}", scaled % unit, digits);
  BenchReport::Cell cell{std::move(text)};
  cell.is_number = true;
  return cell;
}

nlohmann::ordered_json moments_json(const measure::Moments& moments) {
  return {{"mean", moments.mean},
          {"deviation", moments.deviation},
          {"min", moments.min},
          {"max", moments.max}};
}

}  // namespace prep
