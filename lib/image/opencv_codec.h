// WebP and BMP: headers read by readers of our own, pixels decoded by OpenCV. Every exception and
// message of OpenCV ends in this file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// Source: "WebP Container Specification" (RIFF), RFC 9649.
struct WebpInfo {
  int width = 0, height = 0;  // of the canvas
  bool alpha = false;
  bool animated = false;  // the first frame is what decodes
  int orientation = 1;
  ByteView icc;  // views into the file
  Bytes exif;
  ByteView frame;  // animated: the first ANMF chunk's payload
  std::vector<std::string> warnings;
};

// throws Error truncated (the RIFF is longer than the file), corrupt.
WebpInfo read_webp_info(const Bytes& data);
// 3 channels, or 4 with alpha. throws Error corrupt.
Plane decode_webp(const Bytes& data, const WebpInfo& info, PlaneBuffer& out);

struct BmpInfo {
  int width = 0, height = 0;
  int bits = 24;                // 1, 4, 8, 16, 24, 32
  bool alpha = false;           // a mask for it in a header of version 3 and up
  int green_bits = 5;           // of 16-bit pixels: 5 or 6
  std::uint64_t full_size = 0;  // the file's size by the header; 0 where runs are compressed
};

// throws Error truncated (in the header), corrupt, unsupported (JPEG or PNG inside, odd masks).
BmpInfo read_bmp_info(const Bytes& data);
// 1 channel for a grey palette, 3, or 4 with alpha. throws Error truncated, corrupt.
Plane decode_bmp(const Bytes& data, const BmpInfo& info, bool allow_truncated, PlaneBuffer& out);

}  // namespace prep::image
