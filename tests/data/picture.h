// Pictures made by arithmetic, the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace prep::testdata {

// Interleaved 8-bit samples, rows without padding.
struct Picture {
  int width = 0, height = 0, channels = 0;
  std::vector<std::uint8_t> pixels;

  Picture(int width, int height, int channels);
  std::uint8_t* at(int x, int y);
  const std::uint8_t* at(int x, int y) const;
};

// splitmix64: a small generator whose numbers are specified, unlike those of <random>'s
// distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }
  // In [-1, 1).
  float signed_unit();

 private:
  std::uint64_t state_;
};

using Colour = std::array<std::uint8_t, 4>;  // as many values as the picture has channels

// The colours of the top left, top right, bottom left and bottom right quarter.
using Corners = std::array<Colour, 4>;

// Four RGB colours that differ in luma and in both chromas, so that a swapped channel, a mirrored
// picture and a wrong rotation all show.
extern const Corners kRgbCorners;

// Four flat quarters.
Picture quarters(int width, int height, int channels, const Corners& corners);

// RGB with a photograph's kind of content: shading, soft shapes, and texture whose energy falls
// with its frequency.
Picture photo(int width, int height, std::uint64_t seed);

// The luma of an RGB picture, as JPEG has it.
Picture grey(const Picture& rgb);

// What a camera would store with EXIF orientation 1 to 8 so that a viewer shows `upright`.
Picture stored_as(const Picture& upright, int orientation);

}  // namespace prep::testdata
