#include "lib/image/quant_tables.h"

#include <algorithm>

namespace prep::image {
namespace {

constexpr QuantTable kLuma = {
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  // rows 0, 1
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  // rows 2, 3
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  // rows 4, 5
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};

constexpr QuantTable kChroma = {
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,  // rows 0, 1
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,  // rows 2, 3
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,  // rows 4, 5
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

}  // namespace

QuantTable standard_quant_table(StandardTable table, int quality, int largest) {
  // libjpeg's jpeg_quality_scaling and jpeg_add_quant_table.
  const int scale = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  QuantTable scaled = table == StandardTable::luma ? kLuma : kChroma;
  for (std::uint16_t& entry : scaled) {
    entry = static_cast<std::uint16_t>(std::clamp((entry * scale + 50) / 100, 1, largest));
  }
  return scaled;
}

}  // namespace prep::image
