// How many bytes may still come now, so that it is `bytes_per_s` on average.
#pragma once

#include <algorithm>
#include <cstdint>

namespace prep {

// A bucket that fills at a fixed rate up to a tenth of a second's worth, and may be overdrawn: what
// came cannot be sent back. Times are seconds of any steady clock.
class RateLimit {
 public:
  explicit RateLimit(std::uint64_t bytes_per_s) : rate_(static_cast<double>(bytes_per_s)) {}

  bool is_limited() const { return rate_ > 0; }
  void spend(std::uint64_t bytes) { level_ -= static_cast<double>(bytes); }
  // How long to wait until something may come; 0: now.
  double seconds_to_wait(double now) {
    level_ = std::min(level_ + (now - updated_) * rate_, rate_ / 10);
    updated_ = now;
    return level_ > 0 ? 0 : (1 - level_) / rate_;
  }

 private:
  double rate_, level_ = 0, updated_ = 0;
};

}  // namespace prep
