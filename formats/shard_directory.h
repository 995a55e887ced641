// A directory that a run is about to write shards into: what earlier runs have left there, what is
// in the way, and what goes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/shard_log.h"
#include "formats/shard_pattern.h"
#include "lib/core/key_hash.h"
#include "lib/core/spec.h"

namespace prep {

class ShardDirectory {
 public:
  using Names = std::set<std::string>;  // relative to the directory

  ShardDirectory(const ShardPattern& pattern, std::string tool, Task task,
                 std::vector<Spec> inputs);

  const std::string& path() const { return pattern_.directory(); }
  // Of the names that the pattern gives; {""} unless told.
  void set_splits(std::vector<std::string> splits) { splits_ = std::move(splits); }

  // Where the run makes its shards: a hidden directory, which the log goes with.
  const std::string& staging() const { return staging_; }
  void remove_staging() const;

  // Looks at what is there. `planned` are all names that will be written, of all tasks. throws
  // Error usage: an input would be replaced; or, unless `force`, shards are in the way that no run
  // of ours has made, or those of another set.
  void check(const Names& planned, bool force);
  // What replace() would free.
  std::uint64_t replaced_bytes(const Names& kept) const;
  // Takes away what earlier runs have left, but for `kept` (which this one need not make again) and
  // for what other tasks are at; with `force`, also what else has such names and is not planned.
  // Tasks that begin at the same time do this one after the other, so that none removes what
  // another has made since. throws Error io (another run is at work, or that of the system).
  void replace(ShardLog& log, const Names& planned, const Names& kept, bool force) const;

 private:
  bool may_give(const std::string& path) const;
  void look();
  void refuse_inputs(const Names& planned) const;
  void refuse_other_sets() const;
  void refuse_foreign(const Names& planned);
  Names replaced_names(const Names& kept) const;
  void remove(const std::string& name) const;
  void remove_forced(const Names& planned) const;
  bool is_of_same_split(std::string_view name) const;
  std::string staging_of(std::string_view log) const;
  void refuse_live_runs() const;
  void remove_other_splits() const;

  const ShardPattern& pattern_;
  const std::string tool_;
  const Task task_;
  const std::vector<Spec> inputs_;
  std::vector<std::string> splits_ = {""};
  std::string staging_;
  EarlierRuns earlier_;
};

}  // namespace prep
