// How many requests should be under way at once.
#pragma once

#include <cstdint>

namespace prep {

// Starts low, doubles as long as that makes it faster, stays where it does not, tries again from
// time to time, and halves when the server asks for less. Times are seconds of any steady clock.
// Not thread-safe.
class ConnectionGovernor {
 public:
  // `fixed` > 0: always that many, but for servers that ask for less.
  ConnectionGovernor(int fixed, int most);

  int target() const { return target_; }
  // What happened so far; called often, it acts a few times a second. `is_busy`: as many requests
  // as allowed are under way.
  void observe(double now, std::uint64_t bytes, std::uint64_t requests, std::uint64_t slow_downs,
               bool is_busy);

 private:
  void start_window(double now, std::uint64_t work);
  void judge(double now, double rate);
  void slow_down(double now);

  const int most_, fixed_;
  int target_, before_;  // now, and at the last judgement that found growing worth it
  bool is_growing_ = true;
  double best_rate_ = 0;  // with before_ requests
  double window_start_ = -1, next_try_ = 0, one_complaint_until_ = 0;
  std::uint64_t window_work_ = 0, seen_slow_downs_ = 0;
  bool was_idle_ = false;
};

}  // namespace prep
