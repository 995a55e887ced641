// What prep-pack's output is, by its name and the options: shards of which kind, or something else.
#pragma once

#include <string>

#include "formats/shard_file.h"
#include "lib/core/key_hash.h"
#include "lib/core/spec.h"
#include "tools/pack_options.h"

namespace prep {

class PackOutput {
 public:
  // throws Error usage where the name and the options do not go together.
  PackOutput(const Spec& output, const PackOptions& options, const Task& task);

  bool is_shards() const { return is_shards_; }
  // Of shards; the schema is not decided yet.
  const ShardFormat& format() const { return format_; }
  // Why all samples must be known before the first is written; "" if they need not.
  const std::string& plan_reason() const { return plan_reason_; }

 private:
  void check_shards(const Spec& output, const PackOptions& options) const;
  static void check_other(const PackOptions& options, const Task& task);
  ShardFormat format_of(const Spec& output, const PackOptions& options) const;
  std::string find_plan_reason(const Spec& output, const PackOptions& options,
                               const Task& task) const;

  bool is_shards_ = false;
  std::string example_;  // what a shard's name will look like, without its directories
  ShardFormat format_;
  std::string plan_reason_;
};

}  // namespace prep
