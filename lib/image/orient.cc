#include "lib/image/orient.h"

#include <algorithm>
#include <cstring>

namespace prep::image {
namespace {

template <int kBytes>
void mirror_row(const std::uint8_t* in, std::uint8_t* out, int width) {
  for (int x = 0; x < width; ++x) {
    std::memcpy(out + std::ptrdiff_t{kBytes} * (width - 1 - x), in + std::ptrdiff_t{kBytes} * x,
                kBytes);
  }
}

template <int kBytes>
void mirror(const Plane& in, const Orientation& o, const Plane& out) {
  for (int y = 0; y < in.height; ++y) {
    const std::uint8_t* from = in.row(o.mirror_y ? in.height - 1 - y : y);
    if (o.mirror_x) {
      mirror_row<kBytes>(from, out.row(y), in.width);
    } else {
      std::memcpy(out.row(y), from, std::size_t{kBytes} * static_cast<std::size_t>(in.width));
    }
  }
}

// In tiles, so that the rows read and the rows written stay in the first-level cache.
template <int kBytes>
void transpose(const Plane& in, const Orientation& o, const Plane& out) {
  constexpr int kTile = 32;
  for (int y0 = 0; y0 < out.height; y0 += kTile) {
    for (int x0 = 0; x0 < out.width; x0 += kTile) {
      const int x1 = std::min(x0 + kTile, out.width), y1 = std::min(y0 + kTile, out.height);
      for (int y = y0; y < y1; ++y) {
        const int column = o.mirror_x ? in.width - 1 - y : y;
        for (int x = x0; x < x1; ++x) {
          const int row = o.mirror_y ? in.height - 1 - x : x;
          std::memcpy(out.row(y) + std::ptrdiff_t{kBytes} * x,
                      in.row(row) + std::ptrdiff_t{kBytes} * column, kBytes);
        }
      }
    }
  }
}

template <int kBytes>
void apply(const Plane& in, const Orientation& o, const Plane& out) {
  o.transpose ? transpose<kBytes>(in, o, out) : mirror<kBytes>(in, o, out);
}

}  // namespace

Plane orient(const Plane& in, const Orientation& o, PlaneBuffer& buffer) {
  if (o.upright()) return in;
  const Plane out = o.transpose ? buffer.shape(in.height, in.width, in.channels)
                                : buffer.shape(in.width, in.height, in.channels);
  switch (in.channels) {
    case 1:
      apply<1>(in, o, out);
      break;
    case 2:
      apply<2>(in, o, out);
      break;
    case 3:
      apply<3>(in, o, out);
      break;
    case 4:
      apply<4>(in, o, out);
      break;
    case 6:
      apply<6>(in, o, out);
      break;
    case 8:
      apply<8>(in, o, out);
      break;
    default:
      break;  // no format has pixels of another size
  }
  return out;
}

}  // namespace prep::image
