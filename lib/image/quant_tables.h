// JPEG's quantization tables: the standard's examples, and libjpeg's scaling of them to a quality.
#pragma once

#include <array>
#include <cstdint>

namespace prep::image {

// Step sizes in natural order: row by row, the frequency across growing along the row.
using QuantTable = std::array<std::uint16_t, 64>;

// The natural index of the coefficient that comes i-th in a JPEG (T.81 figure A.6).
inline constexpr std::array<std::uint8_t, 64> kZigzag = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

enum class StandardTable { luma, chroma };  // T.81 tables K.1 and K.2

// The table scaled to `quality`, 1 to 100, as jpeg_set_quality() does it; entries are at most
// `largest`: 255 for baseline, 32767 where a file has 16-bit tables.
QuantTable standard_quant_table(StandardTable table, int quality, int largest = 255);

}  // namespace prep::image
