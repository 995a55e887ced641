// What a run that writes shards leaves for the next one: which shards are finished. It is also the
// lock against a second writer, and the sign that the directory is not complete.
//
// DIR/.TOOL.partial, task I of N: DIR/.TOOL.I-of-N.partial. Lines of JSON: a run's fingerprint,
// then the names of the files that it removes, synced before the first goes, then a line for each
// of its shards, synced before the shard gets its name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/manifest.h"
#include "lib/core/file_io.h"
#include "lib/core/key_hash.h"

namespace prep {

struct FinishedShard {
  std::uint64_t number = 0;  // in the plan
  ShardRecord record;
  std::int64_t mtime_ns = 0;                    // of the shard's file
  std::vector<ExtraFile> files;                 // its indexes
  std::map<std::string, std::uint64_t> labels;  // how many samples have which "cls"
};

// ".prep-pack.partial", ".prep-pack.0-of-4.partial": its name in the directory.
std::string log_name(const std::string& tool, const Task& task);

class ShardLog {
 public:
  // Makes the directory if it is missing, locks, and reads what is there. throws Error io when
  // another run holds the lock.
  ShardLog(std::string directory, const std::string& tool, const Task& task);
  ShardLog(const ShardLog&) = delete;
  ShardLog& operator=(const ShardLog&) = delete;
  // Takes the file away if nothing is in it.
  ~ShardLog();

  // The shards that a run with this fingerprint finished and that are still as it left them.
  std::vector<FinishedShard> finished(const std::string& fingerprint) const;
  // Before anything is written: takes up that run's log, or begins a new one.
  void start(const std::string& fingerprint);
  // Files of earlier runs will be removed. throws Error io.
  void add_replaced(const std::set<std::string>& names);
  // A shard is complete and durable under its temporary name; it gets its final one after the next
  // sync(). throws Error io.
  void add(const FinishedShard& shard);
  void sync();
  // The manifest is written: nothing is left to be told. throws Error io, also when the directory
  // was removed meanwhile.
  void complete();

 private:
  const std::string directory_, path_;
  Fd file_;
  bool is_used_ = false;     // something is in it
  std::string fingerprint_;  // of the run that left the file
  std::vector<FinishedShard> shards_;
  std::size_t size_ = 0;  // of what makes sense in the file
};

// What runs have left in a directory, by their manifests and logs, whoever wrote them.
struct EarlierRuns {
  std::set<std::string> files;  // shards, what lies beside them, the manifests themselves
  struct Shard {
    std::string name, split;
  };
  std::vector<Shard> shards;
};
EarlierRuns find_earlier_runs(const std::string& directory);
// Of the tasks with which this one shares the work, as far as they have begun. None that finishes
// meanwhile is missed.
EarlierRuns find_other_tasks(const std::string& directory, const std::string& tool,
                             const Task& task);

// While it lives, other runs wait before they begin to replace what was there. Best effort: some
// file systems cannot lock directories.
Fd lock_directory(const std::string& directory);

}  // namespace prep
