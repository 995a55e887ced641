#include "tools/inspect_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/report.h"
#include "lib/image/resize.h"
#include "lib/measure/html_page.h"
#include "lib/measure/machine.h"
#include "lib/measure/svg_chart.h"
#include "tools/inspect_tables.h"
#include "tools/reopened.h"

namespace prep {
namespace {

using measure::HtmlPage;

constexpr int kThumbnail = 180;  // pixels of the long side
constexpr int kThumbnailQuality = 75;

class Page {
 public:
  Page(const Inspection& inspection, const std::vector<Advice>& advice,
       const SurveyOptions& options)
      : inspection_(inspection),
        survey_(*inspection.survey),
        advice_(advice),
        options_(options),
        page_(title(), inspection_subtitle(inspection)) {}

  std::string text() {
    add_result();
    add_trials();
    add_survey();
    add_odd_pictures();
    page_.heading("How it was measured");
    page_.paragraph(measure::machine_sentence(measure::describe_machine()));
    for (const std::string& note : inspection_notes(inspection_)) page_.paragraph(note);
    return page_.text();
  }

 private:
  std::string title() const {
    std::string title = "prep-inspect";
    for (std::size_t i = 0; i < std::min<std::size_t>(inspection_.words.size(), 3); ++i) {
      title += " " + printable(inspection_.words[i]);
    }
    return inspection_.words.size() > 3 ? title + " …" : title;
  }

  void add_result() {
    page_.heading("Result");
    std::vector<HtmlPage::Figure> figures{
        {"samples", human_count(survey_.samples), human_bytes(survey_.bytes)}};
    const auto& projections = inspection_.pictures.projections;
    if (!projections.empty()) {
      figures.push_back(
          {"decoding an epoch", human_seconds(projections[0].decode_seconds.value), "of CPU"});
      figures.push_back({"resized to 256", human_ratio(projections[1].decode_ratio.value),
                         "of the time to decode"});
      figures.push_back(
          {"resized to 256", human_ratio(projections[1].bytes_ratio.value), "of the bytes"});
    }
    if (inspection_.recordings.tried > 0) {
      figures.push_back({"spectrograms", human_seconds(inspection_.recordings.make_seconds.value),
                         "of CPU to make all"});
    }
    const std::uint64_t bad = survey_.bad + inspection_.pictures.bad + inspection_.recordings.bad;
    figures.push_back({"bad samples", human_count(bad), "headers of all, and what was tried"});
    page_.figures(figures);
    for (const Advice& one : advice_) {
      one.kind == Advice::Kind::note ? page_.note(one.text) : page_.paragraph(one.text);
      if (!one.command.empty()) page_.code(printable(one.command));
    }
  }

  static std::string human_ratio(double ratio) { return fmt::format("{:.0f} %", ratio * 100); }

  void add_tables(const std::vector<ReportTable>& tables) {
    for (const ReportTable& table : tables) page_.table(table.caption, table.head, table.rows);
  }

  void add_trials() {
    const std::vector<ReportTable> tables = trial_tables(inspection_);
    if (tables.empty()) return;
    page_.heading("What preparing would bring");
    const auto& projections = inspection_.pictures.projections;
    if (!projections.empty()) {
      add_bars("Bytes of all pictures", "GB", 1e-9, &PictureProjection::bytes);
      add_bars("CPU seconds to decode all pictures, which every epoch costs", "s", 1,
               &PictureProjection::decode_seconds);
    }
    add_tables(tables);
  }

  void add_bars(const std::string& title, std::string unit, double scale,
                measure::Interval PictureProjection::*member) {
    const auto& projections = inspection_.pictures.projections;
    if (unit == "GB" && (projections[0].*member).value < 1e9) {
      unit = "MB";
      scale = 1e-6;
    }
    std::vector<measure::Bar> bars;
    for (std::size_t v = 0; v < projections.size(); ++v) {
      const measure::Interval& interval = projections[v].*member;
      const bool is_open = !std::isfinite(interval.high);
      bars.push_back({picture_variants()[v].title, interval.value * scale,
                      is_open ? 0 : interval.low * scale, is_open ? 0 : interval.high * scale});
    }
    page_.chart(title + "; the lines are 95 % intervals", measure::bar_chart(title, unit, bars));
  }

  void add_histogram(const std::string& title, const std::string& label,
                     const measure::Histogram& histogram) {
    const std::string svg = measure::histogram_chart(title, label, histogram);
    if (!svg.empty()) page_.chart(title, svg);
  }

  void add_survey() {
    page_.heading("What is there");
    if (survey_.part_bytes.count() > 0) {
      add_histogram("Files by their size", "bytes", survey_.part_bytes.histogram());
    }
    if (survey_.pictures > 0) {
      add_histogram("Pictures by their short side", "short side, pixels",
                    survey_.short_sides.histogram());
      add_histogram("Pictures by their shape", "width : height", survey_.aspects.histogram());
    }
    if (survey_.quality_quantile(0.5) > 0) {
      add_histogram("JPEGs by their quality, estimated from the quantization tables", "quality",
                    qualities());
    }
    add_class_sizes();
    add_tables(survey_tables(inspection_));
  }

  measure::Histogram qualities() const {
    measure::Histogram histogram;
    constexpr int kStep = 4;
    for (int quality = 1; quality <= 100; quality += kStep) {
      double count = 0;
      for (int q = quality; q < quality + kStep; ++q) {
        count += static_cast<double>(survey_.qualities[q]);
      }
      histogram.edges.push_back(quality);
      histogram.counts.push_back(count);
    }
    histogram.edges.push_back(101);
    return histogram;
  }

  void add_class_sizes() {
    constexpr std::size_t kMany = 20;
    const NameCounts* classes = classes_of(survey_);
    if (classes == nullptr || classes->entries().size() < kMany) return;
    LogCounts sizes;
    for (const auto& [name, entry] : classes->entries()) {
      sizes.add(static_cast<double>(entry.count));
    }
    add_histogram("Classes by their number of samples", "samples", sizes.histogram());
  }

  void add_odd_pictures() {
    bool any = false;
    image::ResizeOptions options;
    options.short_side.reset();
    options.long_side = kThumbnail;
    options.quality = kThumbnailQuality;
    options.allow_truncated = true;
    options.max_pixels = options_.limits.max_pixels;
    options.max_scans = options_.limits.max_scans;
    image::Resizer resizer(options);
    for (const auto& [what, odd] : survey_.odd) {
      std::vector<HtmlPage::Picture> pictures;
      for (const OddPicture& one : odd) add_thumbnail(resizer, one, pictures);
      if (pictures.empty()) continue;
      if (!any) page_.heading("Odd pictures");
      any = true;
      page_.contact_sheet(what, pictures);
    }
  }

  static void add_thumbnail(image::Resizer& resizer, const OddPicture& odd,
                            std::vector<HtmlPage::Picture>& pictures) {
    const std::string name = printable(odd.content->origin());
    std::string facts = fmt::format("{} × {} {}, {}", odd.facts.width, odd.facts.height,
                                    image::name(odd.facts.format), human_bytes(odd.bytes));
    if (odd.facts.quality > 0) facts += fmt::format(", quality {}", odd.facts.quality);
    try {
      Bytes image = resizer.resize(reopened(odd.content)->load()).data;
      constexpr std::size_t kLargest = 256 << 10;  // small ones pass as they are, profiles and all
      if (image.size() > kLargest) return;
      const image::Format format = image::sniff(image.view());
      if (format != image::Format::jpeg && format != image::Format::png) return;
      pictures.push_back({std::move(image), name + ": " + facts, name});
    } catch (const Error& error) {
      // It was named as a bad one already, if it was among those that were tried.
      if (error.code() == Code::interrupted) throw;
    }
  }

  const Inspection& inspection_;
  const Survey& survey_;
  const std::vector<Advice>& advice_;
  const SurveyOptions& options_;
  HtmlPage page_;
};

}  // namespace

std::string inspection_page(const Inspection& inspection, const std::vector<Advice>& advice,
                            const SurveyOptions& options) {
  return Page(inspection, advice, options).text();
}

}  // namespace prep
