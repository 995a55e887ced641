// Threads for measuring: each on a CPU of its own, all let loose at the same moment.
#pragma once

#include <functional>
#include <vector>

#include "lib/core/jobs.h"

namespace prep {

// The CPUs that this process may use, by number, at least one.
std::vector<int> usable_cpus();

// Calls prepare(i) and then, once all threads are prepared, work(i) on `threads` threads, pinned to
// the usable CPUs in turn. Returns the seconds from the common start to the end of the last one.
// throws what a thread has thrown, of several one; after that in prepare() nothing works. A signal
// interrupts the threads' system calls; it is work()'s to look for it (check_interrupt()).
double run_pinned(int threads, const std::function<void(int)>& prepare,
                  const std::function<void(int)>& work);

// The calling thread and as many others, up to `most` in all, as there are free slots now.
class BorrowedThreads {
 public:
  explicit BorrowedThreads(JobSlots& slots, int most = 1 << 12);
  BorrowedThreads(const BorrowedThreads&) = delete;
  ~BorrowedThreads();
  int count() const { return borrowed_ + 1; }

 private:
  JobSlots& slots_;
  int borrowed_ = 0;
};

// Seconds of a clock that only goes forward, and of CPU that this thread has had.
double wall_seconds();
double thread_cpu_seconds();

}  // namespace prep
