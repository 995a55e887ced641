#include "tools/pack_output.h"

#include "formats/compression.h"
#include "formats/shard_pattern.h"
#include "formats/shard_plan.h"
#include "formats/shard_set.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

[[noreturn]] void refuse(std::string_view why) { fail(Code::usage, "{}", why); }

bool names_shards(const Spec& output) {
  return output.kind != SpecKind::directory && output.kind != SpecKind::standard_stream &&
         ShardPattern::matches(output.path);
}

bool is_tfrecord(const Spec& output, const PackOptions& options, const std::string& example) {
  if (options.format != "auto") return options.format == "tfrecord";
  return output.kind == SpecKind::tfrecord || example.find(".tfrecord") != std::string::npos;
}

// A tar's compression is what its name says; TensorFlow's readers are told in another way.
Compression compression_of(const PackOptions& options, const std::string& example,
                           bool is_tfrecord) {
  const Compression by_name = compression_for_name(example);
  if (options.compress == "auto") return by_name;
  const Compression wanted = options.compress == "gzip"   ? Compression::gzip
                             : options.compress == "zstd" ? Compression::zstd
                                                          : Compression::none;
  if (wanted != by_name && !is_tfrecord) {
    fail(Code::usage, "--compress {}: the shards' names should say so; they end in .tar{}",
         options.compress,
         wanted == Compression::gzip   ? ".gz"
         : wanted == Compression::zstd ? ".zst"
                                       : "");
  }
  return wanted;
}

}  // namespace

PackOutput::PackOutput(const Spec& output, const PackOptions& options, const Task& task)
    : is_shards_(names_shards(output)) {
  options.plan();  // are the values such that there can be one?
  if (options.stratify && options.split.empty()) refuse("--stratify goes with --split");
  if (options.shuffle_buffer > 0 && !options.shuffle) {
    refuse("--shuffle-buffer N needs a seed too: --shuffle SEED");
  }
  if (is_shards_) {
    example_ = base_name(ShardPattern(output.path).name("split", 0, 1));
    check_shards(output, options);
    format_ = format_of(output, options);
  } else {
    check_other(options, task);
  }
  plan_reason_ = find_plan_reason(output, options, task);
}

void PackOutput::check_shards(const Spec& output, const PackOptions& options) const {
  const bool has_place = ShardPattern(output.path).needs_split();
  if (!options.split.empty() && !has_place) {
    refuse("--split needs {split} in the output's name, as in 'shards/{split}-%06d.tar'");
  }
  if (options.split.empty() && has_place) refuse("{split} in the output's name needs --split");
  const bool is_tar = options.format == "tar" || output.kind == SpecKind::tar ||
                      example_.find(".tar") != std::string::npos || example_.ends_with(".tgz");
  if (!is_tar && !is_tfrecord(output, options, example_)) {
    refuse("shards' names should end in .tar or .tfrecord; --format says what others are");
  }
}

void PackOutput::check_other(const PackOptions& options, const Task& task) {
  if (options.is_about_shards()) {
    refuse(
        "--shards, --max-size, --max-count, --equal, --split and --index are about shards; "
        "the output must be a pattern then, as in 'shards/train-%06d.tar'");
  }
  if (task.count > 1) {
    refuse("--task shares out shards; the output must be a pattern, as in 'shards/train-%06d.tar'");
  }
  if (options.format != "auto" || options.compress != "auto") {
    refuse("--format and --compress are about shards; other outputs go by their name");
  }
}

ShardFormat PackOutput::format_of(const Spec& output, const PackOptions& options) const {
  const bool tfrecord = is_tfrecord(output, options, example_);
  ShardFormat format;
  format.container = tfrecord ? ShardContainer::tfrecord : ShardContainer::tar;
  format.compression = compression_of(options, example_, tfrecord);
  format.indexes = parse_index_kinds(options.indexes, tfrecord);
  if (!format.indexes.empty() && format.compression != Compression::none) {
    refuse("--index: an index holds offsets, which mean nothing in compressed shards");
  }
  return format;
}

std::string PackOutput::find_plan_reason(const Spec& output, const PackOptions& options,
                                         const Task& task) const {
  if (options.shuffle && options.shuffle_buffer == 0) return "--shuffle";
  if (options.shards > 0) return "--shards";
  if (options.equal != "no") return "--equal";
  if (!options.split.empty()) return "--split";
  if (options.labels == "dir" && options.classes.empty()) return "--labels dir without --classes";
  if (options.regroup) return "--regroup";
  if (task.count > 1) return "--task";
  if (is_shards_ && ShardPattern(output.path).needs_total()) {
    return "the number of shards in their names";
  }
  return "";
}

}  // namespace prep
