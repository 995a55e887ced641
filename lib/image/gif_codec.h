// GIF through giflib, which decompresses the pixels; the blocks are read by a reader of our own.
#pragma once

#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the blocks up to the end of the first image say (GIF89a). Views point into the file.
struct GifInfo {
  int width = 0, height = 0;  // of the canvas, grown to hold the first image as browsers do
  // Of the first image, on the canvas.
  int left = 0, top = 0, image_width = 0, image_height = 0;
  bool interlaced = false;
  int transparent = -1;   // the index of the palette that is not drawn; -1: none
  ByteView palette;       // red, green, blue
  ByteView pixels;        // the compressed blocks, with the byte before them
  bool complete = true;   // they end inside the file
  bool animated = false;  // more images follow; the first is what decodes
  std::vector<std::string> warnings;

  bool has_alpha() const {
    return transparent >= 0 || image_width != width || image_height != height;
  }
};

// throws Error truncated (before the pixels), corrupt.
GifInfo read_gif_info(const Bytes& data);

// 3 channels, or 4 where a colour is transparent or the image does not cover the canvas.
// throws Error truncated, corrupt, limit.
Plane decode_gif(const GifInfo& info, bool allow_truncated, PlaneBuffer& out,
                 std::vector<std::string>& warnings);

}  // namespace prep::image
