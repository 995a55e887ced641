// Zero-phase recursive filters: each runs over the signal forwards and then backwards, as
// scipy.signal.sosfiltfilt and filtfilt do. So the phase stays, and the attenuation counts twice:
// a Butterworth filter is down by 6 dB at its corner, not by 3.
//
// Edges: before the first and after the last sample the signal is thought to go on turned by half a
// turn about that sample (2 x[0] - x[i], scipy's "odd" padding), for `padding` samples; there the
// filter starts settled. Slow filters still ring at the ends: a high-pass of 0.5 Hz for a second or
// two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace prep::signal {

// (b0 + b1 / z + b2 / z^2) / (1 + a1 / z + a2 / z^2)
struct Biquad {
  double b0 = 1, b1 = 0, b2 = 0, a1 = 0, a2 = 0;
};

struct Filter {
  std::vector<Biquad> sections;
  std::size_t padding = 0;  // scipy's default for the filter
};

inline constexpr int kMaxFilterOrder = 16;

// Butterworth filters (scipy.signal.butter, output="sos") with their corner at `hz`. The order is 1
// to kMaxFilterOrder. throws Error(usage) if `hz` does not lie above 0 and below half of the rate.
Filter make_highpass(double hz, double rate, int order);
Filter make_lowpass(double hz, double rate, int order);
// A notch of bandwidth hz / quality (scipy.signal.iirnotch). throws Error(usage).
Filter make_notch(double hz, double rate, double quality);

// What NaNs and infinities did.
struct FilterGaps {
  std::size_t runs = 0;  // stretches of finite samples that were too short, and became NaN
  std::size_t lost = 0;  // the samples in them
};

// Filters in place, a whole channel at a time. Where samples are not finite, the stretches of
// finite ones between them are filtered each by itself, with edges as above; one of no more than
// `padding` samples cannot be, and becomes NaN. Takes no memory that grows with the signal.
// `passed` is told of each stretch of a few megabytes that a run has gone over, for signals that
// lie in a mapped file.
FilterGaps filter_zero_phase(const Filter& filter, std::span<double> signal,
                             const std::function<void(std::span<const double>)>& passed = {});

}  // namespace prep::signal
