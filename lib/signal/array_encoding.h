// Values as they stand in the array that is written: element types and the order of the axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prep::signal {

// IEEE 754 binary16, rounded to nearest, ties to even. Beyond 65504 it is infinity; a NaN is
// 0x7e00.
std::uint16_t to_float16(float value);

// What a narrower type could not hold.
struct EncodingLosses {
  std::size_t too_large = 0;  // float16: finite values that became infinite; uint8: above `high`
  std::size_t too_small = 0;  // float16: values that became 0 and were not; uint8: below `low`
  std::size_t nan = 0;        // uint8, where a NaN becomes 0

  EncodingLosses& operator+=(const EncodingLosses& other);
};

// `out` has as many elements as `values`.
EncodingLosses encode_float16(std::span<const float> values, std::uint16_t* out);

// q stands for low + q (high - low) / 255: q is the nearest of 0 to 255, ties to even.
struct Uint8Scale {
  double low = 0, high = 1;
};
EncodingLosses encode_uint8(std::span<const float> values, const Uint8Scale& scale,
                            std::uint8_t* out);

// The axes, slowest first: c channels, f frequencies, t times.
enum class Layout { cft, ftc, ctf };

struct ArrayShape {
  std::size_t channels = 0, frequencies = 0, times = 0;
};

// Copies a block [channels, frequencies, block_times] in C order to where the times from
// `first_time` on are in an array of that shape and layout. T: uint8, uint16, float or
// std::complex<float>.
template <typename T>
void place_block(const T* block, std::size_t block_times, std::size_t first_time, Layout layout,
                 const ArrayShape& shape, T* array);

}  // namespace prep::signal
