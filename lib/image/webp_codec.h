// WebP through libwebp; the container is read by a reader of our own.
#pragma once

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
  bool complete = true;   // the file is as long as its RIFF header says
  int orientation = 1;
  ByteView icc;  // views into the file
  Bytes exif;
  ByteView frame;  // animated: the first ANMF chunk's payload
  std::vector<std::string> warnings;
};

// throws Error truncated (in the headers), corrupt.
WebpInfo read_webp_info(const Bytes& data);

// 3 channels, or 4 with alpha. An animation's first frame lies on a transparent canvas.
// throws Error truncated, corrupt, limit.
Plane decode_webp(const Bytes& data, const WebpInfo& info, bool allow_truncated, PlaneBuffer& out,
                  std::vector<std::string>& warnings);

}  // namespace prep::image
