// JPEGs whose colour model, sampling or profile is out of the ordinary.
#include "tests/data/jpeg_writer.h"
#include "tests/data/metadata.h"
#include "tests/data/odd_image.h"

namespace prep::testdata {
namespace {

Picture grey_quarters() { return grey(rgb_quarters()); }

Corners grey_corners() {
  const Picture picture = grey_quarters();
  Corners corners;
  for (int i = 0; i < 4; ++i) {
    const auto value = *picture.at(i % 2 * (kWidth - 1), i / 2 * (kHeight - 1));
    corners[i] = {value, value, value};
  }
  return corners;
}

// Inverted as Adobe's programs store it: 255 is no ink. Without black the three inks are RGB.
Picture cmyk_quarters(std::uint8_t stored_black) {
  Corners corners = kRgbCorners;
  for (Colour& colour : corners) colour[3] = stored_black;
  return quarters(kWidth, kHeight, 4, corners);
}

// The plain mixture of ink and black, without colour management.
Corners darkened(const Corners& corners, int stored_black) {
  Corners result{};
  for (int i = 0; i < 4; ++i) {
    for (int c = 0; c < 3; ++c) {
      result[i][c] = static_cast<std::uint8_t>(corners[i][c] * stored_black / 255);
    }
  }
  return result;
}

OddImages cmyk_images() {
  const Picture plain = cmyk_quarters(255), dark = cmyk_quarters(200);
  // Without the Adobe marker libjpeg takes four components for CMYK, whatever they were.
  OddImage guessed =
      ok("ycck-without-adobe.jpg", encode_jpeg(plain, {.space = JCS_YCCK, .adobe = false}));
  guessed.corners.reset();
  return {
      ok("cmyk-adobe.jpg", encode_jpeg(plain, {.space = JCS_CMYK})),
      ok("cmyk-black.jpg", encode_jpeg(dark, {.space = JCS_CMYK}), darkened(kRgbCorners, 200)),
      // Browsers and Pillow take this for inverted too: what stores CMYK in JPEGs is Adobe's kind.
      ok("cmyk-without-adobe.jpg", encode_jpeg(plain, {.space = JCS_CMYK, .adobe = false})),
      ok("ycck-adobe.jpg", encode_jpeg(plain, {.space = JCS_YCCK})),
      ok("ycck-420.jpg",
         encode_jpeg(plain, {.space = JCS_YCCK, .sampling = {{2, 2}, {1, 1}, {1, 1}, {2, 2}}})),
      guessed,
  };
}

OddImages rgb_images() {
  const Picture picture = rgb_quarters();
  return {
      // libjpeg's own ids for RGB are the letters; with 1, 2, 3 only the Adobe marker tells.
      ok("rgb-by-adobe.jpg", encode_jpeg(picture, {.space = JCS_RGB, .ids = {1, 2, 3}})),
      ok("rgb-by-ids.jpg", encode_jpeg(picture, {.space = JCS_RGB, .adobe = false})),
      ok("rgb-by-both.jpg", encode_jpeg(picture, {.space = JCS_RGB})),
      // JFIF says YCbCr, and libjpeg believes it before the ids.
      ok("ycc-jfif-rgb-ids.jpg", encode_jpeg(picture, {.ids = {'R', 'G', 'B'}})),
      ok("ycc-no-jfif.jpg", encode_jpeg(picture, {.jfif = false})),
      ok("ycc-ids-0-1-2.jpg", encode_jpeg(picture, {.ids = {0, 1, 2}, .jfif = false})),
  };
}

OddImages grey_images() {
  const Picture picture = grey_quarters();
  return {
      ok("grey.jpg", encode_jpeg(picture), grey_corners()),
      ok("grey-2x2.jpg", encode_jpeg(picture, {.sampling = {{2, 2}}}), grey_corners()),
  };
}

OddImages joined(std::vector<OddImages> groups) {
  OddImages all;
  for (OddImages& group : groups) {
    for (OddImage& image : group) all.push_back(std::move(image));
  }
  return all;
}

std::string with_profile(const std::string& profile, const Picture& picture,
                         JpegOptions options = {}) {
  options.markers.push_back({JPEG_APP0 + 2, icc_payload(profile)});
  return encode_jpeg(picture, options);
}

std::string with_split_profile(const std::string& profile, int pieces_written) {
  const std::size_t half = profile.size() / 2;
  JpegOptions options;
  options.markers.push_back({JPEG_APP0 + 2, icc_payload(profile.substr(0, half), 1, 2)});
  if (pieces_written == 2) {
    options.markers.push_back({JPEG_APP0 + 2, icc_payload(profile.substr(half), 2, 2)});
  }
  return encode_jpeg(rgb_quarters(), options);
}

// The profile sees ink, 255 where the file stores 0.
OddImage managed_cmyk() {
  const std::string profile = swapped_cmyk_profile();
  Corners inks = kRgbCorners;
  for (Colour& colour : inks) {
    for (int i = 0; i < 3; ++i) colour[i] = 255 - colour[i];
    colour[3] = 0;
  }
  return ok("icc-cmyk.jpg", with_profile(profile, cmyk_quarters(255), {.space = JCS_CMYK}),
            to_srgb(profile, inks));
}

}  // namespace

OddImages jpeg_colours() { return joined({cmyk_images(), rgb_images(), grey_images()}); }

OddImages jpeg_samplings() {
  const Picture picture = rgb_quarters();
  const std::pair<const char*, Sampling> kinds[] = {
      {"444", k444},
      {"422", k422},
      {"440", k440},
      {"420", k420},
      {"411", k411},
      {"410", {{4, 2}, {1, 1}, {1, 1}}},
      {"2x4", {{2, 4}, {1, 1}, {1, 1}}},
      {"1x4", {{1, 4}, {1, 1}, {1, 1}}},
      {"3x1", {{3, 1}, {1, 1}, {1, 1}}},
      {"444-as-1x2", {{1, 2}, {1, 2}, {1, 2}}},
      {"422-as-2x2-chroma-1x2", {{2, 2}, {1, 2}, {1, 2}}},
      {"chroma-2x2-luma-1x1", {{1, 1}, {2, 2}, {2, 2}}},
      {"chroma-unequal", {{2, 2}, {2, 1}, {1, 2}}},
  };
  OddImages images;
  for (const auto& [name, sampling] : kinds) {
    images.push_back(
        ok("sampling-" + std::string(name) + ".jpg", encode_jpeg(picture, {.sampling = sampling})));
  }
  return images;
}

OddImages jpeg_profiles() {
  const Picture picture = rgb_quarters();
  const std::string adobe = adobe_rgb_profile(), p3 = display_p3_profile();
  std::string broken = adobe;
  broken.resize(broken.size() / 2);
  // Small enough already, but the colours have to change all the same.
  OddImage small = ok("icc-small-display-p3.jpg",
                      with_profile(p3, quarters(120, 100, 3, kRgbCorners)), 120, 100);
  small.corners = to_srgb(p3, kRgbCorners);
  return {
      ok("icc-srgb.jpg", with_profile(srgb_profile(), picture)),
      ok("icc-adobe-rgb.jpg", with_profile(adobe, picture), to_srgb(adobe, kRgbCorners)),
      ok("icc-display-p3.jpg", with_profile(p3, picture), to_srgb(p3, kRgbCorners)),
      ok("icc-two-pieces.jpg", with_split_profile(adobe, 2), to_srgb(adobe, kRgbCorners)),
      small,
      managed_cmyk(),
      warning(ok("icc-piece-missing.jpg", with_split_profile(adobe, 1))),
      warning(ok("icc-broken.jpg", with_profile(broken, picture))),
      warning(ok("icc-rgb-in-grey.jpg", with_profile(adobe, grey_quarters()), grey_corners())),
      warning(ok("icc-grey-in-rgb.jpg", with_profile(grey_profile(1.0), picture))),
  };
}

}  // namespace prep::testdata
