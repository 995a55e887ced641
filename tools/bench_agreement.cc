#include "tools/bench_agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace prep {
namespace {

using image::ConstPlane;
using Color = std::array<int, 3>;

constexpr double kNotTheSame = 255;

// How much smaller, in each direction, `small` is than `full`: 1, 2, 4 or 8; 0 if it is not.
int reduction(const ConstPlane& small, const ConstPlane& full) {
  for (const int n : {1, 2, 4, 8}) {
    if (small.width == (full.width + n - 1) / n && small.height == (full.height + n - 1) / n) {
      return n;
    }
  }
  return 0;
}

Color box_average(const ConstPlane& full, int left, int top, int side) {
  const int right = std::min(left + side, full.width), bottom = std::min(top + side, full.height);
  Color sum{};
  for (int y = top; y < bottom; ++y) {
    const std::uint8_t* pixel = full.row(y) + left * 3;
    for (int x = left; x < right; ++x, pixel += 3) {
      for (std::size_t c = 0; c < 3; ++c) sum[c] += pixel[c];
    }
  }
  const int count = (right - left) * (bottom - top);
  for (int& value : sum) value = (value + count / 2) / count;
  return sum;
}

// JFIF's luma, in 16-bit fixed point.
int luma_of(const Color& c) { return (19595 * c[0] + 38470 * c[1] + 7471 * c[2] + 32768) >> 16; }

int difference(const Decoded& other, int x, int y, const Color& reference) {
  const std::uint8_t* pixel = other.pixels.row(y) + x * other.pixels.channels;
  if (other.layout == Decoded::Layout::luma) return 3 * std::abs(pixel[0] - luma_of(reference));
  const bool is_bgr = other.layout == Decoded::Layout::bgr;
  return std::abs(pixel[is_bgr ? 2 : 0] - reference[0]) + std::abs(pixel[1] - reference[1]) +
         std::abs(pixel[is_bgr ? 0 : 2] - reference[2]);
}

}  // namespace

double mean_difference(const Decoded& other, const ConstPlane& reference) {
  const int side = reduction(other.pixels, reference);
  if (side == 0) return kNotTheSame;
  std::uint64_t sum = 0;
  for (int y = 0; y < other.pixels.height; ++y) {
    for (int x = 0; x < other.pixels.width; ++x) {
      const Color color = box_average(reference, x * side, y * side, side);
      sum += static_cast<std::uint64_t>(difference(other, x, y, color));
    }
  }
  return static_cast<double>(sum) /
         (3.0 * static_cast<double>(other.pixels.width) * other.pixels.height);
}

double allowed_difference(const Decoded& other, const ConstPlane& reference) {
  if (reduction(other.pixels, reference) > 1) return 10;
  return other.layout == Decoded::Layout::luma ? 3 : 0.5;
}

}  // namespace prep
