// How far a YCbCr picture reaches outside of RGB.
#pragma once

#include "lib/image/planar_jpeg.h"

namespace prep::image {

// Decoders clip what lies outside of RGB, pixel by pixel; averaging first and clipping afterwards
// gives something else. For photographs the difference is nothing, but computer drawings (pure red
// beside pure blue, chroma of half the resolution) lose up to 3 dB against other tools.
// Returns the mean square, over a grid of every eighth luma sample in each direction, of how far
// the worst of R, G and B (JFIF's equations) lies outside of 0 to 255. Of 550 photographs none came
// above
// 11. `planes` holds three planes.
double outside_rgb(const Planes& planes);

}  // namespace prep::image
