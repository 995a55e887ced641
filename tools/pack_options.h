// What prep-pack was asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/example_schema.h"
#include "formats/shard_plan.h"
#include "lib/core/table_options.h"

namespace prep {

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

  void add_to(CLI::App& app);

  // The largest shard, in bytes; 0: no matter how large. throws Error usage.
  std::uint64_t largest_shard() const;
  TableOptions table() const;
  // throws Error usage.
  std::vector<PartType> part_types() const;
  // Without `size` and `shard_overhead`. throws Error usage.
  PlanOptions plan() const;
  // Whether an option was given that is about shards, not about any output.
  bool is_about_shards() const;
};

}  // namespace prep
