// What a run that writes shards leaves for the next one: which shards are finished. It is also the
// lock against a second writer, and the sign that the directory is not complete.
//
// DIR/.TOOL.partial, task I of N: DIR/.TOOL.I-of-N.partial. Lines of JSON: a run's
// fingerprint, then a line for each of its shards, synced to disk before the shard gets its name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
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

class ShardLog {
 public:
  // Makes the directory if it is missing, locks, and reads what is there. throws Error io when
  // another run holds the lock.
  ShardLog(std::string directory, const std::string& tool, const Task& task);
  ShardLog(const ShardLog&) = delete;
  ShardLog& operator=(const ShardLog&) = delete;
  // Takes the file away if nothing was ever written to it.
  ~ShardLog();

  // The shards that a run with this fingerprint finished and that are still as it left them.
  std::vector<FinishedShard> finished(const std::string& fingerprint) const;
  // Before anything is written: takes up that run's log, or begins a new one.
  void start(const std::string& fingerprint);
  // A shard is complete and durable under its temporary name. throws Error io.
  void add(const FinishedShard& shard);
  // The manifest is written: nothing is left to be told. throws Error io, also when the directory
  // was removed meanwhile.
  void complete();

 private:
  const std::string directory_, path_;
  Fd file_;
  bool was_there_ = false;
  std::string fingerprint_;  // of the run that left the file
  std::vector<FinishedShard> shards_;
  std::size_t size_ = 0;  // of what makes sense in the file
};

// All shards and files beside them in a directory that its manifests and logs know, whoever wrote
// them; and the manifests themselves.
std::set<std::string> files_of_earlier_runs(const std::string& directory);

}  // namespace prep
