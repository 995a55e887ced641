#include "lib/measure/consumer_waits.h"

#include <algorithm>
#include <vector>

namespace prep::measure {

ConsumerWaits replay_consumer(std::span<const double> ready_at, double work, std::size_t buffered) {
  ConsumerWaits waits;
  std::vector<double> taken(ready_at.size());
  double ready = 0;
  for (std::size_t k = 0; k < ready_at.size(); ++k) {
    const double making = ready_at[k] - (k > 0 ? ready_at[k - 1] : 0);
    if (k >= buffered) ready = std::max(ready, taken[k - buffered]);
    ready += making;
    const double free = k > 0 ? taken[k - 1] + work : ready;
    taken[k] = std::max(ready, free);
    if (k == 0) continue;
    waits.waiting += taken[k] - free;
    waits.working += work;
    ++waits.items;
  }
  return waits;
}

}  // namespace prep::measure
