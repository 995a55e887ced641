// EXIF blocks and ICC profiles to put into pictures.
#pragma once

#include <string>
#include <string_view>

#include "tests/data/picture.h"

namespace prep::testdata {

enum class ByteOrder { little, big };

// A TIFF structure whose only entry says the orientation, any number.
std::string exif_tiff(int orientation, ByteOrder order = ByteOrder::little);
// The same with an embedded thumbnail in IFD1.
std::string exif_tiff_with_thumbnail(int orientation, std::string_view jpeg);
// As an APP1 payload.
std::string exif_payload(std::string_view tiff);

std::string srgb_profile();
std::string adobe_rgb_profile();
std::string display_p3_profile();
std::string grey_profile(double gamma);
// A printer that has cyan and magenta swapped, so that ignoring the profile shows.
std::string swapped_cmyk_profile();
// As an APP2 payload, piece `number` (from 1) of `count`.
std::string icc_payload(std::string_view profile, int number = 1, int count = 1);

// What colour management makes of these colours: relative colorimetric with black point
// compensation, to sRGB. RGB, or CMYK for a CMYK profile (0 is no ink).
Corners to_srgb(const std::string& profile, const Corners& corners);

}  // namespace prep::testdata
