// A spectrogram reduced to the size of a picture, for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lib/signal/array_store.h"

namespace prep::signal {

struct Overview {
  std::size_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values;  // [channels, rows, columns]; NaN where there are none
};

// The means over rectangles of the array, of what is finite. As many rows and columns as fit.
Overview make_overview(ArrayStore& store, std::size_t most_rows, std::size_t most_columns);

}  // namespace prep::signal
