// Picture formats, told by their magic bytes.
#pragma once

#include <string_view>

#include "lib/core/bytes.h"

namespace prep::image {

// The formats from bigtiff on are recognised only to be refused by name.
enum class Format { unknown, jpeg, png, webp, tiff, bmp, gif, bigtiff, heic, avif, jxl, jpeg2000 };

// The format by magic bytes, never by name. 32 bytes are enough.
Format sniff(ByteView head);
// For messages: "JPEG", "HEIC", ….
std::string_view name(Format format);
// "jpg", "png", "webp", "tif", "bmp", "gif": the extension that a file of this format gets; "" for
// unknown.
std::string_view extension(Format format);
// Whether `ext` (any case) is one of the customary extensions of `format` ("jpg", "jpeg", "jpe").
bool has_extension(Format format, std::string_view ext);

}  // namespace prep::image
