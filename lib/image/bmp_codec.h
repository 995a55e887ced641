// BMP, by a reader of our own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the headers say: BITMAPCOREHEADER (12 bytes) to BITMAPV5HEADER (124) of wingdi.h, and
// OS/2's.
struct BmpInfo {
  int width = 0, height = 0;
  int bits = 24;  // a pixel: 1, 4, 8 (indices of the palette), 16, 24, 32
  bool top_down = false;
  bool runs = false;                     // RLE4 or RLE8
  std::array<std::uint32_t, 4> masks{};  // at 16 and 32 bits: red, green, blue, alpha (0: none)
  ByteView palette;                      // a view into the file: blue, green, red, and maybe a pad
  int palette_entry = 4;                 // bytes
  std::uint64_t pixels = 0;              // where they begin in the file
  std::uint64_t full_size = 0;           // up to the last pixel; 0 where runs are compressed

  bool has_alpha() const { return masks[3] != 0; }
};

// throws Error truncated (before the pixels), corrupt, unsupported (JPEG or PNG inside, OS/2's
// Huffman and 24-bit runs, masks of scattered bits).
BmpInfo read_bmp_info(const Bytes& data);

// 1 channel for a grey palette, 3, or 4 where a mask says that there is alpha. Alpha that is zero
// everywhere comes from programs that left it unset, and is taken as opaque. Values of fewer or
// more than 8 bits are scaled, rounded; what runs leave out has the palette's first colour, what a
// truncated file lacks is black or transparent.
// throws Error truncated, corrupt, limit.
Plane decode_bmp(const Bytes& data, const BmpInfo& info, bool allow_truncated, PlaneBuffer& out,
                 std::vector<std::string>& warnings);

}  // namespace prep::image
