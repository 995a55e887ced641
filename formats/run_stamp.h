// What a directory of outputs knows of the runs that filled it.
//
// ROOT/.TOOL.json      the stamp: the last run completed, with these settings
// ROOT/.TOOL.partial   a run is under way, failed, or was killed; also the lock against a second
//                      one. Task I of N: ".TOOL.I-of-N.json", ….
//
// Both hold one JSON object:
//   settings  the settings' text, inputs included
//   swept     whether no output of other settings can be taken for one of these any more
//   durable   outputs whose change time is earlier are safe on disk: a syncfs() came after; in
//             nanoseconds by the clock of the output's file system
//   boot      the kernel's boot id; empty after a failed sync
// An output carries its source's modification time, by which it counts as done. Before a run with
// other settings writes its first, it therefore sets that time to 0 in all those that are there;
// one that writes nothing touches nothing, and leaves `swept` false, so that nothing counts as
// done. After a kill the page cache is still whole, so every renamed file is; after a crash of the
// machine (another boot id) only what is older than `durable` counts, which is brought forward
// every 30 seconds.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "lib/core/file_io.h"
#include "lib/core/key_hash.h"

namespace prep {

class RunStamp {
 public:
  // Takes the lock and reads what is there. With `force` nothing that is there counts as done.
  // throws Error io when another run holds the lock.
  RunStamp(std::string root, std::string tool, const Task& task, std::string settings, bool force);
  RunStamp(const RunStamp&) = delete;
  RunStamp& operator=(const RunStamp&) = delete;
  // Without complete(): leaves the partial file for the next run if anything was written.
  ~RunStamp();

  // Whether an earlier run of this tool was found, whatever its settings and its share.
  bool known() const { return known_; }
  // The tasks ("0-of-1", "3-of-8") whose run was killed: their temporary files may be lying about.
  const std::vector<std::string>& dead_tasks() const { return dead_tasks_; }
  // Whether an output with this status and the right modification time can be relied on.
  bool trusts(const struct stat& output) const;

  // Before an output is written or removed (any thread): the first call takes the stamp of
  // completion away and makes sure that nothing older can be mistaken; every 30 seconds one makes
  // the outputs so far durable. throws Error io, also when a live run with other settings is
  // writing here too.
  void before_write();
  // All outputs are on disk (syncfs) and the stamp says so. throws Error io, also when the
  // directory was removed meanwhile.
  void complete();
  // The run ended with bad samples: what there is is on disk, and the next run goes on from it.
  void keep();

 private:
  struct State;
  std::string file_name(std::string_view ending) const;
  void recall(const State& state, bool completed);
  void look_at_others();
  void start();
  void remove_other_stamps();
  bool sweep();
  void write_partial();
  void sync_outputs();
  void check_still_there() const;

  const std::string root_, tool_;
  const Task task_;
  const std::string settings_, stamp_path_, partial_path_;
  std::string boot_;
  Fd partial_;
  bool known_ = false, was_there_ = false, swept_ = false;
  bool is_on_record_ = false;  // the partial file says what this run does
  std::vector<std::string> dead_tasks_;
  std::atomic<bool> started_ = false;  // an output may have been written
  std::int64_t durable_ = 0;           // as written to the partial file
  std::int64_t trust_until_ = 0;       // what trusts() goes by
  std::int64_t next_checkpoint_ = 0;
  std::mutex mutex_;
};

}  // namespace prep
