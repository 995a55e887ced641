// What can only be done to an array once all of its values are there: limits and norms that follow
// from them, and narrower types.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lib/core/shared_work.h"
#include "lib/signal/array_encoding.h"
#include "lib/signal/array_store.h"
#include "lib/signal/statistics.h"

namespace prep::signal {

// An array of float32 in layout cft, and who works on it. Results don't depend on the crew.
class ArrayFinisher {
 public:
  ArrayFinisher(ArrayStore& store, const Crew& crew) : store_(store), crew_(crew) {}

  // Raises all values to at least this; NaNs stay.
  void raise_to(float least) const;
  Statistics gather() const;
  // Normalises each row by the moments of its channel and frequency.
  void normalize(const std::function<Moments(std::size_t, std::size_t)>& moments) const;
  // The least and the largest finite value; {0, 1} where there are none, and one step more where
  // they are the same.
  Uint8Scale range() const;
  // Puts all values into an array of another type or layout.
  EncodingLosses encode(ArrayStore& to, NpyType type, const Uint8Scale& scale) const;

 private:
  void for_each_row(bool write,
                    const std::function<void(std::size_t, std::size_t, std::span<float>)>& f) const;

  ArrayStore& store_;
  const Crew crew_;
};

// Puts a block [channels, frequencies, times] as elements of that type: float32, float16, uint8.
EncodingLosses put_encoded(std::span<const float> block, NpyType type, const Uint8Scale& scale,
                           std::size_t block_times, std::size_t first_time, ArrayStore& to);

}  // namespace prep::signal
