// prep-pack: samples into shards: shuffled, split, of equal size, indexed, with a manifest.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/labeler.h"
#include "formats/part_selection.h"
#include "formats/planned_source.h"
#include "formats/registry.h"
#include "formats/shard_pattern.h"
#include "formats/shard_set.h"
#include "formats/shard_sink.h"
#include "formats/shuffle_buffer.h"
#include "lib/core/file_io.h"
#include "lib/core/tool.h"
#include "lib/image/image_shape.h"
#include "tools/pack_options.h"
#include "tools/pack_output.h"
#include "tools/pack_planner.h"

namespace prep {
namespace {

// How many bad samples may come before one that a schema can be made of.
constexpr std::uint64_t kSchemaTries = 100;

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

  void add_options(CLI::App& app) override { options_.add_to(app); }
  bool shares_by_key() const override { return false; }
  ImageDescriber image_describer() const override { return image::describe_image; }
  bool is_other_job() const override { return options_.merge; }
  void do_other_job(const RunContext& run) override;
  std::unique_ptr<Stage> make_stage() override;
  std::unique_ptr<Sink> make_sink(const RunContext& run) override;
  std::unique_ptr<Source> make_source(const RunContext& run) override;

 private:
  std::unique_ptr<Source> open_inputs(const RunContext& run) const;
  ShardSinkOptions sink_options(const RunContext& run) const;
  std::unique_ptr<Source> make_planned(const RunContext& run, Source& listed);
  std::unique_ptr<Source> make_stream(std::unique_ptr<Source> source);
  void name_classes();
  void decide_schema();

  PackOptions options_;
  std::optional<PartSelection> selection_;
  std::optional<Labeler> labeler_;
  ShardFormat format_;
  ExampleOptions example_;
  ShardSink* sink_ = nullptr;  // where shards are written
  bool is_shards_ = false;
  bool planned_ = false;
  std::unique_ptr<Source> source_;  // opened early, to know whether it can be read again
  std::optional<Catalog> catalog_;
  std::optional<PackPlanner> planner_;
};

std::unique_ptr<Stage> PackTool::make_stage() {
  selection_.emplace(options_.parts, options_.renames);
  std::optional<ClassNames> classes;
  if (!options_.classes.empty()) classes = ClassNames::read(options_.classes);
  std::optional<Labels> labels;
  Labeler::From from = Labeler::From::parts;
  if (options_.labels == "dir") {
    from = Labeler::From::directories;
  } else if (!options_.labels.empty()) {
    from = Labeler::From::table;
    labels = Labels::read(options_.labels, options_.table());
  }
  labeler_.emplace(from, std::move(labels), std::move(classes));
  if (options_.stratify) labeler_->read_parts();
  return std::make_unique<PackStage>();
}

// --- inputs and output --------------------------------------------------------------------------

void refuse_output_among(const std::vector<Spec>& inputs, const std::string& directory) {
  struct stat output {
  }, st{};
  if (stat(directory.c_str(), &output) != 0) return;
  for (const Spec& input : inputs) {
    if (stat(input.path.c_str(), &st) != 0 || !same_file(st, output)) continue;
    fail(Code::usage,
         "{}: the shards would lie among the input; write them to a directory of their own",
         printable(input.path));
  }
}

std::unique_ptr<Source> PackTool::open_inputs(const RunContext& run) const {
  SourceOptions options = run.source_options;
  options.tables = true;
  options.table = options_.table();
  if (is_shards_) {
    const std::string directory = ShardPattern(run.output.path).directory();
    options.excluded.push_back(directory);
    refuse_output_among(run.inputs, directory);
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
  options.max_size = options_.largest_shard();
  options.failed = run.sink_options.failed;
  options.tolerates = [&budget = run.budget](std::uint64_t failed, std::uint64_t read) {
    return budget.allows(failed, read);
  };
  return options;
}

std::unique_ptr<Sink> PackTool::make_sink(const RunContext& run) {
  const PackOutput output(run.output, options_, run.sink_options.task);
  is_shards_ = output.is_shards();
  source_ = open_inputs(run);
  planned_ = source_->is_rereadable() && options_.shuffle_buffer == 0;
  const std::string& reason = output.plan_reason();
  if (!planned_ && !reason.empty()) {
    fail(Code::usage,
         "{} needs to know all samples before the first is written, but the input can be read only "
         "once (a stream, or a compressed tar): unpack it to a file or a directory first{}",
         reason,
         reason == "--shuffle" ? ", or shuffle as far as a buffer can, with --shuffle-buffer N"
                               : "");
  }
  if (!is_shards_) return run.containers.open_sink(run.output, run.sink_options);
  format_ = output.format();
  example_.types = options_.part_types();
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
  if (catalog_->size() == 0 || !run.budget.allows(failed, failed + catalog_->size())) {
    return std::make_unique<NoSource>();
  }
  if (format_.container == ShardContainer::tfrecord && sink_) decide_schema();
  const Task& task = run.sink_options.task;
  planner_.emplace(*catalog_, *labeler_, options_.plan(), sink_ ? &format_ : nullptr);
  if (sink_) {
    ShardSetPlan set = planner_->shard_set(ShardPattern(run.output.path), task, failed);
    set.equal = options_.equal != "no";
    sink_->set_plan(std::move(set));
    if (run.sink_options.dry_run) planner_->say(run.reporter);
  }
  return std::make_unique<PlannedSource>(*catalog_, planner_->plan(), task, *selection_, *labeler_,
                                         listed.left_out());
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
  const std::uint64_t tries = std::min(catalog_->size(), kSchemaTries);
  for (std::uint64_t i = 0; !format_.schema; ++i) {
    try {
      const Sample sample = finished_sample(*catalog_, i, *selection_, *labeler_);
      format_.schema = std::make_shared<ExampleSchema>(ExampleSchema::decide(sample, example_));
    } catch (const Error& error) {
      const bool ends_run = error.code() == Code::usage || error.code() == Code::interrupted;
      if (ends_run || i + 1 == tries) throw;
    }
  }
  sink_->set_schema(format_.schema);
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
