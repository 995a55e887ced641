// TIFF through libtiff. Every message of libtiff ends in this file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the first directory says (TIFF 6.0), read without libtiff.
struct TiffInfo {
  int width = 0, height = 0;
  int bits = 1;         // a sample
  int samples = 1;      // a pixel
  int photometric = 0;  // tag 262: 0 white is zero, 1 black is zero, 2 RGB, 3 palette, 5 CMYK, …
  int extra_samples = 0;  // how many of the samples are not colour
  int extra_kind = 0;     // of the first of them: 1 premultiplied alpha, 2 straight alpha
  int sample_format = 1;  // 1 unsigned, 2 signed, 3 floating point
  bool separate = false;  // one plane after the other
  int orientation = 1;
  ByteView icc;          // a view into the file
  bool complete = true;  // the data of all strips or tiles lies inside the file
  std::vector<std::string> warnings;

  bool has_alpha() const { return extra_samples > 0 && (extra_kind == 1 || extra_kind == 2); }
};

// throws Error truncated (the directory lies behind the end), corrupt, unsupported (sample
// formats).
TiffInfo read_tiff_info(const Bytes& data);

// The first image, 8 bits a channel: 1 to 4 channels as ColorModel says, alpha straight. `cmyk` is
// set when the four channels are (inverted) CMYK.
// throws Error truncated, corrupt, unsupported, limit (absurd tiles).
Plane decode_tiff(const Bytes& data, const TiffInfo& info, bool allow_truncated, PlaneBuffer& out,
                  bool& cmyk, std::vector<std::string>& warnings);

}  // namespace prep::image
