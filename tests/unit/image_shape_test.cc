#include "lib/image/image_shape.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/unit/pictures.h"

namespace prep::image_shape_test {

using namespace prep::test;

namespace {

std::string shape_of(const Buffer& data) {
  const auto shape = image::describe_image(data);
  if (!shape) return "none";
  return fmt::format("{} {}x{}x{} {}", shape->format, shape->width, shape->height, shape->channels,
                     shape->colorspace);
}

int zero(int, int, int) { return 0; }

std::string png_shape(int color_type, int bit_depth, std::vector<Buffer> before_pixels = {}) {
  PngSpec spec;
  spec.width = 7;
  spec.height = 5;
  spec.color_type = color_type;
  spec.bit_depth = bit_depth;
  spec.before_pixels = std::move(before_pixels);
  return shape_of(make_png(spec, zero));
}

}  // namespace

TEST_CASE("JPEGs are described by their headers, as stored") {
  const Image rgb(7, 5, 3), grey(7, 5, 1), cmyk(7, 5, 4);
  CHECK(shape_of(make_jpeg(rgb)) == "JPEG 7x5x3 RGB");
  CHECK(shape_of(make_jpeg(grey)) == "JPEG 7x5x1 grayscale");
  JpegSpec spec;
  spec.orientation = 6;
  spec.progressive = true;
  CHECK(shape_of(make_jpeg(rgb, spec)) == "JPEG 7x5x3 RGB");
  spec.color = JpegSpec::Color::ycck;
  CHECK(shape_of(make_jpeg(cmyk, spec)) == "JPEG 7x5x4 CMYK");
  spec.color = JpegSpec::Color::rgb;
  CHECK(shape_of(make_jpeg(rgb, spec)) == "JPEG 7x5x3 RGB");
}

TEST_CASE("PNGs are described by colour, whatever their bits, and by transparency") {
  CHECK(png_shape(0, 1) == "PNG 7x5x1 grayscale");
  CHECK(png_shape(0, 16) == "PNG 7x5x1 grayscale");
  CHECK(png_shape(2, 8) == "PNG 7x5x3 RGB");
  CHECK(png_shape(3, 8, {png_chunk("PLTE", Buffer(6))}) == "PNG 7x5x3 RGB");
  CHECK(png_shape(3, 8, {png_chunk("PLTE", Buffer(6)), png_chunk("tRNS", Buffer(1))}) ==
        "PNG 7x5x4 RGB");
  CHECK(png_shape(4, 8) == "PNG 7x5x2 grayscale");
  CHECK(png_shape(6, 16) == "PNG 7x5x4 RGB");
}

TEST_CASE("The other formats are described, too") {
  CHECK(shape_of(make_webp(Image(7, 5, 3))) == "WEBP 7x5x3 RGB");
  TiffSpec tiff;
  tiff.width = 7;
  tiff.height = 5;
  CHECK(shape_of(make_tiff(tiff, zero)) == "TIFF 7x5x3 RGB");
  tiff.samples = 1;
  tiff.photometric = 1;
  CHECK(shape_of(make_tiff(tiff, zero)) == "TIFF 7x5x1 grayscale");
  tiff.samples = 4;
  tiff.photometric = 5;
  CHECK(shape_of(make_tiff(tiff, zero)) == "TIFF 7x5x4 CMYK");
  BmpSpec bmp;
  bmp.width = 7;
  bmp.height = 5;
  CHECK(shape_of(make_bmp(bmp, [](int, int) { return 0u; })) == "BMP 7x5x3 RGB");
  GifSpec gif;
  gif.width = 7;
  gif.height = 5;
  gif.palette = Buffer(6);
  CHECK(shape_of(make_gif(gif, [](int, int) { return 0; })) == "GIF 7x5x3 RGB");
}

TEST_CASE("What is no picture, or ends in its header, has no shape") {
  CHECK(shape_of({}) == "none");
  CHECK(shape_of({'t', 'e', 'x', 't'}) == "none");
  const Buffer jpeg = make_jpeg(Image(7, 5, 3));
  CHECK(shape_of(Buffer(jpeg.begin(), jpeg.begin() + 20)) == "none");
  CHECK(shape_of(Buffer(jpeg.begin(), jpeg.end() - 3)) == "JPEG 7x5x3 RGB");
}

}  // namespace prep::image_shape_test
