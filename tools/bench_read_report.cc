#include "tools/bench_read_report.h"

#include <algorithm>

#include "lib/core/text.h"
#include "lib/measure/svg_chart.h"
#include "tools/bench_threads.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;
using measure::Moments;

constexpr double kNoEffect = 0.1;  // of the pages may stay in memory

Moments rates(const ReadCase& what, double amount) {
  std::vector<double> values;
  for (const double seconds : what.seconds) values.push_back(amount / std::max(seconds, 1e-9));
  return measure::moments_of(values);
}

Moments samples_per_second(const ReadCase& what) {
  return rates(what, static_cast<double>(what.samples));
}
Moments megabytes_per_second(const ReadCase& what) {
  return rates(what, static_cast<double>(what.bytes) / 1e6);
}

std::string order_name(const ReadCase& what) {
  return what.order == ReadOrder::random ? "random" : "sequential";
}

double latency_ms(const ReadCase& what, double p) {
  return what.latencies.empty() ? 0 : measure::quantile(what.latencies, p) * 1e3;
}

Json case_json(const ReadCase& what) {
  return {{"input", json_text(what.input->name())},
          {"kind", what.input->kind_name()},
          {"order", order_name(what)},
          {"threads", what.threads},
          {"samples", what.samples},
          {"bytes", what.bytes},
          {"seconds", what.seconds},
          {"samples_per_s", moments_json(samples_per_second(what))},
          {"megabytes_per_s", moments_json(megabytes_per_second(what))},
          {"milliseconds_a_sample",
           {{"median", latency_ms(what, 0.5)},
            {"p99", latency_ms(what, 0.99)},
            {"max", latency_ms(what, 1)}}}};
}

Json input_json(const ReadInput& input) {
  Json json{{"input", json_text(input.input.name())},
            {"kind", input.input.kind_name()},
            {"samples", input.seen},
            {"saw_all", input.saw_all},
            {"listing_seconds", input.listing_seconds},
            {"listing_sha256", input.digest}};
  if (input.stayed_in_memory) json["stayed_in_memory"] = *input.stayed_in_memory;
  return json;
}

BenchReport::Table table_of(const ReadMeasurements& results) {
  BenchReport::Table table;
  table.caption = "Samples read a second: mean and standard deviation over the runs";
  table.head = {"input", "kind", "order",       "threads",  "samples/s",
                "±",     "MB/s", "ms (median)", "ms (99 %)"};
  for (const ReadCase& what : results.cases) {
    const Moments samples = samples_per_second(what);
    table.rows.push_back(
        {text_cell(what.input->name()), text_cell(std::string(what.input->kind_name())),
         text_cell(order_name(what)), number_cell(what.threads), number_cell(samples.mean),
         number_cell(samples.deviation, 1), number_cell(megabytes_per_second(what).mean, 1),
         number_cell(latency_ms(what, 0.5), 3), number_cell(latency_ms(what, 0.99), 3)});
  }
  return table;
}

void compare(const ReadMeasurements& results, BenchReport& report) {
  const auto slower = [](const ReadCase& a, const ReadCase& b) {
    return samples_per_second(a).mean < samples_per_second(b).mean;
  };
  const ReadCase& best = *std::max_element(results.cases.begin(), results.cases.end(), slower);
  const ReadCase& worst = *std::min_element(results.cases.begin(), results.cases.end(), slower);
  const double rate = samples_per_second(best).mean;
  const auto words = [](const ReadCase& what) {
    return fmt::format("{} ({}, {}, {} thread{})", what.input->name(), what.input->kind_name(),
                       order_name(what), what.threads, what.threads == 1 ? "" : "s");
  };
  report.figures.push_back({"samples/s at best", number_cell(rate).text, words(best)});
  report.figures.push_back(
      {"MB/s", number_cell(megabytes_per_second(best).mean, 1).text, words(best)});
  if (results.cases.size() < 2) return;
  report.sentences.push_back(fmt::format("{} is {:.1f} times as fast as {}.", words(best),
                                         rate / samples_per_second(worst).mean, words(worst)));
}

void add_bars(const ReadMeasurements& results, BenchReport& report) {
  std::vector<measure::Bar> bars;
  for (const ReadCase& what : results.cases) {
    const Moments samples = samples_per_second(what);
    bars.push_back(
        {fmt::format("{}, {}, {} thr.", what.input->name(), order_name(what), what.threads),
         samples.mean, samples.mean - samples.deviation, samples.mean + samples.deviation});
  }
  report.charts.push_back(
      {"Samples read a second; the lines show one standard deviation to each side",
       measure::bar_chart("Samples read a second", "samples/s", bars)});
}

void note_cold(const ReadInput& input, BenchReport& report) {
  if (input.input.once && !input.input.can_read_again) return;
  if (!input.stayed_in_memory) {
    report.notes.push_back(
        fmt::format("{}: whether its files left the memory cannot be told (they are not ours)",
                    input.input.name()));
  } else if (*input.stayed_in_memory > kNoEffect) {
    report.notes.push_back(fmt::format(
        "{}: --cold had no effect, or not enough: {:.0f} % of the pages stayed in memory (a file "
        "system that lives there, or somebody else holds them)",
        input.input.name(), *input.stayed_in_memory * 100));
  }
}

void add_notes(const ReadMeasurements& results, const ReadBenchOptions& options,
               BenchReport& report) {
  for (const ReadInput& input : results.inputs) {
    if (options.cold) note_cold(input, report);
    if (input.input.once && !input.input.can_read_again) {
      report.notes.push_back(
          fmt::format("{}: can be read only once, so there is one run", input.input.name()));
    }
    if (!input.saw_all) {
      report.notes.push_back(fmt::format("{}: the samples were chosen out of the first {}",
                                         input.input.name(),
                                         number_cell(static_cast<double>(input.seen)).text));
    }
  }
  if (!options.cold) {
    report.notes.emplace_back(
        "warm: the bytes were in memory after the first time; --cold asks the storage");
  } else {
    report.notes.emplace_back(
        "cold: the files' bytes were not in memory, but their names and places were");
  }
  const int most = *std::max_element(options.threads.begin(), options.threads.end());
  const std::size_t cpus = usable_cpus().size();
  if (static_cast<std::size_t>(most) > cpus) {
    report.notes.push_back(fmt::format("{} threads share {} CPUs", most, cpus));
  }
}

}  // namespace

BenchReport report_reading(const ReadMeasurements& results, const ReadBenchOptions& options,
                           const std::vector<std::string>& paths) {
  BenchReport report;
  add_surroundings(report, "read", paths);
  report.subtitle =
      fmt::format("{}, up to {} samples of each input, {} run{}", options.cold ? "cold" : "warm",
                  number_cell(static_cast<double>(options.choice.count)).text, options.runs,
                  options.runs == 1 ? "" : "s");
  report.json["settings"] = {
      {"cold", options.cold},        {"samples", options.choice.count},
      {"seed", options.choice.seed}, {"warmup", options.cold ? 0 : options.warmup},
      {"runs", options.runs},        {"threads", options.threads},
      {"cpus", usable_cpus()}};
  for (const ReadInput& input : results.inputs) {
    report.json["data"]["inputs"].push_back(input_json(input));
  }
  for (const ReadCase& what : results.cases) report.json["results"].push_back(case_json(what));
  report.tables = {table_of(results)};
  compare(results, report);
  add_bars(results, report);
  add_notes(results, options, report);
  report.json["notes"] = report.notes;
  return report;
}

}  // namespace prep
