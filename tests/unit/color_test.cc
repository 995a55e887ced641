#include "lib/image/color.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "pictures.h"

namespace prep::color_test {

using namespace prep::image;
using namespace prep::test;

namespace {

// A plane in a buffer, filled from interleaved samples.
Plane fill(PlaneBuffer& buffer, const Image& image) {
  const Plane plane = buffer.shape(image.width, image.height, image.channels);
  for (int y = 0; y < image.height; ++y) {
    std::memcpy(plane.row(y), &image.samples[std::size_t(y) * image.width * image.channels],
                std::size_t(image.width) * image.channels);
  }
  return plane;
}

double decode_srgb(double v) {
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}
double encode_srgb(double v) {
  v = std::min(1.0, std::max(0.0, v));
  return v <= 0.0031308 ? v * 12.92 : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
}

// Linear Display P3 to linear sRGB, both with D65 white (CSS Color 4, section 18).
constexpr double kP3ToSrgb[3][3] = {{1.2249401763, -0.2249401763, 0},
                                    {-0.0420569547, 1.0420569547, 0},
                                    {-0.0196375546, -0.0786360456, 1.0982736001}};

std::array<int, 3> p3_to_srgb(const std::array<int, 3>& p3) {
  std::array<int, 3> out;
  for (int i = 0; i < 3; ++i) {
    double sum = 0;
    for (int k = 0; k < 3; ++k) sum += kP3ToSrgb[i][k] * decode_srgb(p3[k] / 255.0);
    out[i] = int(std::lround(encode_srgb(sum) * 255));
  }
  return out;
}

}  // namespace

TEST_CASE("profiles are judged by what they do", "[color]") {
  ColorConverter color;
  std::string why;
  CHECK(color.examine({}, ColorModel::rgb) == ProfileVerdict::none);
  CHECK(color.examine(rgb_profile(kSrgbPrimaries), ColorModel::rgb) == ProfileVerdict::srgb);
  CHECK(color.examine(rgb_profile(kP3Primaries), ColorModel::rgb) == ProfileVerdict::convert);
  // sRGB's primaries with a plain power are darker in the shadows by more than the tolerance.
  CHECK(color.examine(rgb_profile(kSrgbPrimaries, 1.8), ColorModel::rgb) ==
        ProfileVerdict::convert);
  CHECK(color.examine(grey_profile(0), ColorModel::grey) == ProfileVerdict::srgb);
  CHECK(color.examine(grey_profile(1.8), ColorModel::grey) == ProfileVerdict::convert);

  CHECK(color.examine(rgb_profile(kP3Primaries), ColorModel::grey, &why) ==
        ProfileVerdict::unusable);
  CHECK(why == "the colour profile is for RGB, the pixels are grey");
  CHECK(color.examine(grey_profile(0), ColorModel::cmyk, &why) == ProfileVerdict::unusable);
  CHECK(why == "the colour profile is for grey, the pixels are CMYK");
  CHECK(color.examine(Buffer(200, 7), ColorModel::rgb, &why) == ProfileVerdict::unusable);
  CHECK(why == "the colour profile is broken");
  Buffer cut_off = rgb_profile(kP3Primaries);
  cut_off.resize(300);
  CHECK(color.examine(cut_off, ColorModel::rgb) == ProfileVerdict::unusable);
}

TEST_CASE("Display P3 becomes sRGB", "[color]") {
  ColorConverter color;
  const Buffer icc = rgb_profile(kP3Primaries);
  PlaneBuffer buffer;
  for (const std::array<int, 3>& p3 : {std::array{128, 128, 128},
                                       {200, 100, 50},
                                       {90, 160, 220},
                                       {5, 10, 20},
                                       {3, 2, 1},
                                       {255, 255, 255},
                                       {255, 0, 0}}) {
    const Plane plane = fill(buffer, solid(9, 3, {p3[0], p3[1], p3[2]}));
    color.to_srgb(icc, ColorModel::rgb, plane);
    const auto expected = p3_to_srgb(p3);
    for (int i = 0; i < 3; ++i) {
      INFO(p3[0] << ' ' << p3[1] << ' ' << p3[2] << " channel " << i);
      CHECK(std::abs(plane.row(2)[8 * 3 + i] - expected[i]) <= 1);
    }
  }
}

TEST_CASE("alpha goes through a conversion untouched", "[color]") {
  ColorConverter color;
  PlaneBuffer buffer;
  const Plane rgba =
      fill(buffer, draw(256, 1, 4, [](int x, int, int c) { return c == 3 ? x : 200 - 60 * c; }));
  color.to_srgb(rgb_profile(kP3Primaries), ColorModel::rgb, rgba);
  const auto expected = p3_to_srgb({200, 140, 80});
  for (int x = 0; x < 256; ++x) {
    REQUIRE(rgba.row(0)[4 * x + 3] == x);
    REQUIRE(std::abs(rgba.row(0)[4 * x] - expected[0]) <= 1);
  }
}

TEST_CASE("grey stays one channel with sRGB's curve", "[color]") {
  ColorConverter color;
  PlaneBuffer buffer;
  const Plane grey = fill(buffer, draw(256, 1, 1, [](int x, int, int) { return x; }));
  color.to_srgb(grey_profile(1.8), ColorModel::grey, grey);
  for (int x = 0; x < 256; ++x) {
    INFO("grey " << x);
    REQUIRE(std::abs(grey.row(0)[x] - 255 * encode_srgb(std::pow(x / 255.0, 1.8))) <= 1.01);
  }
}

TEST_CASE("more profiles than the cache holds", "[color]") {
  ColorConverter color;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 20; ++i) {
      const Buffer icc = rgb_profile(kP3Primaries, 1.5 + 0.05 * i);
      REQUIRE(color.examine(icc, ColorModel::rgb) == ProfileVerdict::convert);
    }
  }
}

TEST_CASE("CMYK without a profile", "[color]") {
  PlaneBuffer in, out;
  const Plane cmyk =
      fill(in, draw(256, 256, 4, [](int x, int y, int c) { return c == 3 ? y : x; }));
  const Plane rgb = out.shape(256, 256, 3);
  cmyk_to_rgb(as_const(cmyk), rgb);
  for (int y = 0; y < 256; ++y) {
    for (int x = 0; x < 256; ++x) {
      // Exact rounding; no product of two bytes divided by 255 lies half way.
      REQUIRE(rgb.row(y)[3 * x + 1] == int(std::lround(x * y / 255.0)));
    }
  }
}

TEST_CASE("YCbCr to RGB", "[color]") {
  PlaneBuffer buffers[4];
  const Plane y = fill(buffers[0], solid(1, 1, {120})), cb = fill(buffers[1], solid(1, 1, {90}));
  const Plane cr = fill(buffers[2], solid(1, 1, {200})), rgb = buffers[3].shape(1, 1, 3);
  ycc_to_rgb(as_const(y), as_const(cb), as_const(cr), rgb);
  CHECK(rgb.row(0)[0] == std::lround(120 + 1.402 * 72));
  CHECK(rgb.row(0)[1] == std::lround(120 - 0.344136 * -38 - 0.714136 * 72));
  CHECK(rgb.row(0)[2] == std::lround(120 + 1.772 * -38));
}

TEST_CASE("alpha over a background", "[color]") {
  PlaneBuffer in, out;
  const Image rgba = draw(256, 1, 4, [](int x, int, int c) { return c == 3 ? x : 40 * c; });
  const std::array<std::uint8_t, 3> background{255, 128, 0};
  const Plane rgb = compose(as_const(fill(in, rgba)), background, out);
  REQUIRE(rgb.channels == 3);
  for (int x = 0; x < 256; ++x) {
    for (int c = 0; c < 3; ++c) {
      const double exact = (40 * c * x + background[c] * (255 - x)) / 255.0;
      REQUIRE(std::abs(rgb.row(0)[3 * x + c] - exact) <= 0.5);
    }
  }
  const Image grey_alpha = draw(256, 1, 2, [](int x, int, int c) { return c == 1 ? x : 60; });
  CHECK(compose(as_const(fill(in, grey_alpha)), {9, 9, 9}, out).channels == 1);
  const Plane colored = compose(as_const(fill(in, grey_alpha)), background, out);
  REQUIRE(colored.channels == 3);
  CHECK(colored.row(0)[0] == 255);
  CHECK(colored.row(0)[1] == 128);
  CHECK(colored.row(0)[3 * 255 + 2] == 60);
}

}  // namespace prep::color_test
