// PNGs of every colour type and depth, with any chunks, sound or not.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tests/data/picture.h"

namespace prep::testdata {

enum class PngColour { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

struct PngOptions {
  PngColour colour = PngColour::rgb;
  int depth = 8;
  std::string chunks{};  // whole chunks between IHDR and IDAT: palette, profile, …
};

std::string png_chunk(std::string_view type, std::string_view payload);
// "iCCP" or "zTXt": both are a name, a method and deflated bytes.
std::string png_deflated_chunk(std::string_view type, std::string_view name,
                               std::string_view content);

// `row(y)` gives the packed samples of a row, big-endian and without a filter byte.
std::string encode_png(int width, int height, const PngOptions& options,
                       const std::function<std::string(int y)>& row);
// Channels 1 to 4: grey, grey and alpha, RGB, RGB and alpha; 8 bits.
std::string encode_png(const Picture& picture, std::string_view chunks = "");
// The same with 16 bits a sample: value v becomes 257 * v + `low_bits`, less than 128, which
// rounds to v again.
std::string encode_png16(const Picture& picture, int low_bits);

}  // namespace prep::testdata
