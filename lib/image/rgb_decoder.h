// JPEG to RGB as a training loader decodes it: libjpeg-turbo's pixels, nothing checked besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// Memory for RGB pixels without gaps between rows, grown but never shrunk. (Into rows that all
// start at multiples of 32 bytes, libjpeg-turbo's AVX2 code writes around the caches; decoding then
// took a fifth longer, and whoever reads the pixels waits for the memory.)
class TightRgbBuffer {
 public:
  // What it holds is undefined; invalidates earlier planes.
  Plane shape(int width, int height);

 private:
  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t capacity_ = 0;
};

// Keeps libjpeg's state and the pixels' memory from picture to picture; one a thread.
class RgbDecoder {
 public:
  // With `least_side`, pictures come out at 1/2, 1/4 or 1/8 of their size (the steps that have
  // vector code), as small as the short side stays at least that long; 0: at full size.
  explicit RgbDecoder(int least_side = 0);
  RgbDecoder(RgbDecoder&&) noexcept;
  RgbDecoder& operator=(RgbDecoder&&) noexcept;
  ~RgbDecoder();

  // 3 channels, in memory of this object, until the next call. Grey and RGB files come out as RGB,
  // too; the orientation is not applied. Limits are the caller's to check (jpeg_info.h).
  // throws Error corrupt where libjpeg gives up, unsupported for CMYK.
  Plane decode(ByteView data);
  // What libjpeg had to say of the last picture, which it decoded all the same ("Premature end of
  // JPEG file"): the first of its warnings, or "".
  const std::string& warning() const;
  // Whether it made up pixels of the last picture, because their data were missing or no code.
  bool lost_data() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// "libjpeg-turbo 2.1.5", as of when this was compiled.
std::string libjpeg_version();

}  // namespace prep::image
