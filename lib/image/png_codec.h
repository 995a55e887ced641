// PNG through libpng. Every longjmp and message of libpng ends in this file.
//
// libpng is given only the chunks that matter (IHDR, PLTE, tRNS, iCCP, IDAT, IEND), found by a walk
// of our own, so that no other chunk, however large or broken, can cost memory or fail a picture.
#pragma once

#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the chunks say, read without decoding.
struct PngInfo {
  int width = 0, height = 0;
  int bit_depth = 8;          // 1, 2, 4, 8, 16
  int color_type = 0;         // as in IHDR: 0 grey, 2 RGB, 3 palette, 4 grey + alpha, 6 RGBA
  bool transparency = false;  // an alpha channel or a tRNS chunk
  bool animated = false;      // an APNG; the first image is what decodes
  bool ends = false;          // IEND was met
  int orientation = 1;        // of the eXIf chunk
  Bytes exif;
  std::vector<ByteView> chunks;       // whole chunks for libpng, in order, the signature first
  std::vector<std::string> warnings;  // chunks that were left out, bytes behind the end
};

// throws Error truncated, corrupt, unsupported (Apple's CgBI). Views point into `data`.
PngInfo read_png_info(const Bytes& data);

struct PngDecodeOptions {
  bool allow_truncated = false;  // what is missing is black, or transparent where there is alpha
};

// 8 bits a channel: 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA. 16 bits are scaled by 255 / 65535,
// rounded; palettes are looked up; tRNS becomes alpha. `*icc` gets the profile of iCCP, if any.
// throws Error truncated, corrupt.
Plane decode_png(const PngInfo& info, const PngDecodeOptions& options, PlaneBuffer& out,
                 std::vector<std::uint8_t>& icc, std::vector<std::string>& warnings);

// A PNG's pixels as stored: one sample of less than 8 bits in a byte, 16 bits in two, big-endian.
struct PngRaw {
  int bit_depth = 8, color_type = 0;
  Plane pixels;                            // `channels` is the number of bytes a pixel takes
  std::vector<std::uint8_t> palette;       // the payload of PLTE
  std::vector<std::uint8_t> transparency;  // the payload of tRNS
};

// Same errors as decode_png.
PngRaw decode_png_raw(const PngInfo& info, const PngDecodeOptions& options, PlaneBuffer& out,
                      std::vector<std::string>& warnings);
// The same bit depth, colour type, palette and transparency; not interlaced.
Bytes encode_png_raw(const PngRaw& raw);

struct PngEncodeOptions {
  std::vector<std::uint8_t> icc;  // written as iCCP if not empty
  Bytes exif;                     // written as eXIf if not empty
};

// 8-bit grey (1 channel) or RGB (3), not interlaced; deterministic.
Bytes encode_png(const ConstPlane& pixels, const PngEncodeOptions& options);

}  // namespace prep::image
