// Which sample goes into which shard, and in which order: decided before anything is written, from
// the samples' keys and sizes alone, so that every machine and every task decides the same.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/catalog.h"

namespace prep {

// "train=0.9,val=0.1": a name and a share each; the shares add up to 1.
struct Split {
  std::string name;
  double share = 1;
};
// throws Error usage.
std::vector<Split> parse_splits(std::string_view text);

struct PlanOptions {
  enum class Equal { no, drop, pad };

  // Samples in the order of a keyed hash of their keys (XXH3 with this seed; ties by key); without
  // it, in the order of the catalog.
  std::optional<std::uint64_t> shuffle_seed;
  // A sample's side is decided by another hash of its key alone, whatever the seed: it never
  // changes when other samples come or go. Empty: everything is one split without a name.
  std::vector<Split> splits;
  // Instead, each label's samples are divided as the shares say, to the nearest sample, in the
  // order of that hash.
  bool stratify = false;
  // Either so many shards of each split, whose numbers of samples differ by one at most; or as few
  // as the limits allow (0: no limit; not both 0).
  std::uint64_t shards = 0;
  std::uint64_t max_count = 0;
  std::uint64_t max_size = 0;  // in the measure of `size`; a larger sample is let through
  Equal equal = Equal::no;
  // What a sample takes of a shard, and what a shard takes by itself.
  std::function<std::uint64_t(std::uint64_t)> size;
  std::uint64_t shard_overhead = 0;
};

struct PlannedShard {
  std::size_t split = 0;
  std::uint64_t index = 0;           // within its split
  std::uint64_t begin = 0, end = 0;  // in `order`
  // To make it as long as the others: a sample of another shard again, behind its own.
  std::optional<std::uint64_t> repeated;
};

struct ShardPlan {
  std::vector<std::string> splits;   // {""} without splits
  std::vector<std::uint64_t> order;  // samples of the catalog, split by split
  std::vector<PlannedShard> shards;
  std::vector<std::uint64_t> dropped;  // samples that are in no shard
  // Samples that are larger than max_size; without `equal` each has a shard of its own.
  std::uint64_t oversized = 0;

  std::uint64_t shards_of(std::size_t split) const;
};

// throws Error usage where there are fewer samples than shards; the message names the split.
ShardPlan plan_shards(const Catalog& catalog, const PlanOptions& options);

}  // namespace prep
