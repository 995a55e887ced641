#include "tools/bench_report.h"

#include <unistd.h>

#include <opencv2/core/utility.hpp>

#include "lib/core/file_io.h"
#include "lib/core/report.h"
#include "lib/core/version.h"
#include "lib/image/rgb_decoder.h"
#include "lib/measure/machine.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;

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

std::string html_text(const BenchReport& report) {
  measure::HtmlPage page(report.title, report.subtitle);
  page.heading("Result");
  page.figures(report.figures);
  for (const std::string& sentence : report.sentences) page.paragraph(sentence);
  for (const std::string& note : report.notes) page.note(note);
  for (const BenchReport::Chart& chart : report.charts) page.chart(chart.caption, chart.svg);
  page.heading("Measurements");
  for (const ReportTable& table : report.tables) page.table(table.caption, table.head, table.rows);
  page.heading("Where it was measured");
  page.paragraph(measure::machine_sentence(report.json["machine"]));
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
  text += "on " + measure::machine_sentence(report.json["machine"]) + "\n";
  for (const ReportTable& table : report.tables) text.append(1, '\n').append(table_text(table));
  if (!report.sentences.empty()) text += "\n";
  for (const std::string& sentence : report.sentences) text += sentence + "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

void publish(const BenchReport& report, const std::string& json_path,
             const std::string& html_path) {
  write_fully(STDOUT_FILENO, as_bytes(report_text(report)), "standard output");
  if (!json_path.empty()) {
    write_report(json_path, report.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (!html_path.empty()) write_report(html_path, html_text(report));
}

nlohmann::ordered_json moments_json(const measure::Moments& moments) {
  return {{"mean", moments.mean},
          {"deviation", moments.deviation},
          {"min", moments.min},
          {"max", moments.max}};
}

}  // namespace prep
