#include "lib/signal/overview.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace prep::signal {
namespace {

// Sums of what falls into each place.
struct Sums {
  explicit Sums(std::size_t places) : sum(places), count(places) {}

  void add(std::size_t place, float value) {
    if (!std::isfinite(value)) return;
    sum[place] += static_cast<double>(value);
    ++count[place];
  }
  float mean(std::size_t place) const {
    return count[place] > 0 ? static_cast<float>(sum[place] / static_cast<double>(count[place]))
                            : std::numeric_limits<float>::quiet_NaN();
  }

  std::vector<double> sum;
  std::vector<std::size_t> count;
};

}  // namespace

Overview make_overview(ArrayStore& store, const OverviewLimits& limits) {
  const std::size_t frequencies = store.shape().frequencies, times = store.shape().times;
  Overview overview{std::min(limits.channels, store.shape().channels),
                    std::min(limits.rows, frequencies),
                    std::min(limits.columns, times),
                    {}};
  for (std::size_t c = 0; c < overview.channels; ++c) {
    Sums sums(overview.rows * overview.columns);
    for (std::size_t f = 0; f < frequencies; ++f) {
      const std::size_t row = f * overview.rows / frequencies;
      std::size_t time = 0;
      store.visit_row(c, f, /*write=*/false, [&](std::span<float> values) {
        for (const float value : values) {
          sums.add(row * overview.columns + time++ * overview.columns / times, value);
        }
      });
    }
    for (std::size_t i = 0; i < sums.sum.size(); ++i) overview.values.push_back(sums.mean(i));
  }
  return overview;
}

}  // namespace prep::signal
