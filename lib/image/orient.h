// Bringing a stored picture upright, as the EXIF orientation asks.
#pragma once

#include "lib/image/plane.h"

namespace prep::image {

// An orientation, 1 to 8 (TIFF 6.0, section "Orientation"), is a mirroring of the stored picture
// in x, in y, or both, and then, from 5 on, a transposition.
struct Orientation {
  explicit Orientation(int exif)
      : mirror_x(exif == 2 || exif == 3 || exif == 7 || exif == 8),
        mirror_y(exif == 3 || exif == 4 || exif == 6 || exif == 7),
        transpose(exif >= 5) {}
  bool upright() const { return !mirror_x && !mirror_y && !transpose; }

  bool mirror_x, mirror_y, transpose;
};

// The plane turned upright, in memory of `out`; `in` itself if there is nothing to do. A pixel is
// `in.channels` bytes, which are moved together.
Plane orient(const Plane& in, const Orientation& orientation, PlaneBuffer& out);

}  // namespace prep::image
