// JPEG to RGB as a training loader decodes it: libjpeg-turbo's pixels, nothing checked besides.
#pragma once

#include <memory>
#include <string>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

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

 private:
  class State;
  std::unique_ptr<State> state_;
};

// "libjpeg-turbo 2.1.5", as of when this was compiled.
std::string libjpeg_version();

}  // namespace prep::image
