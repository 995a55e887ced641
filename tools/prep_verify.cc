// prep-verify: checks shards, and saves what is sound in damaged ones.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "formats/registry.h"
#include "formats/verify_plan.h"
#include "formats/verify_repair.h"
#include "formats/verify_set.h"
#include "formats/verify_shard.h"
#include "lib/core/file_io.h"
#include "lib/core/tool.h"
#include "tools/part_checker.h"
#include "tools/picture_options.h"

namespace prep {
namespace {

// What one item's check gave; made by the stage, used up by the sink.
struct ItemResult {
  ShardReport shard;
  RepairedShard repaired;
  std::vector<Finding> findings;  // of an item that is no shard
  std::optional<Error> failure;   // not of the item, but of the check: it ends the run
};

// An item of the plan on its way through the pipeline.
class ItemContent final : public Content {
 public:
  explicit ItemContent(const VerifyItem& item, std::shared_ptr<ItemResult> result = nullptr)
      : item_(item), result_(std::move(result)) {}

  const VerifyItem& item() const { return item_; }
  ItemResult& result() const { return *result_; }

  std::uint64_t size() const override {
    const auto st = find_file(item_.path);
    return st && S_ISREG(st->st_mode) ? static_cast<std::uint64_t>(st->st_size) : 0;
  }
  Bytes read(std::uint64_t, std::uint64_t) const override { return Bytes(); }
  // Keys and samples wait here for their turn.
  std::uint64_t resident_bytes() const override {
    if (!result_) return 0;
    const ShardKeys& keys = result_->shard.keys;
    return keys.text.size() + keys.places.size() * sizeof(ShardKeys::Place);
  }
  std::string origin() const override { return item_.path; }

 private:
  const VerifyItem& item_;
  std::shared_ptr<ItemResult> result_;
};

const ItemContent& content_of(const Sample& sample) {
  return static_cast<const ItemContent&>(*sample.parts[0].content);
}

// What the run has seen, for the summary and --report.
struct Totals {
  std::uint64_t shards = 0, damaged = 0, samples = 0, bytes = 0;
  std::uint64_t errors = 0, warnings = 0;
  Tally by_code;
};

class PlanSource final : public Source {
 public:
  explicit PlanSource(const VerifyPlan& plan) : plan_(plan) {}
  bool next(Sample& sample) override {
    if (next_ == plan_.items.size()) return false;
    const VerifyItem& item = plan_.items[next_++];
    sample.key = item.path;
    sample.parts = {{"", std::make_shared<ItemContent>(item)}};
    return true;
  }
  bool unique_keys() const override { return true; }
  std::uint64_t expected_samples() const override { return plan_.items.size(); }

 private:
  const VerifyPlan& plan_;
  std::size_t next_ = 0;
};

class VerifyStage final : public Stage {
 public:
  VerifyStage(const VerifyOptions& options, std::unique_ptr<Repair>& repair, const Totals& totals)
      : options_(options), repair_(repair), totals_(totals) {}

  void apply(Sample& sample, Notes&) const override {
    const VerifyItem& item = content_of(sample).item();
    auto result = std::make_shared<ItemResult>();
    try {
      check(item, *result);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      result->failure = Error(error.code(), error.what());
    }
    sample.parts[0].content = std::make_shared<ItemContent>(item, std::move(result));
  }

  std::map<std::string, Tally> tables() const override {
    std::map<std::string, Tally> tables{
        {"checked",
         {{"shards", totals_.shards}, {"samples", totals_.samples}, {"bytes", totals_.bytes}}},
        {"found", {{"errors", totals_.errors}, {"warnings", totals_.warnings}}}};
    if (totals_.damaged > 0) tables["checked"]["damaged shards"] = totals_.damaged;
    if (!totals_.by_code.empty()) tables["errors by code"] = totals_.by_code;
    if (repair_) {
      tables["repair"] = {{"saved samples", repair_->saved_samples()},
                          {"lost samples", repair_->lost_samples()}};
    }
    return tables;
  }

 private:
  void check(const VerifyItem& item, ItemResult& result) const {
    if (item.kind == VerifyItem::Kind::extra_file) {
      result.findings = check_extra_file(item, options_.quick);
    }
    if (item.kind != VerifyItem::Kind::shard) return;
    result.shard = verify_shard(item.shard, options_);
    if (repair_) result.repaired = repair_->write(item, result.shard);
    result.shard.kept = {};
    result.shard.archive.reset();
  }

  const VerifyOptions& options_;
  const std::unique_ptr<Repair>& repair_;
  const Totals& totals_;
};

// Prints what was found, in order, and compares the shards with each other.
class FindingSink final : public Sink {
 public:
  FindingSink(bool json, bool quick, Repair* repair, Totals& totals, Reporter& reporter)
      : json_(json), repair_(repair), set_(quick), totals_(totals), reporter_(reporter) {}

  bool wants_bytes() const override { return false; }

  void put(const Sample& sample) override {
    const VerifyItem& item = content_of(sample).item();
    ItemResult& result = content_of(sample).result();
    errors_ = warnings_ = 0;
    for (const Finding& finding : result.shard.findings) print(finding);
    for (const Finding& finding : result.findings) print(finding);
    for (const Finding& finding : look_at(item, result)) print(finding);
    if (result.failure) {
      flush();
      throw *result.failure;
    }
    if (repair_) add_repaired(item, result);
    flush();
    // Not all findings of a shard are listed.
    const std::uint64_t errors = std::max(errors_, result.shard.errors);
    totals_.errors += errors;
    totals_.warnings += std::max(warnings_, result.shard.warnings);
    if (errors == 0) return;
    if (item.kind == VerifyItem::Kind::shard) ++totals_.damaged;
    throw BadSample(first_error_,
                    fmt::format("{}: {} {}", printable(item.path), human_count(errors),
                                errors == 1 ? "error" : "errors"));
  }

  void commit() override { finish(); }
  void abandon() override { finish(); }

 private:
  // Findings that need what came before.
  std::vector<Finding> look_at(const VerifyItem& item, const ItemResult& result) {
    switch (item.kind) {
      case VerifyItem::Kind::shard:
        ++totals_.shards;
        totals_.samples += result.shard.samples;
        totals_.bytes += result.shard.bytes;
        return set_.add_shard(item, result.shard);
      case VerifyItem::Kind::wids_index:
        return set_.check_wids_index(item);
      case VerifyItem::Kind::energon_info:
        return set_.check_energon_info(item);
      case VerifyItem::Kind::manifest:
        return set_.check_manifest(item);
      case VerifyItem::Kind::finding:
        return {item.finding};
      case VerifyItem::Kind::extra_file:
        break;
    }
    return {};
  }

  void print(const Finding& finding) {
    if (finding.severity == Finding::Severity::error) {
      if (errors_++ == 0) first_error_ = finding.code;
      ++totals_.by_code[std::string(code_name(finding.code))];
    } else {
      ++warnings_;
    }
    buffer_ += (json_ ? finding.json() : finding.text()) + "\n";
  }

  void add_repaired(const VerifyItem& item, ItemResult& result) {
    if (item.kind != VerifyItem::Kind::shard) return;
    for (const LostSample& lost : result.repaired.lost) {
      buffer_ += (json_ ? lost.json() : lost.text()) + "\n";
    }
    repair_->add(item, std::move(result.repaired));
  }

  void flush() {
    write_fully(STDOUT_FILENO, as_bytes(buffer_), "standard output");
    buffer_.clear();
  }

  void finish() {
    if (repair_) {
      repair_->finish();
      reporter_.say(fmt::format("saved {} samples, lost {}", human_count(repair_->saved_samples()),
                                human_count(repair_->lost_samples())));
    }
    const double seconds = reporter_.seconds();
    reporter_.say(fmt::format(
        "{} {}, {} samples, {}: {} damaged, {} errors, {} warnings; {:.1f} s, {}/s",
        human_count(totals_.shards), totals_.shards == 1 ? "shard" : "shards",
        human_count(totals_.samples), human_bytes(totals_.bytes), human_count(totals_.damaged),
        human_count(totals_.errors), human_count(totals_.warnings), seconds,
        human_bytes(static_cast<std::uint64_t>(static_cast<double>(totals_.bytes) /
                                               std::max(seconds, 1e-3)))));
  }

  const bool json_;
  Repair* const repair_;
  SetVerifier set_;
  Totals& totals_;
  Reporter& reporter_;
  std::string buffer_;
  std::uint64_t errors_ = 0, warnings_ = 0;  // of the item
  Code first_error_{};
};

class VerifyTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-verify", "Check shards against their formats, their payloads and their manifest.",
        "An input is a shard, a manifest, or a directory (which is taken by its manifest, or else\n"
        "with all shards in it). What is wrong goes to standard output, a line each:\n"
        "  shards/train-000012.tar: offset 1048576: sample n01440764/0042: part jpg: …\n"
        "Without --quick and --decode: structure, names, checksums, indexes, and the digests of\n"
        "the manifest.\n\n"
        "Examples:\n"
        "  prep-verify shards/\n"
        "  prep-verify --quick shards/manifest.json\n"
        "  prep-verify --decode 'train-{000000..000099}.tar'\n"
        "  prep-verify --decode --repair saved/ broken.tar\n\n"
        "Exit status: 0 nothing is wrong but warnings, 1 the check itself failed, 2 wrong usage,\n"
        "3 damage was found.",
        "file"};
  }

  void add_options(CLI::App& app) override {
    app.add_flag("--quick", options_.quick, "structure and sizes only; the data is not read");
    app.add_flag("--decode", decode_, "decode pictures and arrays, and read JSON and classes");
    app.add_option("--samples", options_.payload.samples,
                   "with --decode: only N samples of each shard, evenly spread; 0: all")
        ->option_text("N");
    app.add_option("--optional", optional_parts_, "parts that not every sample must have")
        ->delimiter(',')
        ->option_text("PARTS");
    app.add_option("--repair", repair_directory_,
                   "write shards with every sound sample to DIR, and list what is lost")
        ->option_text("DIR");
    app.add_flag("--json", json_, "findings as JSON, an object a line");
    add_picture_limits(app, limits_.max_pixels, limits_.max_scans);
  }

  std::unique_ptr<Stage> make_stage() override {
    if (options_.quick && (decode_ || !repair_directory_.empty())) {
      fail(Code::usage, "--quick does not go with {}", decode_ ? "--decode" : "--repair");
    }
    if (options_.payload.samples > 0 && !decode_) fail(Code::usage, "--samples goes with --decode");
    checker_ = std::make_unique<PartChecker>(limits_);
    if (decode_) options_.payload.checker = checker_.get();
    options_.optional_parts = {optional_parts_.begin(), optional_parts_.end()};
    options_.for_repair = !repair_directory_.empty();
    return std::make_unique<VerifyStage>(options_, repair_, totals_);
  }

  bool has_output() const override { return false; }

  std::unique_ptr<Sink> make_sink(const RunContext& run) override {
    plan_ = plan_verification(run.inputs);
    if (run.sink_options.task.count > 1) leave_to_one_task();
    if (plan_.items.empty()) {
      std::string words;
      for (const Spec& word : run.inputs) words += " " + printable(word.text);
      fail(Code::empty, "there are no shards in{}", words);
    }
    if (options_.for_repair) {
      if (run.sink_options.task.count > 1) fail(Code::usage, "--repair does not go with --task");
      repair_ = std::make_unique<Repair>(repair_directory_, plan_);
    }
    return std::make_unique<FindingSink>(json_, options_.quick, repair_.get(), totals_,
                                         run.reporter);
  }
  std::unique_ptr<Source> make_source(const RunContext&) override {
    return std::make_unique<PlanSource>(plan_);
  }

 private:
  // A task sees some of the shards: what is said of all of them it cannot judge.
  void leave_to_one_task() {
    std::erase_if(plan_.items, [](const VerifyItem& item) {
      return item.kind == VerifyItem::Kind::wids_index ||
             item.kind == VerifyItem::Kind::energon_info || item.kind == VerifyItem::Kind::manifest;
    });
  }

  VerifyOptions options_;
  bool decode_ = false, json_ = false;
  std::string repair_directory_;
  std::vector<std::string> optional_parts_;
  PictureLimits limits_;

  std::unique_ptr<PartChecker> checker_;
  VerifyPlan plan_;
  std::unique_ptr<Repair> repair_;
  Totals totals_;
};

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::VerifyTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
