#include "tools/pack_planner.h"

#include <utility>
#include <vector>

#include "formats/shard_body.h"
#include "lib/core/digest.h"

namespace prep {
namespace {

constexpr std::size_t kDigestPiece = 64 << 10;

}  // namespace

PackPlanner::PackPlanner(const Catalog& catalog, const Labeler& labeler, PlanOptions options,
                         const ShardFormat* format)
    : catalog_(catalog), labeler_(labeler), format_(format) {
  if (format) {
    options.size = [this](std::uint64_t index) { return size_of(index); };
    options.shard_overhead = empty_shard_size(format->container);
  } else {
    options.shards = 1;
    options.max_size = 0;
  }
  plan_ = plan_shards(catalog, options);
}

// What a sample will take of a shard.
std::uint64_t PackPlanner::size_of(std::uint64_t index) const {
  std::vector<ExampleSchema::PartSize> parts;
  for (const Catalog::PartSize& part : catalog_.part_sizes(index)) {
    parts.push_back({part.name, part.size});
  }
  const std::string label = labeler_.text(catalog_.label(index));
  if (!label.empty()) parts.push_back({"cls", label.size()});
  return sample_size(format_->container, format_->schema.get(), catalog_.key(index), parts);
}

std::uint64_t PackPlanner::size_of(const PlannedShard& shard) const {
  std::uint64_t bytes = empty_shard_size(format_->container);
  for (std::uint64_t i = shard.begin; i < shard.end; ++i) bytes += size_of(plan_.order[i]);
  if (shard.repeated) bytes += size_of(*shard.repeated);
  return bytes;
}

// A digest of everything that the samples are made of. Labels out of tables, and the names of
// classes, are no part of the files that the catalog knows.
std::string PackPlanner::listing() const {
  Digest digest(Digest::Kind::sha256);
  digest.update(as_bytes(catalog_.digest()));
  std::string text;
  for (std::uint64_t i = 0; i < catalog_.size(); ++i) {
    text.append(labeler_.text(catalog_.label(i))).append(1, '\n');
    if (text.size() < kDigestPiece) continue;
    digest.update(as_bytes(text));
    text.clear();
  }
  for (const std::string& name : labeler_.class_names()) text.append(name).append(1, '\n');
  digest.update(as_bytes(text));
  return digest.hex();
}

ShardSetPlan PackPlanner::shard_set(const ShardPattern& pattern, const Task& task,
                                    std::uint64_t failed) const {
  ShardSetPlan set;
  std::vector<std::uint64_t> totals;
  for (std::size_t i = 0; i < plan_.splits.size(); ++i) totals.push_back(plan_.shards_of(i));
  for (std::uint64_t i = 0; i < plan_.shards.size(); ++i) {
    const PlannedShard& shard = plan_.shards[i];
    const std::string& split = plan_.splits[shard.split];
    const std::uint64_t total = totals[shard.split];
    set.shards.push_back(
        {split, shard.index, total, shard.end - shard.begin + shard.repeated.has_value()});
    if (i % task.count == task.index) set.bytes += size_of(shard);
    if (!shard.repeated) continue;
    set.repeated.push_back(
        {std::string(catalog_.key(*shard.repeated)), pattern.name(split, shard.index, total)});
  }
  // How far compression gets is not known before.
  if (format_->compression != Compression::none) set.bytes = 0;
  set.splits = plan_.splits;
  set.listing = listing();
  set.failed = failed;
  set.oversized = plan_.oversized;
  for (const std::uint64_t index : plan_.dropped) set.dropped.emplace_back(catalog_.key(index));
  set.class_names = labeler_.class_names();
  return set;
}

void PackPlanner::say(Reporter& reporter) const {
  for (std::size_t split = 0; split < plan_.splits.size(); ++split) {
    std::uint64_t samples = 0, bytes = 0;
    for (const PlannedShard& shard : plan_.shards) {
      if (shard.split != split) continue;
      samples += shard.end - shard.begin + shard.repeated.has_value();
      bytes += size_of(shard);
    }
    const std::string& name = plan_.splits[split];
    reporter.say(fmt::format("{}{} samples, {}, in {} shards",
                             name.empty() ? "" : printable(name) + ": ", human_count(samples),
                             human_bytes(bytes), human_count(plan_.shards_of(split))));
  }
}

}  // namespace prep
