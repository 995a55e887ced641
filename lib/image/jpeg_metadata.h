// The application and comment segments that a recompressed JPEG takes over from its source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/image/jpeg_info.h"

namespace prep::image {

struct KeptMetadata {
  std::vector<std::uint8_t> segments;  // as they stand behind SOI, JFIF's first
  std::size_t dropped = 0;             // bytes that the source has more, trailing data included
};

// Nothing but what changes how the picture looks: JFIF's segment without its thumbnail, the ICC
// profile, and an EXIF block with the orientation alone if that isn't upright.
KeptMetadata essential_metadata(const JpegInfo& info, std::size_t file_size);

// All of it. A JFIF segment is added if there is none.
KeptMetadata all_metadata(const JpegInfo& info, std::size_t file_size);

}  // namespace prep::image
