#include "lib/remote/connection_governor.h"

#include <algorithm>

namespace prep {
namespace {

constexpr int kFirstTarget = 8, kFewest = 2;
constexpr double kWindow = 0.1, kPauseAfterSlowDown = 2, kTryAgain = 5, kOneComplaint = 0.5;
constexpr double kWorthIt = 1.1;  // times the rate
// A request costs time however small its object: with small objects the number of them counts.
constexpr std::uint64_t kBytesOfARequest = 64 << 10;

}  // namespace

ConnectionGovernor::ConnectionGovernor(int fixed, int most)
    : most_(fixed > 0 ? std::min(fixed, most) : most),
      fixed_(fixed),
      target_(fixed > 0 ? most_ : std::min(kFirstTarget, most)),
      before_(target_) {}

void ConnectionGovernor::start_window(double now, std::uint64_t work) {
  window_start_ = now;
  window_work_ = work;
  was_idle_ = false;
}

void ConnectionGovernor::observe(double now, std::uint64_t bytes, std::uint64_t requests,
                                 std::uint64_t slow_downs, bool is_busy) {
  const std::uint64_t work = bytes + requests * kBytesOfARequest;
  if (!is_busy) was_idle_ = true;
  if (slow_downs > seen_slow_downs_) {
    seen_slow_downs_ = slow_downs;
    slow_down(now);
    start_window(now, work);
  }
  if (window_start_ < 0) start_window(now, work);
  if (now - window_start_ < kWindow) return;
  const double rate = static_cast<double>(work - window_work_) / (now - window_start_);
  // Whoever had nothing to do says nothing about what is possible.
  if (!was_idle_ && work > window_work_) judge(now, rate);
  start_window(now, work);
}

void ConnectionGovernor::judge(double now, double rate) {
  if (!is_growing_) {
    if (now < next_try_) return;
    is_growing_ = true;
    best_rate_ = rate;
    before_ = target_;
    target_ = std::min(most_, fixed_ > 0 ? target_ + 1 : target_ + target_ / 2 + 1);
    return;
  }
  if (rate > best_rate_ * kWorthIt) {
    best_rate_ = rate;
    before_ = target_;
    target_ = std::min(most_, 2 * target_);
  } else if (target_ > before_) {
    target_ = before_;
    is_growing_ = false;
    next_try_ = now + kTryAgain;
  }
}

// Several answers of one moment are one complaint.
void ConnectionGovernor::slow_down(double now) {
  if (now < one_complaint_until_) return;
  one_complaint_until_ = now + kOneComplaint;
  target_ = before_ = std::max(std::min(kFewest, target_), target_ / 2);
  is_growing_ = false;
  next_try_ = now + kPauseAfterSlowDown;
}

}  // namespace prep
