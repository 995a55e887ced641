// What a container may want to know of a picture, told by whoever knows pictures.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/core/bytes.h"

namespace prep {

struct ImageShape {
  std::string format;  // "JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"
  int width = 0, height = 0, channels = 0;
  std::string colorspace;  // "RGB", "grayscale", "CMYK"; "" if unknown
};

// Looks at a part's bytes, at the header only; nullopt if it is no picture. Called from many
// threads. Never throws.
using ImageDescriber = std::function<std::optional<ImageShape>(ByteView)>;

}  // namespace prep
