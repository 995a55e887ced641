// The crops of a training loader.
#pragma once

#include <cstdint>

#include "lib/image/plane.h"

namespace prep {

struct CropBox {
  int x = 0, y = 0, width = 0, height = 0;
};

// torchvision's RandomResizedCrop with its defaults: a share of the area between 0.08 and 1, an
// aspect between 3/4 and 4/3, ten attempts, and the middle if none fits. The same seed gives the
// same box.
CropBox random_resized_box(int width, int height, std::uint64_t seed);
// What Resize(side * 8 / 7) and CenterCrop(side) leave: the middle 7/8 of the short side.
CropBox center_box(int width, int height);

// Resizes the box bilinearly to side x side pixels, 3 channels, without gaps in `out`.
void crop_to(const image::ConstPlane& pixels, const CropBox& box, int side, std::uint8_t* out);

}  // namespace prep
