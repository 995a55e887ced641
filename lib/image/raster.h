// Everything but JPEG, decoded to 8-bit pixels: PNG, WebP, TIFF, BMP, GIF.
//
// A picture's size comes from header readers of our own, which allocate nothing by what the file
// claims, so that limits are checked before any decoder sees the file. Whether a file is complete
// is judged by its structure, since decoders like to return half a picture without a word.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/color.h"
#include "lib/image/format.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the header says.
struct RasterInfo {
  int width = 0, height = 0;  // as stored, before the orientation is applied; > 0
  int orientation = 1;        // 1 to 8
  // No more than 8 bits a channel, no transparency, one image: an 8-bit reader loses nothing.
  bool plain = true;
};

// throws Error truncated, corrupt, unsupported. `format` is one of png, webp, tiff, bmp, gif.
RasterInfo read_raster_info(const Bytes& data, Format format);

struct Raster {
  Plane pixels;  // in the buffer given; alpha, if there is one, is straight (not premultiplied)
  ColorModel model = ColorModel::rgb;
  std::vector<std::uint8_t> icc;  // empty if none; not checked
  Bytes exif;                     // from the byte order mark on; empty if none
  std::vector<std::string> warnings;

  bool has_alpha() const { return pixels.channels > color_channels(model); }
};

// The first image. 16 bits are scaled to 8 by 255 / 65535, rounded. With `allow_truncated`, what
// the file lacks is black or transparent; Error truncated only if there is nothing of the image.
// throws Error truncated, corrupt, unsupported.
Raster decode_raster(const Bytes& data, Format format, bool allow_truncated, PlaneBuffer& buffer);

}  // namespace prep::image
