// To another sampling rate, by a ratio of integers: what scipy.signal.resample_poly does with its
// default filter. In between the samples the signal is upsampled with zeros, goes through a
// symmetric low-pass (a sinc of 10 zero crossings to each side at the lower of the two rates, times
// a Kaiser window with beta 5, gain 1 at 0 Hz) and every down-th value is kept. Output m lies
// exactly at input m * down / up: no delay.
//
// Sums are made in double, in an order that depends neither on the machine nor on how the signal is
// divided over calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/signal/stft.h"

namespace prep::signal {

struct Ratio {
  std::int64_t up = 1, down = 1;
  bool operator==(const Ratio&) const = default;
};

// A larger ratio would want a table of 32 MB and more.
inline constexpr std::int64_t kMaxRatio = 200'000;

// The ratio of least terms that is off by no more than 1e-9: over a day at 1000 Hz by a tenth of a
// sample. 256 to 200 Hz is 25 / 32, 173.61 to 200 Hz is 20000 / 17361. Where that takes terms above
// kMaxRatio, as for rates that are all but the same, 1e-8, 1e-7 or 1e-6 have to do; see
// ratio_error().
// throws Error(usage) for rates that are not above 0, Error(unsupported) where nothing does.
Ratio rate_ratio(double from, double to);
// The share by which the ratio is too large: 1e-6 is 86 ms in a day.
double ratio_error(const Ratio& ratio, double from, double to);

// What is thought to be before the first and after the last sample: zeros, as scipy has it, which
// makes a signal with an offset droop over the last ten or so samples; or that sample, again and
// again.
enum class ResampleEdge { zero, repeat };

// T is float or double. Cheap to copy; any number of threads may use one.
class Resampler {
 public:
  // Terms are 1 to kMaxRatio. throws Error(usage).
  explicit Resampler(Ratio ratio, ResampleEdge edge = ResampleEdge::zero);

  std::int64_t output_length(std::int64_t samples) const;  // ceil(samples * up / down)
  // The samples out of `total` from which these outputs are made.
  Range samples_for(Range outputs, std::int64_t total) const;
  // Output m goes to out[m - outputs.first]. An output within reach of a sample that is not finite
  // is NaN.
  template <typename T>
  void run(const ChannelPart<T>& part, Range outputs, T* out) const;

 private:
  struct Taps;
  std::shared_ptr<const Taps> taps_;
};

}  // namespace prep::signal
