// How long a consumer with a fixed pace (a GPU) waits for a producer that was measured without one.
#pragma once

#include <cstddef>
#include <span>

namespace prep::measure {

struct ConsumerWaits {
  double waiting = 0;     // seconds, from the first item on: that it has to come is no wait
  double working = 0;     // seconds
  std::size_t items = 0;  // whose coming could be waited for: all but the first
  double share() const {  // of its time that the consumer waits
    return waiting + working > 0 ? waiting / (waiting + working) : 0;
  }
};

// Plays a measured run again. Item k was made ready_at[k] seconds (ascending) after the beginning;
// the consumer works `work` seconds on each; the producer keeps at most `buffered` (at least 1)
// finished items, and stands still while none is taken. A tandem queue with blocking:
//   ready[k] = max(ready[k - 1], taken[k - buffered]) + (ready_at[k] - ready_at[k - 1])
//   taken[k] = max(ready[k], taken[k - 1] + work)
ConsumerWaits replay_consumer(std::span<const double> ready_at, double work, std::size_t buffered);

}  // namespace prep::measure
