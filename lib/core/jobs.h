// How many threads may work: the CPUs of this process, or what GNU make's jobserver lends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/file_io.h"

namespace prep {

// The CPUs that this process may use, at least 1: the affinity mask, and the CPU quota of its
// cgroup (v2 cpu.max or v1 cpu.cfs_quota_us, the tightest up to the root), rounded up.
int available_cpus();

// Permission for threads beyond the first. The first thread of a process always may work: under
// make it owns the token that started the recipe.
class JobSlots {
 public:
  virtual ~JobSlots() = default;
  // The most threads that may ever work at once, the first one included.
  virtual int limit() const = 0;
  // One more thread may start; never waits.
  virtual bool try_acquire() = 0;
  virtual void release() = 0;
  // Whether others want the slots: then a thread without work gives its slot back.
  virtual bool shared() const { return false; }
};

// `requested` is -j's value: N threads, whatever make says. Without it: the jobserver that
// MAKEFLAGS (`makeflags`, null if unset) names, as a pipe ("R,W") or "fifo:PATH"; one that is named
// but closed gives one thread and sets `*warning`. Else available_cpus().
// Tokens still held go back when the object dies, and when a second signal ends the process.
std::unique_ptr<JobSlots> make_job_slots(std::optional<int> requested, const char* makeflags,
                                         std::string* warning);

}  // namespace prep
