// Which of the listed samples goes where, and what prep-pack tells its sink of that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "formats/catalog.h"
#include "formats/labeler.h"
#include "formats/shard_file.h"
#include "formats/shard_pattern.h"
#include "formats/shard_plan.h"
#include "formats/shard_sink.h"
#include "lib/core/key_hash.h"
#include "lib/core/report.h"

namespace prep {

class PackPlanner {
 public:
  // `format` is that of the shards; null where all samples go into one output, in the plan's order.
  // throws Error usage where there are fewer samples than shards.
  PackPlanner(const Catalog& catalog, const Labeler& labeler, PlanOptions options,
              const ShardFormat* format);

  const ShardPlan& plan() const { return plan_; }
  // Of shards: `failed` samples could not be listed.
  ShardSetPlan shard_set(const ShardPattern& pattern, const Task& task, std::uint64_t failed) const;
  // What would be written, a line a split.
  void say(Reporter& reporter) const;

 private:
  std::uint64_t size_of(std::uint64_t index) const;
  std::uint64_t size_of(const PlannedShard& shard) const;
  std::string listing() const;

  const Catalog& catalog_;
  const Labeler& labeler_;
  const ShardFormat* format_;
  ShardPlan plan_;
};

}  // namespace prep
