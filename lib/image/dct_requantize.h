// DCT coefficients to other step sizes, and to half the resolution, without going through pixels.
//
// Between the two quantizations a coefficient's value stands in int16 as eighths of the unit in
// which a JPEG's step sizes count. Everything is integer arithmetic: the results are the same on
// every machine and with every instruction set (Highway picks the widest at run time).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/image/quant_tables.h"

namespace prep::image {

inline constexpr int kDctFraction = 8;     // values are eighths
inline constexpr int kPriceFraction = 16;  // a bit's price is in sixteenths of a squared eighth

using DctBlock = std::int16_t[64];  // natural order

// What turns levels (coefficients as stored) into values. Values that no 8-bit picture has are
// clamped to +-2047.
struct Dequantizer {
  explicit Dequantizer(const QuantTable& steps);
  alignas(64) std::array<std::int16_t, 64> largest;
  alignas(64) std::array<std::int16_t, 64> factor;
};

// What turns values into levels: to the nearest one, and to no more than +-1023, which is as much
// as baseline can code. Halves, which are frequent between two tables of small integers, go towards
// zero: the error is the same, the code shorter. `steps` are 1 to 255.
//
// With a price for a bit (see rate_distortion.h) a 2 becomes a 1 where its longer code costs more
// than the error that it saves.
struct Quantizer {
  explicit Quantizer(const QuantTable& steps, int bit_price = 0);
  alignas(64) std::array<std::uint16_t, 64> half;  // of a step, just below
  alignas(64) std::array<std::uint16_t, 64> reciprocal;
  alignas(64) std::array<std::uint16_t, 64> rescale;
  alignas(64) std::array<std::int16_t, 64> two_from;  // the least value that stays a 2
};

void dequantize(const DctBlock* levels, std::size_t blocks, const Dequantizer& dequantizer,
                DctBlock* values);

// Sets bit i of nonzero[b] where levels[b][i] is not 0.
void quantize(const DctBlock* values, std::size_t blocks, const Quantizer& quantizer,
              DctBlock* levels, std::uint64_t* nonzero);

// Half the resolution: from the lower half of two neighbouring blocks' frequencies the one block
// that shows the same at half the size. That is a four-point inverse transform of each and an
// eight-point transform of the eight samples that come out; these lie centred between the pixels
// they stand for. `out` holds half as many blocks as `in`, which must be an even number.
void halve_across(const DctBlock* in, std::size_t in_blocks, DctBlock* out);
// The same for blocks above each other.
void halve_down(const DctBlock* top, const DctBlock* bottom, std::size_t blocks, DctBlock* out);

// The block's mirror image, left for right or top for bottom.
void mirror_across(const DctBlock& in, DctBlock& out);
void mirror_down(const DctBlock& in, DctBlock& out);

// The instruction set in use, for reports and tests.
std::string_view dct_target();

}  // namespace prep::image
