#include "tools/bench_feed_report.h"

#include <algorithm>
#include <cmath>

#include "lib/measure/svg_chart.h"
#include "tools/bench_feed_verdict.h"
#include "tools/bench_threads.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;
using Step = FeedVerdict::Step;
using Cause = FeedVerdict::Cause;

std::string whole(double value) { return number_cell(value).text; }
std::string rate_text(double rate) { return number_cell(rate, rate < 100 ? 1 : 0).text; }
std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }
std::string workers_text(int workers) {
  return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
}

std::string limit_sentence(const FeedMeasurements& feed, const FeedVerdict& verdict) {
  return fmt::format("The limit is {}: {} of the workers' time goes there.",
                     verdict.step == Step::read     ? "reading"
                     : verdict.step == Step::decode ? "decoding"
                                                    : "cropping",
                     percent(verdict.step == Step::read     ? verdict.read
                             : verdict.step == Step::decode ? verdict.decode
                                                            : verdict.crop)) +
         (feed.workers > 1 && verdict.waiting > 0.1
              ? fmt::format(" They wait for each other for {}.", percent(verdict.waiting))
              : "");
}

std::string cause_sentence(const FeedMeasurements& feed, const FeedVerdict& verdict) {
  switch (verdict.cause) {
    case Cause::input:
      return fmt::format(
          "The input itself gives no more than {} images/s ({:.1f} MB/s); more workers would only "
          "wait for it, too.",
          rate_text(verdict.rate), static_cast<double>(feed.bytes) / 1e6 / feed.seconds);
    case Cause::storage:
      return fmt::format(
          "Workers wait for the storage ({} of the CPU time is used); more of them would wait at "
          "the same time, as far as the storage takes that.",
          percent(verdict.cpu_use));
    case Cause::workers:
      return fmt::format(
          "More workers would help: {} of {} CPUs {} at work; one on each would bring about {} "
          "images/s.",
          feed.workers, feed.cpus, feed.workers == 1 ? "is" : "are",
          rate_text(verdict.possible_rate));
    case Cause::cpu:
      break;
  }
  return fmt::format(
      "All {} CPU{} at work ({} used); more workers would not help, only less work for each image "
      "(prep-bench decode --variants says what smaller ones bring).",
      feed.cpus, feed.cpus == 1 ? " is" : "s are", percent(std::min(verdict.cpu_use, 1.0)));
}

void add_need(const FeedMeasurements& feed, const FeedBenchOptions& options,
              const FeedVerdict& verdict, BenchReport& report) {
  if (options.need <= 0) return;
  const measure::ConsumerWaits waits = waits_of(feed, verdict, options.batch, options.need);
  const double a_thousand = waits.waiting / static_cast<double>(waits.items) * 1000;
  const bool would_wait = waits.share() > 0.005;
  const double cpus = options.need * verdict.cpu_seconds_an_image;
  report.json["need"] = {{"images_per_s", options.need},
                         {"gpu_waits", would_wait},
                         {"waiting_share", waits.share()},
                         {"seconds_a_1000_batches", a_thousand},
                         {"cpus", cpus}};
  report.figures.push_back({"GPU waiting", percent(waits.share()),
                            fmt::format("if it takes {} images/s", rate_text(options.need))});
  if (!would_wait) {
    report.sentences.push_back(
        fmt::format("A GPU that takes {} images/s would not wait.", rate_text(options.need)));
    return;
  }
  report.sentences.push_back(fmt::format(
      "A GPU that takes {} images/s would wait {} of the time: {:.1f} s on every 1,000 batches, "
      "which it works on for {:.1f} s. That many images keep about {} CPU{} like these busy.",
      rate_text(options.need), percent(waits.share()), a_thousand,
      options.batch / options.need * 1000, whole(std::ceil(cpus)), cpus > 1 ? "s" : ""));
}

BenchReport::Table table_of(const FeedMeasurements& feed) {
  BenchReport::Table table;
  table.caption = "Where the workers' time goes";
  table.head = {"step", "% of the time", "ms an image", "of these CPU"};
  double wall = 0;
  for (const double time : feed.times.wall) wall += time;
  const auto pictures = static_cast<double>(feed.pictures);
  const auto add = [&](const std::string& step, std::initializer_list<FeedStep> steps) {
    double time = 0, cpu = 0;
    for (const FeedStep one : steps) {
      time += feed.times.wall_of(one);
      cpu += feed.times.cpu_of(one);
    }
    table.rows.push_back({text_cell(step), number_cell(time / wall * 100, 1),
                          number_cell(time / pictures * 1e3, 3),
                          number_cell(cpu / pictures * 1e3, 3)});
  };
  add("read: wait for the source", {FeedStep::wait_for_source});
  add(feed.is_stream ? "read: the stream" : "read: choose", {FeedStep::find});
  add("read: the bytes", {FeedStep::load});
  add("decode", {FeedStep::decode});
  add("crop", {FeedStep::crop});
  add("wait for a batch to be filled", {FeedStep::wait_for_batch});
  return table;
}

void add_notes(const FeedMeasurements& feed, const FeedVerdict& verdict,
               const FeedBenchOptions& options, BenchReport& report) {
  if (feed.passes > 1) {
    report.notes.push_back(fmt::format(
        "the data was gone through {} times, and after the first out of memory; more data (or a "
        "larger --samples) would ask the storage",
        feed.passes));
  }
  if (feed.workers > feed.cpus) {
    report.notes.push_back(fmt::format("{} share {} CPUs", workers_text(feed.workers), feed.cpus));
  }
  if (verdict.was_disturbed) {
    report.notes.emplace_back(
        "decoding took much longer than its CPU time: other programs were at work, and the figures "
        "are too low");
  }
  if (feed.batch_ready.empty()) {
    report.notes.push_back(fmt::format(
        "not one batch of {} was full: measure longer, or smaller ones", options.batch));
  }
}

Json verdict_json(const FeedVerdict& verdict) {
  return {{"limit", name(verdict.step)},
          {"held_back_by", name(verdict.cause)},
          {"shares",
           {{"read", verdict.read},
            {"decode", verdict.decode},
            {"crop", verdict.crop},
            {"wait", verdict.waiting}}},
          {"cpu_use", verdict.cpu_use},
          {"cpu_seconds_an_image", verdict.cpu_seconds_an_image},
          {"possible_images_per_s", verdict.possible_rate},
          {"disturbed", verdict.was_disturbed}};
}

}  // namespace

BenchReport report_feeding(const FeedMeasurements& feed, const FeedBenchOptions& options,
                           const std::vector<std::string>& paths) {
  const FeedVerdict verdict = judge(feed);
  BenchReport report;
  add_surroundings(report, "feed", paths);
  report.subtitle = fmt::format("{} images in {:.1f} s, {}, batches of {}, {}",
                                whole(static_cast<double>(feed.pictures)), feed.seconds,
                                workers_text(feed.workers), options.batch,
                                feed.is_stream ? "as they lie" : "in random order");
  report.json["settings"] = {{"decoder", options.decoder->name},
                             {"crop", options.crop == FeedCrop::center ? "center" : "random"},
                             {"side", options.side},
                             {"batch", options.batch},
                             {"workers", feed.workers},
                             {"cpus", feed.cpus},
                             {"cold", options.cold},
                             {"samples", options.choice.count},
                             {"seed", options.choice.seed}};
  report.json["images"] = feed.pictures;
  report.json["bytes"] = feed.bytes;
  report.json["megapixels"] = feed.megapixels;
  report.json["seconds"] = feed.seconds;
  report.json["passes"] = feed.passes;
  report.json["stream"] = feed.is_stream;
  report.json["batches"] = feed.batch_ready.size();
  report.json["images_per_s"] = verdict.rate;
  report.json["megabytes_per_s"] = static_cast<double>(feed.bytes) / 1e6 / feed.seconds;
  report.json["verdict"] = verdict_json(verdict);
  report.figures = {{"images/s delivered", rate_text(verdict.rate), workers_text(feed.workers)},
                    {"limit", std::string(name(verdict.step)),
                     "for want of: " + std::string(name(verdict.cause))}};
  report.sentences = {fmt::format("{} images/s are delivered.", rate_text(verdict.rate)),
                      limit_sentence(feed, verdict), cause_sentence(feed, verdict)};
  add_need(feed, options, verdict, report);
  report.tables = {table_of(feed)};
  report.charts = {{"Share of the workers' time, by step",
                    measure::bar_chart("Share of the workers' time", "%",
                                       {{"read", verdict.read * 100},
                                        {"decode", verdict.decode * 100},
                                        {"crop", verdict.crop * 100},
                                        {"wait for a batch", verdict.waiting * 100}})}};
  add_notes(feed, verdict, options, report);
  report.json["notes"] = report.notes;
  return report;
}

}  // namespace prep
