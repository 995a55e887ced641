// What a directory of outputs knows of the runs that filled it.
//
// ROOT/.TOOL.json      the stamp: the last run completed, with these settings
// ROOT/.TOOL.partial   a run is under way, failed, or was killed; also the lock against a second
//                      one. Task I of N: ".TOOL.I-of-N.json", ….
//
// Both hold one JSON object:
//   settings  the settings' text
//   since     outputs whose change time (ctime) is earlier were made with other settings
//   durable   outputs whose ctime is earlier are safe on disk: a syncfs() came after
//   boot      the kernel's boot id
// All times are nanoseconds by the clock of the output's file system. After a kill the page cache
// is still whole, so every renamed file is; after a crash of the machine (another boot id) only
// what is older than `durable` counts, which is brought forward every 30 seconds.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "lib/core/file_io.h"
#include "lib/core/key_hash.h"

namespace prep {

class RunStamp {
 public:
  // Takes the lock and reads what is there. throws Error io when another run holds the lock.
  RunStamp(std::string root, const std::string& tool, const Task& task, std::string settings,
           bool force);
  RunStamp(const RunStamp&) = delete;
  RunStamp& operator=(const RunStamp&) = delete;
  // Without complete(): leaves the partial file for the next run if anything was written.
  ~RunStamp();

  // Whether an earlier run of the same tool and task was found, whatever its settings.
  bool known() const { return known_; }
  // Whether that run was killed: then temporary files may be lying about.
  bool was_killed() const { return was_killed_; }
  // Whether an output with this status can be relied on.
  bool trusts(const struct stat& output) const;

  // Before an output is written (any thread): the first call takes the stamp of completion away;
  // every 30 seconds one makes the outputs so far durable.
  void before_write();
  // All outputs are on disk (syncfs) and the stamp says so.
  void complete();
  // The run ended with bad samples: what there is is on disk, and the next run goes on from it.
  void keep();

 private:
  struct State;
  void recall(const State& state, bool completed);
  void write_partial();
  void sync_outputs();

  std::string root_, stamp_path_, partial_path_, settings_;
  Fd partial_;
  bool known_ = false, was_killed_ = false;
  std::atomic<bool> started_ = false;  // an output may have been written
  std::int64_t since_ = 0;
  std::int64_t durable_ = 0;  // as written to the partial file
  std::int64_t trust_until_;  // what trusts() goes by
  std::int64_t next_checkpoint_ = 0;
  std::mutex mutex_;
};

}  // namespace prep
