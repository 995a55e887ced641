#include "tools/bench_threads.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <mutex>
#include <thread>

#include "lib/core/interrupt.h"

namespace prep {
namespace {

double seconds_of(clockid_t clock) {
  struct timespec time {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The kernel refuses a mask smaller than its own: so many CPUs no machine has.
constexpr int kMostCpus = 1 << 14;

class CpuMask {
 public:
  CpuMask() : set_(CPU_ALLOC(kMostCpus)) { CPU_ZERO_S(size(), set_); }
  CpuMask(const CpuMask&) = delete;
  ~CpuMask() { CPU_FREE(set_); }
  cpu_set_t* get() { return set_; }
  static std::size_t size() { return CPU_ALLOC_SIZE(kMostCpus); }

 private:
  cpu_set_t* set_;
};

// Where the kernel does not let it, the thread runs wherever it is put.
void pin_to(int cpu) {
  CpuMask mask;
  CPU_SET_S(cpu, CpuMask::size(), mask.get());
  pthread_setaffinity_np(pthread_self(), CpuMask::size(), mask.get());
}

// The first exception of several threads.
class FirstError {
 public:
  template <typename F>
  void guard(const F& call) {
    try {
      call();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  bool any() {
    const std::lock_guard lock(mutex_);
    return error_ != nullptr;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace

double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }
double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

BorrowedThreads::BorrowedThreads(JobSlots& slots, int most) : slots_(slots) {
  while (count() < std::min(most, slots.limit()) && slots.try_acquire()) ++borrowed_;
}

BorrowedThreads::~BorrowedThreads() {
  for (; borrowed_ > 0; --borrowed_) slots_.release();
}

std::vector<int> usable_cpus() {
  CpuMask mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, CpuMask::size(), mask.get()) == 0) {
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, CpuMask::size(), mask.get())) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

double run_pinned(int threads, const std::function<void(int)>& prepare,
                  const std::function<void(int)>& work) {
  const std::vector<int> cpus = usable_cpus();
  FirstError error;
  double start = 0;
  std::barrier begin(threads, [&start]() noexcept { start = wall_seconds(); });
  std::vector<double> ends(static_cast<std::size_t>(threads));
  const auto run = [&](int index) {
    const InterruptibleThread interruptible;
    pin_to(cpus[static_cast<std::size_t>(index) % cpus.size()]);
    error.guard([&] { prepare(index); });
    begin.arrive_and_wait();
    if (!error.any()) error.guard([&] { work(index); });
    ends[static_cast<std::size_t>(index)] = wall_seconds();
  };
  std::vector<std::jthread> crew;
  for (int i = 0; i < threads; ++i) {
    error.guard([&] { crew.emplace_back(run, i); });
    // The others must not wait for one that there will never be.
    if (crew.size() <= static_cast<std::size_t>(i)) begin.arrive_and_drop();
  }
  crew.clear();
  error.rethrow();
  return *std::max_element(ends.begin(), ends.end()) - start;
}

}  // namespace prep
