// prep-pack: samples into shards: shuffled, split, of equal size, indexed, with a manifest.

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "formats/labeler.h"
#include "formats/part_selection.h"
#include "formats/planned_source.h"
#include "formats/registry.h"
#include "formats/shard_body.h"
#include "formats/shard_pattern.h"
#include "formats/shard_plan.h"
#include "formats/shard_set.h"
#include "formats/shard_sink.h"
#include "formats/shuffle_buffer.h"
#include "lib/core/digest.h"
#include "lib/core/file_io.h"
#include "lib/core/tool.h"
#include "lib/image/image_shape.h"

namespace prep {
namespace {

constexpr std::uint64_t kDefaultMaxSize = 1'000'000'000;
// How many bad samples may come before one that a schema can be made of.
constexpr std::uint64_t kSchemaTries = 100;
constexpr std::size_t kDigestPiece = 64 << 10;

struct PackOptions {
  std::string format = "auto";
  std::uint64_t shards = 0, max_count = 0;
  std::string max_size;
  std::optional<std::uint64_t> shuffle;
  std::uint64_t shuffle_buffer = 0;
  std::string equal = "no";
  std::string split;
  bool stratify = false;
  std::string labels, classes;
  std::vector<std::string> parts, renames, indexes, types;
  bool regroup = false;
  std::string compress = "auto";
  std::vector<std::string> path_columns;
  std::string label_column, header = "auto";
  bool merge = false;
};

// "500M", "1G", "64Mi", "100000". throws Error usage.
std::uint64_t parse_size(const std::string& text) {
  constexpr std::string_view kUnits = "kMGT";
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const bool binary = unit.ends_with('i');
  if (binary) unit.remove_suffix(1);
  const char letter = unit == "K" ? 'k' : unit.empty() ? '\0' : unit[0];
  const std::size_t power = letter ? kUnits.find(letter) + 1 : 0;
  if (error != std::errc() || unit.size() > 1 || (letter && power == 0) || (binary && !letter) ||
      !(value > 0)) {
    fail(Code::usage, "--max-size {}: give bytes, or a number with k, M, G or T (Ki, Mi, Gi, Ti)",
         printable(text));
  }
  for (std::size_t i = 0; i < power; ++i) value *= binary ? 1024 : 1000;
  if (value > 1e18) fail(Code::usage, "--max-size {}: too large", printable(text));
  return static_cast<std::uint64_t>(value);
}

// Leaves out what the plan does.
class PackStage final : public Stage {
 public:
  void apply(Sample& sample, Notes& notes) const override {
    if (sample.destination == kDropped) notes.skip_reason = "dropped, for shards of equal size";
  }
};

// Parts and labels of samples that come by only once.
class StreamSource final : public Source {
 public:
  StreamSource(std::unique_ptr<Source> source, const PartSelection& selection, Labeler& labeler)
      : source_(std::move(source)), selection_(selection), labeler_(labeler) {}

  bool next(Sample& sample) override {
    if (!source_->next(sample)) return false;
    if (sample.fault) return true;
    try {
      selection_.apply(sample, labeler_.provides_labels() ? "cls" : "");
      labeler_.add_to(sample, labeler_.look_up(sample));
      selection_.sort(sample);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted || error.code() == Code::usage) throw;
      sample.fault = error;
    }
    return true;
  }
  bool unique_keys() const override { return source_->unique_keys(); }
  Tally left_out() const override { return source_->left_out(); }
  std::uint64_t expected_samples() const override { return source_->expected_samples(); }
  std::uint64_t expected_bytes() const override { return source_->expected_bytes(); }
  std::uint64_t consumed_bytes() const override { return source_->consumed_bytes(); }

 private:
  const std::unique_ptr<Source> source_;
  const PartSelection& selection_;
  Labeler& labeler_;
};

// A source without samples: what could not be listed was reported, and nothing is to be written.
class NoSource final : public Source {
 public:
  bool next(Sample&) override { return false; }
};

class PackTool final : public Tool {
 public:
  ToolInfo info() const override {
    return {
        "prep-pack", "Pack samples into shards: shuffled, split, of equal size, with a manifest.",
        "With a pattern as output (%06d is the shard's number, a second %05d the number of "
        "shards,\n"
        "{split} the split's name), manifest.json and SHA256SUMS are written last. A run that was\n"
        "ended goes on at its first unfinished shard. Other outputs take the samples in the same\n"
        "order: x.tar, -, or a directory, which unpacks.\n\n"
        "Examples:\n"
        "  prep-pack photos/ -o 'shards/train-%06d.tar' --labels dir --shuffle 1 --shards 64\n"
        "  prep-pack data.csv -o 'shards/{split}-%05d.tar' --split train=0.9,val=0.1 --shuffle 1\n"
        "  prep-pack 'old/{00..99}.tar' -o 'new/t.tfrecord-%05d-of-%05d' --shards 16\n"
        "  prep-resize photos/ -o - | prep-pack - -o 'shards/train-%06d.tar' --max-size 500M\n"
        "  for i in 0 1 2 3; do\n"
        "    prep-pack photos/ -o 'shards/%06d.tar' --shards 64 --task $i/4 & done; wait\n"
        "  prep-pack --merge shards/\n\n"
        "Exit status: 0 done, 1 the run failed, 2 wrong usage, 3 more bad samples than\n"
        "--max-errors allows."};
  }

  void add_options(CLI::App& app) override;
  bool shares_by_key() const override { return false; }
  ImageDescriber image_describer() const override { return image::describe_image; }
  bool is_other_job() const override { return options_.merge; }
  void do_other_job(const RunContext& run) override;
  std::unique_ptr<Stage> make_stage() override;
  std::unique_ptr<Sink> make_sink(const RunContext& run) override;
  std::unique_ptr<Source> make_source(const RunContext& run) override;

 private:
  bool writes_shards(const RunContext& run) const;
  std::string example_name(const RunContext& run) const;
  bool is_tfrecord(const RunContext& run) const;
  Compression compression(const RunContext& run) const;
  std::string needs_plan(const RunContext& run) const;
  void check_options(const RunContext& run) const;
  std::unique_ptr<Source> open_inputs(const RunContext& run) const;
  ShardSinkOptions sink_options(const RunContext& run) const;
  std::unique_ptr<Source> make_planned(const RunContext& run, Source& listed);
  std::unique_ptr<Source> make_stream(std::unique_ptr<Source> source);
  void name_classes();
  void decide_schema();
  std::string listing() const;
  PlanOptions plan_options() const;
  std::uint64_t size_of(std::uint64_t index) const;
  ShardSetPlan set_plan(const RunContext& run, std::uint64_t failed) const;
  void say_plan(const RunContext& run) const;

  PackOptions options_;
  std::optional<PartSelection> selection_;
  std::optional<Labeler> labeler_;
  ShardFormat format_;
  ExampleOptions example_;
  ShardSink* sink_ = nullptr;  // where shards are written
  bool planned_ = false;
  std::unique_ptr<Source> source_;  // opened early, to know whether it can be read again
  Catalog catalog_;
  ShardPlan plan_;
};

void PackTool::add_options(CLI::App& app) {
  PackOptions& o = options_;
  app.add_option("--format", o.format, "auto (by the output's name), tar or tfrecord")
      ->check(CLI::IsMember({"auto", "tar", "tfrecord"}))
      ->option_text("FORMAT");
  auto* shards = app.add_option("--shards", o.shards, "so many shards (of each split)")
                     ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000}))
                     ->option_text("N");
  auto* size = app.add_option("--max-size", o.max_size, "no shard larger than this (default 1G)")
                   ->option_text("SIZE");
  auto* count = app.add_option("--max-count", o.max_count, "no shard of more samples than this")
                    ->check(CLI::PositiveNumber)
                    ->option_text("N");
  shards->excludes(size)->excludes(count);
  app.add_option("--shuffle", o.shuffle, "one random order of all samples, by a hash of their keys")
      ->option_text("SEED");
  app.add_option("--shuffle-buffer", o.shuffle_buffer,
                 "shuffle a stream, as far as N samples in memory can")
      ->option_text("N");
  app.add_option("--equal", o.equal,
                 "make all shards equally long: drop what is too much, or pad by repeating")
      ->check(CLI::IsMember({"no", "drop", "pad"}))
      ->option_text("HOW");
  app.add_option("--split", o.split, "shares of the samples: train=0.9,val=0.1")
      ->option_text("NAME=SHARE,...");
  app.add_flag("--stratify", o.stratify, "split each class by itself");
  app.add_option("--labels", o.labels, "'dir': classes are the first directories; or a table")
      ->option_text("dir|FILE");
  app.add_option("--classes", o.classes, "names of the classes in order, one a line")
      ->option_text("FILE");
  app.add_option("--parts", o.parts, "take these parts only, in this order")
      ->delimiter(',')
      ->option_text("PART,...");
  app.add_option("--rename", o.renames, "rename parts: jpeg=jpg")
      ->delimiter(',')
      ->option_text("OLD=NEW,...");
  app.add_flag("--regroup", o.regroup, "join samples whose parts stand apart in a tar");
  app.add_option("--index", o.indexes, "also write indexes: dali, wids, energon, tfrecord")
      ->delimiter(',')
      ->option_text("KIND,...");
  app.add_option("--compress", o.compress, "auto (by the output's name), none, gzip or zstd")
      ->check(CLI::IsMember({"auto", "none", "gzip", "zstd"}))
      ->option_text("HOW");
  app.add_option("--types", o.types, "types of parts in a TFRecord: cls=int64,bbox=float,x=bytes")
      ->delimiter(',')
      ->option_text("PART=TYPE,...");
  app.add_option("--path-columns", o.path_columns, "a table's columns of paths, by name or number")
      ->delimiter(',')
      ->option_text("COLUMN,...");
  app.add_option("--label-column", o.label_column, "a table's column of labels")
      ->option_text("COLUMN");
  app.add_option("--header", o.header, "whether a table's first row holds names: auto, yes or no")
      ->check(CLI::IsMember({"auto", "yes", "no"}))
      ->option_text("WHEN");
  app.add_flag("--merge", o.merge, "INPUT is a directory of shards: join its tasks' manifests");
}

// --- what was asked for -------------------------------------------------------------------------

bool PackTool::writes_shards(const RunContext& run) const {
  const SpecKind kind = run.output.kind;
  return kind != SpecKind::directory && kind != SpecKind::standard_stream &&
         ShardPattern::matches(run.output.path);
}

// What a shard's name will look like, without its directories.
std::string PackTool::example_name(const RunContext& run) const {
  return std::string(base_name(ShardPattern(run.output.path).name("split", 0, 1)));
}

bool PackTool::is_tfrecord(const RunContext& run) const {
  if (options_.format != "auto") return options_.format == "tfrecord";
  return run.output.kind == SpecKind::tfrecord ||
         example_name(run).find(".tfrecord") != std::string::npos;
}

// A tar's compression is what its name says; TensorFlow's readers are told in another way.
Compression PackTool::compression(const RunContext& run) const {
  const Compression by_name = compression_for_name(example_name(run));
  if (options_.compress == "auto") return by_name;
  const Compression wanted = options_.compress == "gzip"   ? Compression::gzip
                             : options_.compress == "zstd" ? Compression::zstd
                                                           : Compression::none;
  if (wanted != by_name && !is_tfrecord(run)) {
    fail(Code::usage, "--compress {}: the shards' names should say so; they end in .tar{}",
         options_.compress,
         wanted == Compression::gzip   ? ".gz"
         : wanted == Compression::zstd ? ".zst"
                                       : "");
  }
  return wanted;
}

// Why all samples must be known before the first is written; "" if they need not.
std::string PackTool::needs_plan(const RunContext& run) const {
  if (options_.shuffle && options_.shuffle_buffer == 0) return "--shuffle";
  if (options_.shards > 0) return "--shards";
  if (options_.equal != "no") return "--equal";
  if (!options_.split.empty()) return "--split";
  if (options_.labels == "dir" && options_.classes.empty()) return "--labels dir without --classes";
  if (options_.regroup) return "--regroup";
  if (run.sink_options.task.count > 1) return "--task";
  if (writes_shards(run) && ShardPattern(run.output.path).needs_total()) {
    return "the number of shards in their names";
  }
  return "";
}

void PackTool::check_options(const RunContext& run) const {
  const auto refuse = [](std::string_view why) { fail(Code::usage, "{}", why); };
  if (!options_.split.empty()) parse_splits(options_.split);
  if (!options_.max_size.empty()) parse_size(options_.max_size);
  if (options_.stratify && options_.split.empty()) refuse("--stratify goes with --split");
  if (options_.shuffle_buffer > 0 && !options_.shuffle) {
    refuse("--shuffle-buffer N needs a seed too: --shuffle SEED");
  }
  if (writes_shards(run)) {
    const bool has_place = ShardPattern(run.output.path).needs_split();
    if (!options_.split.empty() && !has_place) {
      refuse("--split needs {split} in the output's name, as in 'shards/{split}-%06d.tar'");
    }
    if (options_.split.empty() && has_place) refuse("{split} in the output's name needs --split");
    const std::string name = example_name(run);
    const bool is_tar = options_.format == "tar" || run.output.kind == SpecKind::tar ||
                        name.find(".tar") != std::string::npos || name.ends_with(".tgz");
    if (!is_tar && !is_tfrecord(run)) {
      refuse("shards' names should end in .tar or .tfrecord; --format says what others are");
    }
    return;
  }
  const bool about_shards = options_.shards > 0 || options_.max_count > 0 ||
                            !options_.max_size.empty() || options_.equal != "no" ||
                            !options_.split.empty() || !options_.indexes.empty();
  if (about_shards) {
    refuse(
        "--shards, --max-size, --max-count, --equal, --split and --index are about shards; "
        "the output must be a pattern then, as in 'shards/train-%06d.tar'");
  }
  if (run.sink_options.task.count > 1) {
    refuse("--task shares out shards; the output must be a pattern, as in 'shards/train-%06d.tar'");
  }
  if (options_.format != "auto" || options_.compress != "auto") {
    refuse("--format and --compress are about shards; other outputs go by their name");
  }
}

std::unique_ptr<Stage> PackTool::make_stage() {
  selection_.emplace(options_.parts, options_.renames);
  std::optional<ClassNames> classes;
  if (!options_.classes.empty()) classes = ClassNames::read(options_.classes);
  TableOptions table;
  table.label_column = options_.label_column;
  std::optional<Labels> labels;
  Labeler::From from = Labeler::From::parts;
  if (options_.labels == "dir") {
    from = Labeler::From::directories;
  } else if (!options_.labels.empty()) {
    from = Labeler::From::table;
    labels = Labels::read(options_.labels, table);
  }
  labeler_.emplace(from, std::move(labels), std::move(classes));
  if (options_.stratify) labeler_->read_parts();
  return std::make_unique<PackStage>();
}

// --- inputs and output --------------------------------------------------------------------------

std::unique_ptr<Source> PackTool::open_inputs(const RunContext& run) const {
  SourceOptions options = run.source_options;
  options.tables = true;
  options.table.path_columns = options_.path_columns;
  options.table.label_column = options_.label_column;
  options.table.header = options_.header == "yes"  ? TableOptions::Header::yes
                         : options_.header == "no" ? TableOptions::Header::no
                                                   : TableOptions::Header::automatic;
  if (writes_shards(run)) {
    const std::string directory = ShardPattern(run.output.path).directory();
    options.excluded.push_back(directory);
    struct stat output {};
    if (stat(directory.c_str(), &output) == 0) {
      for (const Spec& input : run.inputs) {
        struct stat st {};
        if (stat(input.path.c_str(), &st) != 0 || !same_file(st, output)) continue;
        fail(Code::usage,
             "{}: the shards would lie among the input; write them to a directory of "
             "their own",
             printable(input.path));
      }
    }
  }
  return run.containers.open_source(run.inputs, options);
}

ShardSinkOptions PackTool::sink_options(const RunContext& run) const {
  ShardSinkOptions options;
  options.tool = run.sink_options.tool;
  options.settings = run.sink_options.settings;
  options.inputs = run.inputs;
  options.task = run.sink_options.task;
  options.force = run.sink_options.force;
  options.dry_run = run.sink_options.dry_run;
  options.planned = planned_;
  options.format = format_;
  options.example = example_;
  options.class_names = labeler_->class_names();
  options.max_count = options_.max_count;
  options.max_size = !options_.max_size.empty() ? parse_size(options_.max_size)
                     : options_.max_count > 0   ? 0
                                                : kDefaultMaxSize;
  options.failed = run.sink_options.failed;
  options.tolerates = [&budget = run.budget](std::uint64_t failed, std::uint64_t read) {
    return budget.allows(failed, read);
  };
  return options;
}

std::unique_ptr<Sink> PackTool::make_sink(const RunContext& run) {
  check_options(run);
  source_ = open_inputs(run);
  const std::string reason = needs_plan(run);
  planned_ = source_->is_rereadable() && options_.shuffle_buffer == 0;
  if (!planned_ && !reason.empty()) {
    fail(Code::usage,
         "{} needs to know all samples before the first is written, but the input can be read only "
         "once (a stream, or a compressed tar): unpack it to a file or a directory first{}",
         reason,
         reason == "--shuffle" ? ", or shuffle as far as a buffer can, with --shuffle-buffer N"
                               : "");
  }
  if (!writes_shards(run)) return run.containers.open_sink(run.output, run.sink_options);
  format_.container = is_tfrecord(run) ? ShardContainer::tfrecord : ShardContainer::tar;
  format_.compression = compression(run);
  format_.indexes = parse_index_kinds(options_.indexes, is_tfrecord(run));
  if (!format_.indexes.empty() && format_.compression != Compression::none) {
    fail(Code::usage, "--index: an index holds offsets, which mean nothing in compressed shards");
  }
  std::string types;
  for (const std::string& type : options_.types) types += (types.empty() ? "" : ",") + type;
  if (!types.empty()) example_.types = parse_part_types(types);
  example_.describe_image = run.sink_options.describe_image;
  if (labeler_->knows_indexes()) name_classes();
  auto sink = std::make_unique<ShardSink>(run.output, sink_options(run));
  sink_ = sink.get();
  return sink;
}

std::unique_ptr<Source> PackTool::make_source(const RunContext& run) {
  if (planned_) return make_planned(run, *source_);
  if (!labeler_->knows_indexes()) labeler_->finish();
  return make_stream(std::move(source_));
}

std::unique_ptr<Source> PackTool::make_stream(std::unique_ptr<Source> source) {
  source = std::make_unique<StreamSource>(std::move(source), *selection_, *labeler_);
  if (options_.shuffle_buffer == 0) return source;
  return std::make_unique<ShuffleBufferSource>(std::move(source), options_.shuffle_buffer,
                                               *options_.shuffle);
}

// --- the plan -----------------------------------------------------------------------------------

std::unique_ptr<Source> PackTool::make_planned(const RunContext& run, Source& listed) {
  std::uint64_t failed = 0, duplicates = 0;
  const auto check = [&](const Sample& sample) {
    if (sink_) sink_->check(sample);
  };
  catalog_ = list_samples(listed, *selection_, *labeler_, check, options_.regroup, run.slots,
                          [&](const Outcome& outcome) {
                            ++failed;
                            duplicates += outcome.code == Code::duplicate;
                            run.reporter.add(outcome);
                          });
  if (duplicates > 0 && !options_.regroup && !listed.unique_keys()) {
    run.reporter.warn("where parts of one sample stand apart, --regroup joins them");
  }
  // There is no use in packing for hours what will not be complete.
  if (catalog_.size() == 0 || !run.budget.allows(failed, failed + catalog_.size())) {
    return std::make_unique<NoSource>();
  }
  if (format_.container == ShardContainer::tfrecord && sink_) decide_schema();
  plan_ = plan_shards(catalog_, plan_options());
  if (sink_) sink_->set_plan(set_plan(run, failed));
  if (run.sink_options.dry_run && sink_) say_plan(run);
  return std::make_unique<PlannedSource>(catalog_, plan_, run.sink_options.task, *selection_,
                                         *labeler_, listed.left_out());
}

void PackTool::name_classes() {
  const std::vector<std::string>& names = labeler_->class_names();
  if (names.empty()) return;
  example_.class_names = std::make_shared<const std::vector<std::string>>(names);
}

// The first sound sample of the listing decides, whatever task this is and in whatever order they
// come.
void PackTool::decide_schema() {
  name_classes();
  const std::uint64_t tries = std::min(catalog_.size(), kSchemaTries);
  for (std::uint64_t i = 0; !format_.schema; ++i) {
    try {
      const Sample sample = finished_sample(catalog_, i, *selection_, *labeler_);
      format_.schema = std::make_shared<ExampleSchema>(ExampleSchema::decide(sample, example_));
    } catch (const Error& error) {
      const bool ends_run = error.code() == Code::usage || error.code() == Code::interrupted;
      if (ends_run || i + 1 == tries) throw;
    }
  }
  sink_->set_schema(format_.schema);
}

// A digest of everything that the samples are made of. Labels out of tables, and the names of
// classes, are no part of the files that the catalog knows.
std::string PackTool::listing() const {
  Digest digest(Digest::Kind::sha256);
  digest.update(as_bytes(catalog_.digest()));
  std::string text;
  for (std::uint64_t i = 0; i < catalog_.size(); ++i) {
    text.append(labeler_->text(catalog_.label(i))).append(1, '\n');
    if (text.size() < kDigestPiece) continue;
    digest.update(as_bytes(text));
    text.clear();
  }
  for (const std::string& name : labeler_->class_names()) text.append(name).append(1, '\n');
  digest.update(as_bytes(text));
  return digest.hex();
}

// What a sample will take of a shard.
std::uint64_t PackTool::size_of(std::uint64_t index) const {
  std::vector<ExampleSchema::PartSize> parts;
  for (const Catalog::PartSize& part : catalog_.part_sizes(index)) {
    parts.push_back({part.name, part.size});
  }
  const std::string label = labeler_->text(catalog_.label(index));
  if (!label.empty()) parts.push_back({"cls", label.size()});
  return sample_size(format_.container, format_.schema.get(), catalog_.key(index), parts);
}

PlanOptions PackTool::plan_options() const {
  PlanOptions plan;
  plan.shuffle_seed = options_.shuffle;
  if (!options_.split.empty()) plan.splits = parse_splits(options_.split);
  plan.stratify = options_.stratify;
  plan.shards = options_.shards;
  plan.max_count = options_.max_count;
  if (!sink_) {
    plan.shards = 1;
  } else if (plan.shards == 0 && (plan.max_count == 0 || !options_.max_size.empty())) {
    plan.max_size = options_.max_size.empty() ? kDefaultMaxSize : parse_size(options_.max_size);
  }
  plan.equal = options_.equal == "drop"  ? PlanOptions::Equal::drop
               : options_.equal == "pad" ? PlanOptions::Equal::pad
                                         : PlanOptions::Equal::no;
  plan.size = [this](std::uint64_t index) { return size_of(index); };
  plan.shard_overhead = empty_shard_size(format_.container);
  return plan;
}

ShardSetPlan PackTool::set_plan(const RunContext& run, std::uint64_t failed) const {
  ShardSetPlan set;
  const Task& task = run.sink_options.task;
  std::vector<std::uint64_t> totals;
  for (std::size_t i = 0; i < plan_.splits.size(); ++i) totals.push_back(plan_.shards_of(i));
  for (std::uint64_t i = 0; i < plan_.shards.size(); ++i) {
    const PlannedShard& shard = plan_.shards[i];
    set.shards.push_back({plan_.splits[shard.split], shard.index, totals[shard.split],
                          shard.end - shard.begin + shard.repeated.has_value()});
    const bool is_mine = i % task.count == task.index;
    if (is_mine) set.bytes += plan_options().shard_overhead;
    for (std::uint64_t j = shard.begin; is_mine && j < shard.end; ++j) {
      set.bytes += size_of(plan_.order[j]);
    }
    if (is_mine && shard.repeated) set.bytes += size_of(*shard.repeated);
  }
  // How far compression gets is not known before.
  if (format_.compression != Compression::none) set.bytes = 0;
  set.splits = plan_.splits;
  set.listing = listing();
  set.equal = options_.equal != "no";
  set.failed = failed;
  set.oversized = plan_.oversized;
  for (const std::uint64_t index : plan_.dropped) set.dropped.emplace_back(catalog_.key(index));
  const ShardPattern pattern(run.output.path);
  for (const PlannedShard& shard : plan_.shards) {
    if (!shard.repeated) continue;
    set.repeated.push_back(
        {std::string(catalog_.key(*shard.repeated)),
         pattern.name(plan_.splits[shard.split], shard.index, totals[shard.split])});
  }
  set.class_names = labeler_->class_names();
  return set;
}

void PackTool::say_plan(const RunContext& run) const {
  for (std::size_t split = 0; split < plan_.splits.size(); ++split) {
    std::uint64_t samples = 0, bytes = 0;
    for (const PlannedShard& shard : plan_.shards) {
      if (shard.split != split) continue;
      samples += shard.end - shard.begin;
      for (std::uint64_t j = shard.begin; j < shard.end; ++j) bytes += size_of(plan_.order[j]);
    }
    const std::string& name = plan_.splits[split];
    run.reporter.say(fmt::format("{}{} samples, {}, in {} shards",
                                 name.empty() ? "" : printable(name) + ": ", human_count(samples),
                                 human_bytes(bytes), human_count(plan_.shards_of(split))));
  }
}

void PackTool::do_other_job(const RunContext& run) {
  if (run.inputs.size() != 1) fail(Code::usage, "--merge: give one directory of shards");
  const Manifest whole = merge_shard_set(run.inputs[0].path);
  std::uint64_t samples = 0;
  for (const ShardRecord& shard : whole.shards) samples += shard.samples;
  run.reporter.say(fmt::format("{}: {} samples in {} shards", printable(run.inputs[0].path),
                               human_count(samples), human_count(whole.shards.size())));
}

}  // namespace
}  // namespace prep

int main(int argc, char** argv) {
  prep::PackTool tool;
  return prep::run_tool(tool, prep::registry(), argc, argv);
}
