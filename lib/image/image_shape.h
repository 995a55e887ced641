// What containers with fields for pictures' sizes (TFRecords) write of a picture.
#pragma once

#include <optional>

#include "lib/core/bytes.h"
#include "lib/core/image_shape.h"

namespace prep::image {

// An ImageDescriber: by the header, without decoding. Width and height are as stored, before the
// orientation is applied; channels are those of the decoded picture with its alpha (a palette has
// 3), and bits do not matter. nullopt for what is no picture, or so damaged that its header can't
// be read.
std::optional<ImageShape> describe_image(ByteView data);

}  // namespace prep::image
