#include "lib/image/ssim.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/core/error.h"

namespace prep::image {
namespace {

constexpr int kTile = 4;  // a window is two tiles wide and high

// Sums over some samples; of squares for both pictures together.
struct Sums {
  std::uint64_t a = 0, b = 0, squares = 0, products = 0;

  Sums& operator+=(const Sums& other) {
    a += other.a;
    b += other.b;
    squares += other.squares;
    products += other.products;
    return *this;
  }
};

Sums sum_samples(const ConstPlane& a, const ConstPlane& b, int x0, int y0, int width, int height) {
  std::uint32_t sum_a = 0, sum_b = 0, squares = 0, products = 0;
  for (int y = y0; y < y0 + height; ++y) {
    const std::uint8_t* const row_a = a.row(y) + x0;
    const std::uint8_t* const row_b = b.row(y) + x0;
    for (int x = 0; x < width; ++x) {
      const std::uint32_t s = row_a[x], t = row_b[x];
      sum_a += s;
      sum_b += t;
      squares += s * s + t * t;
      products += s * t;
    }
  }
  return {sum_a, sum_b, squares, products};
}

double similarity(const Sums& sums, int count) {
  constexpr double kC1 = 0.01 * 255 * 0.01 * 255, kC2 = 0.03 * 255 * 0.03 * 255;
  const double n = count;
  const double mean_a = static_cast<double>(sums.a) / n, mean_b = static_cast<double>(sums.b) / n;
  const double variances =
      static_cast<double>(sums.squares) / n - mean_a * mean_a - mean_b * mean_b;
  const double covariance = static_cast<double>(sums.products) / n - mean_a * mean_b;
  return (2 * mean_a * mean_b + kC1) * (2 * covariance + kC2) /
         ((mean_a * mean_a + mean_b * mean_b + kC1) * (variances + kC2));
}

void sum_tiles(const ConstPlane& a, const ConstPlane& b, int tile_row, std::vector<Sums>& tiles) {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    tiles[i] = sum_samples(a, b, static_cast<int>(i) * kTile, tile_row * kTile, kTile, kTile);
  }
}

// Where a window is not whole in at least one direction.
double narrow_ssim(const ConstPlane& a, const ConstPlane& b) {
  const int width = std::min(a.width, 2 * kTile), height = std::min(a.height, 2 * kTile);
  double total = 0;
  int count = 0;
  for (int y = 0; y + height <= a.height; y += kTile) {
    for (int x = 0; x + width <= a.width; x += kTile, ++count) {
      total += similarity(sum_samples(a, b, x, y, width, height), width * height);
    }
  }
  return total / count;
}

}  // namespace

double ssim(const ConstPlane& a, const ConstPlane& b) {
  if (a.width != b.width || a.height != b.height || a.channels != 1 || b.channels != 1) {
    fail(Code::internal, "SSIM of planes that do not match");
  }
  const int across = a.width / kTile, down = a.height / kTile;
  if (across < 2 || down < 2) return narrow_ssim(a, b);
  std::vector<Sums> above(static_cast<std::size_t>(across)), below = above;
  sum_tiles(a, b, 0, above);
  double total = 0;
  for (int row = 1; row < down; ++row, above.swap(below)) {
    sum_tiles(a, b, row, below);
    for (std::size_t i = 0; i + 1 < above.size(); ++i) {
      Sums window = above[i];
      window += above[i + 1];
      window += below[i];
      window += below[i + 1];
      total += similarity(window, 4 * kTile * kTile);
    }
  }
  return total / (static_cast<double>(across - 1) * (down - 1));
}

}  // namespace prep::image
