// Fixed-point weights of a one-dimensional resampling: what each output sample takes from which
// input samples.
#pragma once

#include <cstdint>
#include <vector>

namespace prep::image {

// Radius 0.5, 1, 2 (a = -0.5), 3.
enum class Filter { box, bilinear, bicubic, lanczos };

// One axis of a resampling: `out_size` samples made from [start, start + length) of `in_size`.
struct AxisMapping {
  int in_size = 0;
  double start = 0, length = 0;
  int out_size = 0;
  Filter filter = Filter::bilinear;
  // Where the picture ends, if that is inside the last sample: a scaled or subsampled plane is
  // rounded up in size, and in full its last sample would weigh too much on the edge. 0: at
  // in_size.
  double picture_end = 0;

  bool operator==(const AxisMapping&) const = default;
};

// Output sample x is the sum over k < taps of weight[x * taps + k] * in[first[x] + k], divided by
// 2^bits. The weights of every output sample sum to exactly 2^bits, so that a flat picture stays
// flat to the bit. The sum of their magnitudes is below 1.7 * 2^bits.
struct FilterWeights {
  int taps = 0;  // the same for all outputs; even, since the products are summed in pairs
  int bits = 0;
  std::vector<std::int32_t> first;
  std::vector<std::int16_t> weight;

  const std::int16_t* of(int x) const {
    return weight.data() + static_cast<std::size_t>(x) * static_cast<std::size_t>(taps);
  }
};

// The filter is centred on the output sample and widened by the reduction; see resample.h. A centre
// outside of the input counts as being on its edge. `bits` is as large as the largest weight allows
// in 16 bits, and at most `max_bits`, so that a filter of thousands of taps is as exact as one of
// three. Where the number of inputs is odd, a tap may name the one just past the end; its weight is
// zero then. With `even_first` every first[x] is even.
// Only IEEE arithmetic and no library functions: the same weights on every machine.
FilterWeights make_filter_weights(const AxisMapping& axis, int max_bits, bool even_first);

}  // namespace prep::image
