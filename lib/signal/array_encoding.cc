#include "lib/signal/array_encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

constexpr std::size_t kTile = 32;  // both sides of a tile stay in the first-level cache

template <typename T>
void transpose(const T* in, std::size_t in_stride, std::size_t rows, std::size_t columns, T* out,
               std::size_t out_stride) {
  for (std::size_t row = 0; row < rows; row += kTile) {
    const std::size_t row_end = std::min(rows, row + kTile);
    for (std::size_t column = 0; column < columns; column += kTile) {
      const std::size_t column_end = std::min(columns, column + kTile);
      for (std::size_t c = column; c < column_end; ++c) {
        for (std::size_t r = row; r < row_end; ++r) out[c * out_stride + r] = in[r * in_stride + c];
      }
    }
  }
}

constexpr std::uint32_t kFloatInfinity = 0x7f800000, kHalfInfinity = 0x7c00, kHalfNan = 0x7e00;
constexpr std::uint32_t kLeastNormal = 0x38800000;  // 2^-14
constexpr int kDroppedBits = 13;                    // of a float's fraction

}  // namespace

std::uint16_t to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  std::uint32_t half;
  if (magnitude >= kLeastNormal) {
    // The exponent's bias goes from 127 to 15; a carry out of the fraction is right as it is.
    const std::uint32_t odd = magnitude >> kDroppedBits & 1;
    const std::uint32_t rounded = magnitude - (112u << 23) + 0xfff + odd;
    half = std::min(rounded >> kDroppedBits, kHalfInfinity);
    if (magnitude > kFloatInfinity) return kHalfNan;
  } else {
    // A sum with 0.5 has its last bit where a half's smallest step is, and is rounded by the FPU.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
           std::bit_cast<std::uint32_t>(0.5f);
  }
  return static_cast<std::uint16_t>(sign | half);
}

EncodingLosses& EncodingLosses::operator+=(const EncodingLosses& other) {
  too_large += other.too_large;
  too_small += other.too_small;
  nan += other.nan;
  return *this;
}

EncodingLosses encode_float16(std::span<const float> values, std::uint16_t* out) {
  EncodingLosses losses;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = to_float16(values[i]);
    const std::uint32_t magnitude = out[i] & 0x7fffu;
    losses.too_large += magnitude == kHalfInfinity && std::isfinite(values[i]);
    losses.too_small += magnitude == 0 && values[i] != 0;
  }
  return losses;
}

EncodingLosses encode_uint8(std::span<const float> values, const Uint8Scale& scale,
                            std::uint8_t* out) {
  if (!(std::isfinite(scale.low) && std::isfinite(scale.high) && scale.low < scale.high)) {
    fail(Code::usage, "uint8: {} to {} is no range of values", scale.low, scale.high);
  }
  const double factor = 255 / (scale.high - scale.low);
  EncodingLosses losses;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]);
    losses.nan += std::isnan(value);
    losses.too_small += value < scale.low;
    losses.too_large += value > scale.high;
    const double q = (value - scale.low) * factor;
    // A NaN compares false and becomes 0. Adding 2^52 rounds, ties to even.
    const double bounded = q > 0 ? (q < 255 ? q : 255) : 0;
    out[i] = static_cast<std::uint8_t>(std::bit_cast<std::uint64_t>(bounded + 0x1p52));
  }
  return losses;
}

template <typename T>
void place_block(const T* block, std::size_t block_times, std::size_t first_time, Layout layout,
                 const ArrayShape& shape, T* array) {
  const auto [channels, frequencies, times] = shape;
  const std::size_t block_channel = frequencies * block_times;
  switch (layout) {
    case Layout::cft:
      for (std::size_t row = 0; row < channels * frequencies; ++row) {
        std::copy_n(block + row * block_times, block_times, array + row * times + first_time);
      }
      return;
    case Layout::ctf:
      for (std::size_t c = 0; c < channels; ++c) {
        transpose(block + c * block_channel, block_times, frequencies, block_times,
                  array + (c * times + first_time) * frequencies, frequencies);
      }
      return;
    case Layout::ftc:
      for (std::size_t f = 0; f < frequencies; ++f) {
        transpose(block + f * block_times, block_channel, channels, block_times,
                  array + (f * times + first_time) * channels, channels);
      }
  }
}

template void place_block(const std::uint8_t*, std::size_t, std::size_t, Layout, const ArrayShape&,
                          std::uint8_t*);
template void place_block(const std::uint16_t*, std::size_t, std::size_t, Layout, const ArrayShape&,
                          std::uint16_t*);
template void place_block(const float*, std::size_t, std::size_t, Layout, const ArrayShape&,
                          float*);
template void place_block(const std::complex<float>*, std::size_t, std::size_t, Layout,
                          const ArrayShape&, std::complex<float>*);

}  // namespace prep::signal
