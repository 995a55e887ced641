#include "tools/inspect_tables.h"

#include <algorithm>
#include <cmath>

#include "lib/core/report.h"

namespace prep {
namespace {

using Cell = ReportTable::Cell;

constexpr std::size_t kMostRows = 12;

Cell bytes_cell(double bytes) {
  Cell cell{human_bytes(static_cast<std::uint64_t>(std::max(bytes, 0.0)))};
  cell.is_number = true;
  return cell;
}
Cell count_cell(std::uint64_t count) { return number_cell(static_cast<double>(count)); }
Cell share_cell(std::uint64_t part, std::uint64_t all) {
  const double share = all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0;
  Cell cell{fmt::format("{:.1f} %", share)};
  cell.is_number = true;
  return cell;
}
Cell seconds_cell(double seconds) {
  Cell cell{human_seconds(seconds)};
  cell.is_number = true;
  return cell;
}
Cell ratio_cell(const measure::Interval& ratio) {
  Cell cell{human_share(ratio)};
  cell.is_number = true;
  cell.is_good = ratio.high < 0.9;
  cell.is_bad = ratio.low > 1.02;
  return cell;
}

// "(none)" where there is no name to show.
std::string shown(const std::string& name, const char* none) {
  return name.empty() ? none : printable(name);
}

ReportTable counts_table(const std::string& caption, const std::string& what,
                         const NameCounts& counts, std::uint64_t all, const char* none) {
  ReportTable table{caption, {what, "number", "share", "bytes", "each"}, {}};
  const auto add = [&](const std::string& name, const NameCounts::Entry& entry) {
    const auto bytes = static_cast<double>(entry.bytes);
    table.rows.push_back({text_cell(name), count_cell(entry.count), share_cell(entry.count, all),
                          bytes_cell(bytes), bytes_cell(bytes / static_cast<double>(entry.count))});
  };
  NameCounts::Entry others = counts.others();
  std::size_t left = 0;
  for (const auto& [name, entry] : counts.by_count()) {
    if (table.rows.size() < kMostRows) {
      add(shown(name, none), entry);
    } else {
      others.count += entry.count;
      others.bytes += entry.bytes;
      ++left;
    }
  }
  if (others.count > 0) add(left > 0 ? fmt::format("({} more)", left) : "(others)", others);
  return table;
}

std::string number_text(double value, int digits) { return number_cell(value, digits).text; }

template <typename F>
void add_quantiles(ReportTable& table, const std::string& name, const LogCounts& counts,
                   const F& cell) {
  std::vector<Cell> row{text_cell(name)};
  for (const double value : {counts.min(), counts.quantile(0.05), counts.quantile(0.5),
                             counts.quantile(0.95), counts.max()}) {
    row.push_back(cell(value));
  }
  table.rows.push_back(std::move(row));
}

void add_qualities(ReportTable& table, const Survey& survey) {
  std::vector<Cell> row{text_cell("JPEG quality (estimated)")};
  for (const double p : {0.0, 0.05, 0.5, 0.95, 1 - 1e-12}) {
    row.push_back(number_cell(survey.quality_quantile(p)));
  }
  table.rows.push_back(std::move(row));
}

ReportTable sizes_table(const Survey& survey) {
  ReportTable table{"Sizes (the inner ones within 2 %)",
                    {"", "smallest", "5 %", "median", "95 %", "largest"},
                    {}};
  const auto digits = [](int digits) {
    return [digits](double value) { return number_cell(value, digits); };
  };
  add_quantiles(table, "file", survey.part_bytes, bytes_cell);
  if (survey.pictures == 0) return table;
  add_quantiles(table, "short side, pixels", survey.short_sides, digits(0));
  add_quantiles(table, "megapixels", survey.megapixels, digits(2));
  add_quantiles(table, "width : height", survey.aspects, digits(2));
  if (survey.quality_quantile(0.5) > 0) add_qualities(table, survey);
  return table;
}

ReportTable pictures_table(const Survey& survey) {
  ReportTable table{"Pictures", {"", "number", "share"}, {}};
  const auto add = [&](const std::string& what, std::uint64_t count, std::uint64_t all) {
    if (count > 0) {
      table.rows.push_back({text_cell(what), count_cell(count), share_cell(count, all)});
    }
  };
  const std::uint64_t all = survey.pictures;
  add(fmt::format("short side of at most {}", kShortSide), survey.small, all);
  add("to be turned (orientation)", survey.rotated, all);
  add("like masks", survey.masks, all);
  add("16 bits a channel", survey.deep, all);
  for (const auto& [subsampling, count] : survey.subsamplings) {
    add("JPEG " + subsampling, count, survey.jpegs);
  }
  for (const auto& [color, count] : survey.colors) {
    // Grey has no subsampling: it is there already.
    if (survey.subsamplings.count(color) == 0) add("JPEG " + color, count, survey.jpegs);
  }
  add("JPEG, progressive", survey.progressive, survey.jpegs);
  add("JPEG with a colour profile", survey.with_icc, survey.jpegs);
  return table;
}

ReportTable classes_table(const Survey& survey, const NameCounts& classes) {
  const auto sorted = classes.by_count();
  const bool are_labels = &classes == &survey.labels;
  ReportTable table = counts_table(
      fmt::format("Classes, by {}: {}{}", are_labels ? "part cls" : "directory",
                  classes.is_complete() ? "" : "more than ", human_count(sorted.size())),
      "class", classes, survey.samples, "(none)");
  if (sorted.size() > kMostRows) {
    const auto& [name, entry] = sorted.back();
    table.rows.push_back(
        {text_cell("smallest: " + shown(name, "(none)")), count_cell(entry.count),
         share_cell(entry.count, survey.samples), bytes_cell(static_cast<double>(entry.bytes)),
         bytes_cell(static_cast<double>(entry.bytes) / static_cast<double>(entry.count))});
  }
  if (are_labels && survey.unlabelled > 0) {
    table.rows.push_back({text_cell("without a cls"), count_cell(survey.unlabelled),
                          share_cell(survey.unlabelled, survey.samples), text_cell(""),
                          text_cell("")});
  }
  return table;
}

ReportTable copies_table(const DuplicateFinder& finder) {
  ReportTable table{
      fmt::format("Copies that could be left out: {}, {}", human_count(finder.superfluous()),
                  human_bytes(finder.superfluous_bytes())),
      {"one", "another", "copies", "bytes each"},
      {}};
  for (const DuplicateFinder::Group& group : finder.groups(kMostRows)) {
    table.rows.push_back({text_cell(shown(group.first, "(in a stream)")),
                          text_cell(shown(group.second, "(in a stream)")), count_cell(group.copies),
                          bytes_cell(static_cast<double>(group.bytes_each))});
  }
  return table;
}

ReportTable variants_table(const Inspection& inspection) {
  const PictureTrial& trial = inspection.pictures;
  ReportTable table{
      fmt::format("Pictures prepared: measured on {} samples, projected to all {} (95 % intervals)",
                  human_count(trial.tried), human_count(inspection.survey->picture_samples)),
      {"pictures", "bytes", "of now", "decoding an epoch", "of now", "preparing, once"},
      {}};
  for (std::size_t v = 0; v < trial.projections.size(); ++v) {
    const PictureProjection& one = trial.projections[v];
    const bool is_new = v > 0;
    std::vector<Cell> row{text_cell(picture_variants()[v].title),
                          bytes_cell(one.bytes.value),
                          is_new ? ratio_cell(one.bytes_ratio) : text_cell(""),
                          seconds_cell(one.decode_seconds.value),
                          is_new ? ratio_cell(one.decode_ratio) : text_cell(""),
                          is_new ? seconds_cell(one.make_seconds.value) : text_cell("")};
    for (std::size_t i = 1; i < row.size(); ++i) row[i].is_number = true;
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string range_text(double least, double most, int digits) {
  const std::string low = number_text(least, digits), high = number_text(most, digits);
  return low == high ? low : low + " to " + high;
}

ReportTable recordings_table(const Inspection& inspection) {
  const RecordingTrial& trial = inspection.recordings;
  const Survey& survey = *inspection.survey;
  ReportTable table{fmt::format("Recordings: measured on {} samples, projected to all {}",
                                human_count(trial.tried), human_count(survey.recording_samples)),
                    {"", "all of them", "95 % interval"},
                    {}};
  const auto add = [&](const std::string& what, const std::string& value,
                       const std::string& interval) {
    table.rows.push_back({text_cell(what), text_cell(value), text_cell(interval)});
  };
  const auto between = [](const measure::Interval& interval, const auto& text) {
    if (interval.low == interval.high) return std::string();
    return std::isinf(interval.high) ? "open" : text(interval.low) + " to " + text(interval.high);
  };
  const auto hours = [](double value) { return number_text(value, 1); };
  const auto bytes = [](double value) {
    return human_bytes(static_cast<std::uint64_t>(std::max(value, 0.0)));
  };
  add("channels",
      range_text(static_cast<double>(trial.least_channels),
                 static_cast<double>(trial.most_channels), 0),
      "");
  add("rate, Hz", range_text(trial.least_rate, trial.most_rate, 0), "");
  add("length",
      human_seconds(trial.shortest) == human_seconds(trial.longest)
          ? human_seconds(trial.shortest)
          : human_seconds(trial.shortest) + " to " + human_seconds(trial.longest),
      "");
  add("hours of signal", hours(trial.hours.value), between(trial.hours, hours));
  add("recordings", human_bytes(survey.recording_bytes), "");
  add("spectrograms", bytes(trial.array_bytes.value), between(trial.array_bytes, bytes));
  add("of the recordings", human_share(trial.array_ratio), "");
  add("CPU to make them", human_seconds(trial.make_seconds.value),
      between(trial.make_seconds, human_seconds));
  add("CPU to load them", human_seconds(trial.load_seconds.value),
      between(trial.load_seconds, human_seconds));
  return table;
}

ReportTable reading_table(const Inspection& inspection) {
  const ReadingTrial& trial = inspection.reading;
  ReportTable table{
      fmt::format("Reading with one thread, {}: measured on {} samples, projected to all",
                  trial.is_cold ? "from the storage" : "from memory", human_count(trial.samples)),
      {"", "all samples", "95 % interval", "samples/s", "MB/s"},
      {}};
  const Survey& survey = *inspection.survey;
  const auto add = [&](const std::string& what, double seconds, const std::string& interval) {
    const double time = std::max(seconds, 1e-9);
    table.rows.push_back({text_cell(what), seconds_cell(seconds), text_cell(interval),
                          number_cell(static_cast<double>(survey.samples) / time),
                          number_cell(static_cast<double>(survey.bytes) / 1e6 / time, 1)});
  };
  add("as it lies, at random", trial.seconds.value,
      trial.seconds.low == trial.seconds.high || std::isinf(trial.seconds.high)
          ? ""
          : human_seconds(trial.seconds.low) + " to " + human_seconds(trial.seconds.high));
  if (trial.has_packed) add("packed in a tar", trial.packed_seconds, "");
  return table;
}

}  // namespace

std::vector<ReportTable> survey_tables(const Inspection& inspection) {
  const Survey& survey = *inspection.survey;
  std::vector<ReportTable> tables;
  if (!survey.formats.entries().empty()) {
    tables.push_back(counts_table("Formats, by the first bytes", "format", survey.formats,
                                  survey.pictures + survey.recordings, "(none)"));
    tables.push_back(sizes_table(survey));
  }
  if (survey.pictures > 0) tables.push_back(pictures_table(survey));
  tables.push_back(
      counts_table("Samples by their parts", "parts", survey.part_sets, survey.samples, "(none)"));
  if (const NameCounts* classes = classes_of(survey)) {
    tables.push_back(classes_table(survey, *classes));
  }
  if (survey.duplicates.superfluous() > 0) tables.push_back(copies_table(survey.duplicates));
  return tables;
}

std::vector<ReportTable> trial_tables(const Inspection& inspection) {
  std::vector<ReportTable> tables;
  if (!inspection.pictures.projections.empty()) tables.push_back(variants_table(inspection));
  if (inspection.recordings.tried > 0) tables.push_back(recordings_table(inspection));
  if (inspection.reading.samples > 0) tables.push_back(reading_table(inspection));
  return tables;
}

std::vector<std::string> inspection_notes(const Inspection& inspection) {
  const Survey& survey = *inspection.survey;
  const PictureTrial& pictures = inspection.pictures;
  std::vector<std::string> notes;
  for (const auto& [reason, count] : survey.left_out) {
    notes.push_back(fmt::format("left out: {} {}", human_count(count), reason));
  }
  if (pictures.is_limited) {
    notes.push_back(fmt::format(
        "{} of {} chosen samples were tried: that is {:.0f} gigapixels already",
        human_count(pictures.checked), human_count(survey.chosen.size()), kMostTriedPixels / 1e9));
  }
  if (inspection.recordings.is_limited) {
    notes.push_back(fmt::format("recordings were tried up to {}", human_bytes(kMostTriedBytes)));
  }
  if (survey.memory_was_short) {
    notes.emplace_back("fewer samples than asked for were chosen: no more fit into 1 GiB");
  }
  if (!survey.duplicates.is_exact()) {
    notes.push_back(fmt::format("copies were looked for among {:.2g} % of the contents",
                                survey.duplicates.share_noted() * 100));
  }
  if (pictures.with_warnings > 0) {
    notes.push_back(fmt::format("{} of {} decoded samples are not quite sound, first {}",
                                human_count(pictures.with_warnings), human_count(pictures.checked),
                                pictures.warning_example));
  }
  if (!pictures.projections.empty()) {
    notes.push_back(
        fmt::format("times are of CPU, with {} thread{} at work at once; divide them by the "
                    "threads of a loader",
                    pictures.threads, pictures.threads == 1 ? "" : "s"));
  }
  return notes;
}

std::string inspection_subtitle(const Inspection& inspection) {
  const Survey& survey = *inspection.survey;
  const std::uint64_t tried = std::max(inspection.pictures.checked, inspection.recordings.tried);
  return fmt::format("{} samples, {} files or parts, {}, looked at in {}; {} samples tried",
                     human_count(survey.samples), human_count(survey.parts),
                     human_bytes(survey.bytes), human_seconds(survey.seconds), human_count(tried));
}

}  // namespace prep
