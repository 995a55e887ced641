#include "tools/bench_decode_report.h"

#include <algorithm>
#include <map>

#include "lib/measure/svg_chart.h"
#include "tools/bench_threads.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;
using measure::Moments;
using Cell = BenchReport::Cell;

constexpr double kShakyDeviation = 0.05;  // of the mean

Moments rates(double amount, const std::vector<double>& seconds) {
  std::vector<double> values;
  for (const double one : seconds) values.push_back(amount / std::max(one, 1e-9));
  return measure::moments_of(values);
}

Moments images_per_second(const DecodeCase& what) {
  return rates(static_cast<double>(what.set->pictures.size()), what.seconds);
}
// What others take of the CPUs does not show in this one.
Moments images_per_cpu_second(const DecodeCase& what) {
  return rates(static_cast<double>(what.set->pictures.size()), what.cpu_seconds);
}
Moments megabytes_per_second(const DecodeCase& what) {
  return rates(static_cast<double>(what.set->bytes()) / 1e6, what.seconds);
}
Moments megapixels_per_second(const DecodeCase& what) {
  return rates(what.set->megapixels(), what.seconds);
}

std::string place(const DecodeCase& what) { return what.from_disk ? "disk" : "memory"; }

std::string set_title(const PictureSet& set) {
  return set.variant == "raw" ? set.name : set.name + ", " + set.variant;
}

Json case_json(const DecodeCase& what) {
  return {{"set", what.set->name},
          {"variant", what.set->variant},
          {"decoder", what.decoder->name},
          {"from", place(what)},
          {"threads", what.threads},
          {"seconds", what.seconds},
          {"cpu_seconds", what.cpu_seconds},
          {"images_per_s", moments_json(images_per_second(what))},
          {"images_per_cpu_s", moments_json(images_per_cpu_second(what))},
          {"megabytes_per_s", moments_json(megabytes_per_second(what))},
          {"megapixels_per_s", moments_json(megapixels_per_second(what))}};
}

Json set_json(const PictureSet& set) {
  return {{"set", set.name},
          {"variant", set.variant},
          {"pictures", set.pictures.size()},
          {"bytes", set.bytes()},
          {"megapixels", set.megapixels()}};
}

Json agreement_json(const Agreement& agreement) {
  return {{"decoder", agreement.decoder->name},
          {"pictures", agreement.pictures},
          {"differing", agreement.differing},
          {"worst_mean_difference", agreement.worst},
          {"worst", json_text(agreement.worst_origin)}};
}

Json settings_json(const DecodeBenchOptions& options) {
  Json decoders = Json::array();
  for (const DecoderKind* kind : options.decoders) decoders.push_back(kind->name);
  return {{"decoders", decoders},
          {"variants", options.variants},
          {"samples", options.choice.count},
          {"seed", options.choice.seed},
          {"warmup", options.warmup},
          {"runs", options.runs},
          {"threads", options.threads},
          {"cpus", usable_cpus()}};
}

BenchReport::Table table_of(const DecodeMeasurements& results) {
  BenchReport::Table table;
  table.caption = "Pictures decoded a second: mean and standard deviation over the runs";
  table.head = {"pictures", "decoder",      "from", "threads", "images/s",
                "±",        "a CPU second", "MB/s", "Mpixel/s"};
  for (const DecodeCase& what : results.cases) {
    const Moments images = images_per_second(what);
    table.rows.push_back({text_cell(set_title(*what.set)), text_cell(what.decoder->title),
                          text_cell(place(what)), number_cell(what.threads),
                          number_cell(images.mean), number_cell(images.deviation, 1),
                          number_cell(images_per_cpu_second(what).mean),
                          number_cell(megabytes_per_second(what).mean, 1),
                          number_cell(megapixels_per_second(what).mean, 1)});
  }
  return table;
}

BenchReport::Table table_of_sets(const DecodeMeasurements& results) {
  BenchReport::Table table;
  table.caption = "What was decoded";
  table.head = {"pictures", "count", "MB", "kB each", "Mpixel each"};
  for (const PictureSet& set : results.sets) {
    const auto count = static_cast<double>(set.pictures.size());
    const auto bytes = static_cast<double>(set.bytes());
    table.rows.push_back({text_cell(set_title(set)), number_cell(count),
                          number_cell(bytes / 1e6, 1), number_cell(bytes / count / 1e3, 1),
                          number_cell(set.megapixels() / count, 3)});
  }
  return table;
}

// The cases that a comparison is made of: of one set, from one place, with one number of threads.
std::vector<const DecodeCase*> comparable(const DecodeMeasurements& results,
                                          const DecodeCase& like) {
  std::vector<const DecodeCase*> cases;
  for (const DecodeCase& what : results.cases) {
    if (what.set == like.set && what.from_disk == like.from_disk && what.threads == like.threads) {
      cases.push_back(&what);
    }
  }
  return cases;
}

void compare_decoders(const DecodeMeasurements& results, BenchReport& report) {
  const auto cases = comparable(results, results.cases[0]);
  const auto faster = [](const DecodeCase* a, const DecodeCase* b) {
    return images_per_second(*a).mean < images_per_second(*b).mean;
  };
  const DecodeCase& best = **std::max_element(cases.begin(), cases.end(), faster);
  const DecodeCase& worst = **std::min_element(cases.begin(), cases.end(), faster);
  const double rate = images_per_second(best).mean;
  report.figures.push_back({"fastest decoder", best.decoder->title, "from " + place(best)});
  report.figures.push_back(
      {"images/s", number_cell(rate).text,
       best.threads == 1 ? "one thread" : fmt::format("{} threads", best.threads)});
  if (cases.size() < 2) return;
  report.sentences.push_back(
      fmt::format("{}: {} is the fastest from {} ({} images/s), {:.1f} times as fast as {}.",
                  set_title(*best.set), best.decoder->title, place(best), number_cell(rate).text,
                  rate / images_per_second(worst).mean, worst.decoder->title));
}

void compare_variants(const DecodeMeasurements& results, BenchReport& report) {
  const DecodeCase& first = results.cases[0];
  for (const DecodeCase& what : results.cases) {
    const bool is_other_variant = what.set != first.set && what.set->name == first.set->name &&
                                  what.decoder == first.decoder && !what.from_disk &&
                                  !first.from_disk && what.threads == first.threads;
    if (!is_other_variant) continue;
    report.sentences.push_back(fmt::format(
        "{}: {:.2f} of the bytes, decoded {:.2f} times as fast ({}).", what.set->variant,
        static_cast<double>(what.set->bytes()) / static_cast<double>(first.set->bytes()),
        images_per_second(what).mean / images_per_second(first).mean, what.decoder->title));
  }
}

std::string bar_label(const DecodeCase& what, bool with_threads) {
  std::string label = what.decoder->title + ", " + place(what);
  if (what.set->variant != "raw") label += ", " + what.set->variant;
  if (with_threads) label += fmt::format(", {} threads", what.threads);
  return label;
}

void add_bars(const DecodeMeasurements& results, const DecodeBenchOptions& options,
              BenchReport& report) {
  std::map<std::string, std::vector<measure::Bar>> bars;
  for (const DecodeCase& what : results.cases) {
    if (what.threads != options.threads[0]) continue;
    const Moments images = images_per_second(what);
    bars[what.set->name].push_back({bar_label(what, what.threads > 1), images.mean,
                                    images.mean - images.deviation,
                                    images.mean + images.deviation});
  }
  for (const auto& [set, list] : bars) {
    report.charts.push_back(
        {set + ": images decoded a second; the lines show one standard "
               "deviation to each side",
         measure::bar_chart(set + ": images decoded a second", "images/s", list)});
  }
}

void add_thread_lines(const DecodeMeasurements& results, const DecodeBenchOptions& options,
                      BenchReport& report) {
  if (options.threads.size() < 2) return;
  std::vector<measure::Line> lines;
  for (const DecodeCase& what : results.cases) {
    if (what.set != results.cases[0].set) continue;
    const std::string label = bar_label(what, false);
    if (lines.empty() || lines.back().label != label) lines.push_back({label, {}, {}});
    lines.back().x.push_back(what.threads);
    lines.back().y.push_back(images_per_second(what).mean);
  }
  report.charts.push_back(
      {set_title(*results.cases[0].set) + ": what more threads bring",
       measure::line_chart("Images decoded a second by threads", "threads", "images/s", lines)});
}

void note_choice(const DecodeMeasurements& results, BenchReport& report) {
  if (!results.choice.saw_all) {
    report.notes.push_back(fmt::format(
        "chosen out of the first {} samples: to find those behind them, all would have to be read",
        number_cell(static_cast<double>(results.choice.seen)).text));
  }
  if (results.memory_was_short) {
    report.notes.emplace_back("fewer pictures than asked for: no more fit into 1 GiB");
  }
}

void note_disagreements(const DecodeMeasurements& results, BenchReport& report) {
  for (const Agreement& agreement : results.agreements) {
    if (agreement.differing == 0) continue;
    report.notes.push_back(fmt::format(
        "{} decodes {} of {} pictures to something else than libjpeg-turbo, most of all {} (by "
        "{:.1f} of 255 on average); its speed is not that of the same work",
        agreement.decoder->title, agreement.differing, agreement.pictures,
        printable(agreement.worst_origin), agreement.worst));
  }
}

// Pictures that are small already are decoded at full size, which makes "scaled" no faster.
void note_scaling(const DecodeMeasurements& results, const DecodeBenchOptions& options,
                  BenchReport& report) {
  constexpr int kHalvable = 511;  // rounded up, half of it is 256
  const PictureSet& set = results.sets[0];
  const bool is_measured =
      std::any_of(options.decoders.begin(), options.decoders.end(),
                  [](const DecoderKind* kind) { return kind->name == "scaled"; });
  const auto large =
      std::count_if(set.pictures.begin(), set.pictures.end(), [](const BenchPicture& picture) {
        return std::min(picture.width, picture.height) >= kHalvable;
      });
  const auto all = static_cast<std::ptrdiff_t>(set.pictures.size());
  if (!is_measured || set.name != "JPEG" || large == all) return;
  report.notes.push_back(fmt::format(
      "scaled: only {} of {} pictures are large enough to be decoded at half their size or less",
      large, all));
}

void note_machine(const DecodeMeasurements& results, const DecodeBenchOptions& options,
                  BenchReport& report) {
  const std::size_t cpus = usable_cpus().size();
  const int most = *std::max_element(options.threads.begin(), options.threads.end());
  if (static_cast<std::size_t>(most) > cpus) {
    report.notes.push_back(fmt::format("{} threads share {} CPUs", most, cpus));
  }
  std::size_t shaky = 0;
  double worst = 0;
  for (const DecodeCase& what : results.cases) {
    const Moments images = images_per_second(what);
    const double share = images.deviation / std::max(images.mean, 1e-9);
    if (share > kShakyDeviation) ++shaky;
    worst = std::max(worst, share);
  }
  if (shaky > 0) {
    report.notes.push_back(fmt::format(
        "{} of {} rates vary by more than 5 % from run to run (one by {:.0f} %): something else "
        "was at work, or the runs are too short",
        shaky, results.cases.size(), worst * 100));
  }
  const bool any_disk = std::any_of(results.cases.begin(), results.cases.end(),
                                    [](const DecodeCase& what) { return what.from_disk; });
  if (any_disk) {
    report.notes.emplace_back(
        "'disk' reads files that are in memory after the first time; prep-bench read --cold "
        "measures the storage itself");
  }
}

}  // namespace

BenchReport report_decoding(const DecodeMeasurements& results, const DecodeBenchOptions& options,
                            const std::vector<std::string>& paths) {
  BenchReport report;
  add_surroundings(report, "decode", paths);
  std::size_t pictures = 0;
  for (const PictureSet& set : results.sets) {
    if (set.variant == options.variants[0] || set.name != "JPEG") pictures += set.pictures.size();
  }
  report.subtitle = fmt::format("{} pictures of {} samples, {} run{} after {} to warm up",
                                number_cell(static_cast<double>(pictures)).text,
                                number_cell(static_cast<double>(results.choice.seen)).text,
                                options.runs, options.runs == 1 ? "" : "s", options.warmup);
  report.json["settings"] = settings_json(options);
  report.json["data"] = {{"samples", results.choice.seen},
                         {"saw_all", results.choice.saw_all},
                         {"left_out", results.choice.left_out},
                         {"pictures", pictures},
                         {"sha256", results.digest},
                         {"sets", Json::array()}};
  for (const PictureSet& set : results.sets) report.json["data"]["sets"].push_back(set_json(set));
  for (const Agreement& one : results.agreements) {
    report.json["agreement"].push_back(agreement_json(one));
  }
  for (const DecodeCase& what : results.cases) report.json["results"].push_back(case_json(what));
  report.tables = {table_of_sets(results), table_of(results)};
  compare_decoders(results, report);
  compare_variants(results, report);
  add_bars(results, options, report);
  add_thread_lines(results, options, report);
  note_choice(results, report);
  note_disagreements(results, report);
  note_scaling(results, options, report);
  note_machine(results, options, report);
  report.json["notes"] = report.notes;
  return report;
}

}  // namespace prep
