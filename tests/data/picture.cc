#include "tests/data/picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace prep::testdata {
namespace {

using Plane = std::vector<float>;

struct YccPlanes {
  Plane y, cb, cr;
};

float smooth_step(float t) { return t * t * (3 - 2 * t); }

// Adds random values at the points of a grid of `cell` pixels, smoothly joined between them.
void add_noise(Plane& plane, int width, int height, int cell, float amplitude, Random& random) {
  const int columns = width / cell + 2;
  const int rows = height / cell + 2;
  Plane grid(static_cast<std::size_t>(columns) * rows);
  for (float& value : grid) value = amplitude * random.signed_unit();

  Plane ramp(cell), line(columns);
  for (int i = 0; i < cell; ++i) ramp[i] = smooth_step(static_cast<float>(i) / cell);
  for (int y = 0; y < height; ++y) {
    const float* above = &grid[static_cast<std::size_t>(y / cell) * columns];
    const float* below = above + columns;
    for (int i = 0; i < columns; ++i) {
      line[i] = above[i] + (below[i] - above[i]) * ramp[y % cell];
    }
    float* out = &plane[static_cast<std::size_t>(y) * width];
    for (int x = 0; x < width; ++x) {
      const int i = x / cell;
      out[x] += line[i] + (line[i + 1] - line[i]) * ramp[x % cell];
    }
  }
}

// One soft-edged ellipse of another colour: the edges that compression finds hard.
void add_ellipse(YccPlanes& planes, int width, int height, Random& random) {
  const float cx = width * (0.5f + 0.5f * random.signed_unit());
  const float cy = height * (0.5f + 0.5f * random.signed_unit());
  const float rx = width * (0.08f + 0.25f * std::abs(random.signed_unit()));
  const float ry = height * (0.08f + 0.25f * std::abs(random.signed_unit()));
  const float edge = 0.02f + 0.2f * std::abs(random.signed_unit());
  const float dy = 60 * random.signed_unit();
  const float dcb = 35 * random.signed_unit();
  const float dcr = 35 * random.signed_unit();
  const int top = std::max(0, static_cast<int>(cy - ry));
  const int bottom = std::min(height, static_cast<int>(cy + ry) + 1);
  const int left = std::max(0, static_cast<int>(cx - rx));
  const int right = std::min(width, static_cast<int>(cx + rx) + 1);
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const float u = (x - cx) / rx, v = (y - cy) / ry;
      const float cover = std::clamp((1 - u * u - v * v) / edge, 0.0f, 1.0f);
      const std::size_t i = static_cast<std::size_t>(y) * width + x;
      planes.y[i] += cover * dy;
      planes.cb[i] += cover * dcb;
      planes.cr[i] += cover * dcr;
    }
  }
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
}

Picture to_rgb(const YccPlanes& planes, int width, int height) {
  Picture picture(width, height, 3);
  for (std::size_t i = 0; i < planes.y.size(); ++i) {
    std::uint8_t* rgb = &picture.pixels[3 * i];
    rgb[0] = to_byte(planes.y[i] + 1.402f * planes.cr[i]);
    rgb[1] = to_byte(planes.y[i] - 0.344136f * planes.cb[i] - 0.714136f * planes.cr[i]);
    rgb[2] = to_byte(planes.y[i] + 1.772f * planes.cb[i]);
  }
  return picture;
}

}  // namespace

Picture::Picture(int width, int height, int channels)
    : width(width),
      height(height),
      channels(channels),
      pixels(static_cast<std::size_t>(width) * height * channels) {}

std::uint8_t* Picture::at(int x, int y) {
  return &pixels[(static_cast<std::size_t>(y) * width + x) * channels];
}

const std::uint8_t* Picture::at(int x, int y) const {
  return &pixels[(static_cast<std::size_t>(y) * width + x) * channels];
}

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float Random::signed_unit() { return static_cast<float>(next() >> 40) / (1 << 23) - 1; }

const Corners kRgbCorners = {{{200, 60, 50}, {60, 170, 70}, {50, 80, 190}, {230, 200, 90}}};

Picture quarters(int width, int height, int channels, const Corners& corners) {
  Picture picture(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Colour& colour = corners[(2 * y >= height ? 2 : 0) + (2 * x >= width ? 1 : 0)];
      std::copy_n(colour.begin(), channels, picture.at(x, y));
    }
  }
  return picture;
}

Picture photo(int width, int height, std::uint64_t seed) {
  Random random(seed);
  const std::size_t size = static_cast<std::size_t>(width) * height;
  const float brightness = 120 + 25 * random.signed_unit();
  YccPlanes planes{Plane(size, brightness), Plane(size, 0.0f), Plane(size, 0.0f)};
  for (int cell = 256; cell >= 2; cell /= 2) {
    const float amplitude = 6.0f * std::sqrt(static_cast<float>(cell));
    add_noise(planes.y, width, height, cell, std::min(amplitude, 40.0f), random);
  }
  for (int cell : {256, 64, 16, 4}) {
    add_noise(planes.cb, width, height, cell, 2.0f + cell / 14.0f, random);
    add_noise(planes.cr, width, height, cell, 2.0f + cell / 14.0f, random);
  }
  const int shapes = 3 + random.below(8);
  for (int i = 0; i < shapes; ++i) add_ellipse(planes, width, height, random);
  return to_rgb(planes, width, height);
}

Picture grey(const Picture& rgb) {
  Picture picture(rgb.width, rgb.height, 1);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
    const std::uint8_t* p = &rgb.pixels[3 * i];
    picture.pixels[i] = to_byte(0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2]);
  }
  return picture;
}

Picture stored_as(const Picture& upright, int orientation) {
  const bool transposed = orientation >= 5;
  // How a viewer finds, for an upright pixel, the stored one: transpose, then mirror.
  const bool mirror_x =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirror_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture stored(transposed ? upright.height : upright.width,
                 transposed ? upright.width : upright.height, upright.channels);
  for (int y = 0; y < upright.height; ++y) {
    for (int x = 0; x < upright.width; ++x) {
      int sx = transposed ? y : x;
      int sy = transposed ? x : y;
      if (mirror_x) sx = stored.width - 1 - sx;
      if (mirror_y) sy = stored.height - 1 - sy;
      std::copy_n(upright.at(x, y), upright.channels, stored.at(sx, sy));
    }
  }
  return stored;
}

}  // namespace prep::testdata
