#include "lib/image/gamut.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace prep::image {
namespace {

constexpr int kGrid = 8;
constexpr int kFirstX = 3, kFirstY = 5;  // off the borders of blocks

// JFIF 1.02, "Conversion to and from RGB", in 1/65536.
constexpr int kRedCr = 91881, kGreenCb = -22554, kGreenCr = -46802, kBlueCb = 116130;

int excess(int y, int cb, int cr) {
  const int luma = y << 16;
  const int red = luma + kRedCr * cr;
  const int green = luma + kGreenCb * cb + kGreenCr * cr;
  const int blue = luma + kBlueCb * cb;
  const int most = std::max({red, green, blue}), least = std::min({red, green, blue});
  return std::max({0, most - (255 << 16), -least}) >> 16;
}

// The chroma sample that lies under luma sample i.
int under(int i, double luma_step, double chroma_step, int size) {
  return std::min(static_cast<int>((i + 0.5) * luma_step / chroma_step), size - 1);
}

}  // namespace

double outside_rgb(const Planes& planes) {
  const Plane& luma = planes.plane[0];
  const Plane& cb = planes.plane[1];
  const Plane& cr = planes.plane[2];
  std::vector<int> columns;
  for (int x = kFirstX; x < luma.width; x += kGrid) {
    columns.push_back(under(x, planes.step_x[0], planes.step_x[1], cb.width));
  }
  std::int64_t sum = 0, count = 0;
  for (int y = kFirstY; y < luma.height; y += kGrid) {
    const int row = under(y, planes.step_y[0], planes.step_y[1], cb.height);
    const std::uint8_t* const luma_row = luma.row(y) + kFirstX;
    const std::uint8_t* const cb_row = cb.row(row);
    const std::uint8_t* const cr_row = cr.row(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const int e = excess(luma_row[i * kGrid], cb_row[columns[i]] - 128, cr_row[columns[i]] - 128);
      sum += e * e;
    }
    count += static_cast<std::int64_t>(columns.size());
  }
  return count ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}

}  // namespace prep::image
