// The structural similarity of two pictures.
#pragma once

#include "lib/image/plane.h"

namespace prep::image {

// Mean SSIM (Wang et al., "Image quality assessment", 2004, with K1 = 0.01, K2 = 0.03) of two
// planes of one channel and the same size, over windows of 8x8 samples of equal weight, four
// samples apart; 1 for equal planes. Samples at the right and lower edge that no whole window
// reaches do not count; a plane smaller than a window is one window.
double ssim(const ConstPlane& a, const ConstPlane& b);

}  // namespace prep::image
