// Whether decoders agree: a fast one that decodes something else is no faster.
#pragma once

#include "tools/bench_decoders.h"

namespace prep {

// How far, on average over the pixels, `other` is from the same picture decoded to RGB at full
// size, in steps of 255. Luma is compared with luma; a smaller picture with the reference averaged
// over boxes. 255 where the sizes do not fit.
double mean_difference(const Decoded& other, const image::ConstPlane& reference);

// What may differ: nothing where the same pixels are asked for, but that decoders may round and
// clip elsewhere; a little for luma, which RGB cannot always hold; for smaller pictures, how a DCT
// of fewer coefficients and an average over a box differ on sharp edges.
double allowed_difference(const Decoded& other, const image::ConstPlane& reference);

}  // namespace prep
