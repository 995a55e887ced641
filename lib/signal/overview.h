// A spectrogram reduced to the size of a picture, for people.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/signal/array_store.h"

namespace prep::signal {

struct Overview {
  std::size_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values;  // [channels, rows, columns]; NaN where there are none
};

struct OverviewLimits {
  std::size_t channels = 0, rows = 0, columns = 0;
};

// The means over rectangles of the array, of what is finite: of the first channels, as many as may
// be, each in as many rows and columns as it has or may have.
Overview make_overview(ArrayStore& store, const OverviewLimits& limits);

}  // namespace prep::signal
