// Colour profiles (ICC) to sRGB, and CMYK to RGB.
//
// Conversions with a profile are relative colorimetric with black point compensation, what
// browsers and Adobe's programs do for pictures: white stays white, shadows are not clipped.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/plane.h"

namespace prep::image {

// What the channels of a pixel mean. An alpha channel may follow grey or rgb. CMYK is held as
// Adobe's JPEGs store it: inverted, 255 is no ink.
enum class ColorModel { grey, rgb, cmyk };
constexpr int color_channels(ColorModel model) {
  return model == ColorModel::grey ? 1 : model == ColorModel::rgb ? 3 : 4;
}

// What there is to do about a profile.
enum class ProfileVerdict {
  none,      // there is no profile
  srgb,      // converting would change no pixel by more than kSrgbTolerance: there is nothing to do
  convert,   // a sound profile of another colour space
  unusable,  // broken, or made for other pixels than these
};
// In 8-bit levels. The sRGB profiles in circulation differ from each other by 1 or 2.
inline constexpr int kSrgbTolerance = 2;

// Holds the profiles last met, with their transforms; one for each thread. sRGB output of a grey
// picture stays grey (sRGB's curve).
class ColorConverter {
 public:
  ColorConverter();
  ~ColorConverter();
  ColorConverter(const ColorConverter&) = delete;

  // Whether `icc` applies to pixels of `model`, judged by what the profile does. Where it is
  // unusable, `*why` (if given) is filled: "the colour profile is for RGB, the pixels are grey".
  ProfileVerdict examine(ByteView icc, ColorModel model, std::string* why = nullptr);

  // Converts grey or RGB pixels in place; an alpha channel behind them is left as it is. For a
  // profile that examine() calls `convert`.
  void to_srgb(ByteView icc, ColorModel model, const Plane& pixels);

  // Converts inverted CMYK (4 channels) to sRGB (3 channels, same size) through the profile.
  void cmyk_to_srgb(ByteView icc, const ConstPlane& cmyk, const Plane& rgb);

 private:
  struct Entry;
  class Context;
  Entry& find(ByteView icc, ColorModel model);

  std::unique_ptr<Context> context_;
  std::vector<std::unique_ptr<Entry>> entries_;  // most recently used first
};

// Inverted CMYK to RGB without a profile: R = C * K / 255 of the stored values, rounded; the same
// as Pillow's.
void cmyk_to_rgb(const ConstPlane& cmyk, const Plane& rgb);

// JFIF's YCbCr, three planes of the same size, to RGB.
void ycc_to_rgb(const ConstPlane& y, const ConstPlane& cb, const ConstPlane& cr, const Plane& rgb);

// Lays pixels with alpha (2 channels: grey, 4: RGB) over an sRGB colour. The result, in memory of
// `out`, has 3 channels, or 1 where both the pixels and the background are grey.
Plane compose(const ConstPlane& pixels, const std::array<std::uint8_t, 3>& background,
              PlaneBuffer& out);

}  // namespace prep::image
