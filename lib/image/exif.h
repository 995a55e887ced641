// The one thing that matters in EXIF here: the orientation (tag 0x0112 of IFD0).
#pragma once

#include <optional>

#include "lib/core/bytes.h"

namespace prep::image {

// 1 to 8. `tiff` is an EXIF block from its byte order mark ("II*\0" or "MM\0*") on. What can't be
// read, and values that don't exist, count as 1.
int exif_orientation(ByteView tiff);

// A copy of the block with the orientation, if it has one, set to 1; nullopt if the block can't be
// read far enough to know.
std::optional<Bytes> with_upright_orientation(ByteView tiff);

// A block with nothing in it but this orientation.
Bytes orientation_exif(int orientation);

}  // namespace prep::image
