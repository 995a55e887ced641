#include "lib/image/raster.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "lib/core/error.h"
#include "pictures.h"

using namespace prep;
using namespace prep::image;
using namespace prep::test;

namespace {

// Decoded and copied out of the plane.
Image decode(const Buffer& file, Format format, bool allow_truncated = false,
             Raster* details = nullptr) {
  PlaneBuffer buffer;
  const Bytes data = bytes(file);
  REQUIRE(sniff(data.view()) == format);
  const RasterInfo info = read_raster_info(data, format);
  Raster raster = decode_raster(data, format, allow_truncated, buffer);
  REQUIRE(raster.pixels.width == info.width);
  REQUIRE(raster.pixels.height == info.height);
  const Plane& p = raster.pixels;
  Image image = draw(p.width, p.height, p.channels,
                     [&](int x, int y, int c) { return p.row(y)[x * p.channels + c]; });
  if (details) *details = std::move(raster);
  return image;
}

Code failure(const Buffer& file, Format format, bool allow_truncated = false) {
  PlaneBuffer buffer;
  try {
    const Bytes data = bytes(file);
    read_raster_info(data, format);
    decode_raster(data, format, allow_truncated, buffer);
  } catch (const Error& error) {
    return error.code();
  }
  FAIL("decoded");
  return Code::internal;
}

// 16 bits to 8: what is nearest.
int scaled(int v) { return int(std::lround(v * 255.0 / 65535.0)); }

const auto kGradient = [](int x, int y, int c) { return (7 * x + 11 * y + 60 * c) % 256; };
const auto kDeep = [](int x, int y, int c) { return (4001 * x + 977 * y + 20000 * c) % 65536; };

bool warns(const Raster& raster, const std::string& text) {
  return std::any_of(raster.warnings.begin(), raster.warnings.end(),
                     [&](const std::string& w) { return w.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("PNG of every kind", "[raster]") {
  for (const bool interlaced : {false, true}) {
    for (const int type : {0, 2, 4, 6}) {
      const Image eight =
          decode(make_png({37, 23, 8, type, interlaced, {}, true}, kGradient), Format::png);
      const Image deep =
          decode(make_png({37, 23, 16, type, interlaced, {}, true}, kDeep), Format::png);
      REQUIRE(eight.channels == (type == 0 ? 1 : type == 2 ? 3 : type == 4 ? 2 : 4));
      INFO("type " << type << " interlaced " << interlaced);
      CHECK(max_difference(eight, draw(37, 23, eight.channels, kGradient)) == 0);
      CHECK(max_difference(deep, draw(37, 23, eight.channels, [](int x, int y, int c) {
                             return scaled(kDeep(x, y, c));
                           })) == 0);
    }
  }
  for (const int bits : {1, 2, 4}) {
    const auto sample = [&](int x, int y, int) { return (x + y) % (1 << bits); };
    const Image grey = decode(make_png({13, 9, bits, 0}, sample), Format::png);
    CHECK(max_difference(grey, draw(13, 9, 1, [&](int x, int y, int c) {
                           return sample(x, y, c) * 255 / ((1 << bits) - 1);
                         })) == 0);
  }
}

TEST_CASE("16 bits are scaled by rounding", "[raster]") {
  const Image all = decode(
      make_png({256, 256, 16, 0}, [](int x, int y, int) { return 256 * y + x; }), Format::png);
  for (int v = 0; v < 65536; ++v) REQUIRE(all.samples[v] == (v + 128) / 257);
}

TEST_CASE("PNG palettes and transparent colours", "[raster]") {
  const Buffer palette = png_chunk("PLTE", {10, 20, 30, 200, 100, 50, 0, 0, 255});
  const auto index = [](int x, int, int) { return x % 3; };
  const Image opaque = decode(make_png({6, 2, 8, 3, false, {palette}, true}, index), Format::png);
  REQUIRE(opaque.channels == 3);
  CHECK(opaque.at(1, 0, 0) == 200);
  CHECK(opaque.at(2, 1, 2) == 255);
  const Buffer alpha = png_chunk("tRNS", {255, 40});
  const Image faded =
      decode(make_png({6, 2, 2, 3, false, {palette, alpha}, true}, index), Format::png);
  REQUIRE(faded.channels == 4);
  CHECK(faded.at(0, 0, 3) == 255);
  CHECK(faded.at(1, 0, 3) == 40);
  CHECK(faded.at(2, 0, 3) == 255);
  // A transparent grey of 16 bits must match in all of them.
  const Buffer key = png_chunk("tRNS", {0x12, 0x34});
  const Image keyed = decode(
      make_png({2, 1, 16, 0, false, {key}, true}, [](int x, int, int) { return 0x1234 + x; }),
      Format::png);
  REQUIRE(keyed.channels == 2);
  CHECK(keyed.at(0, 0, 1) == 0);
  CHECK(keyed.at(1, 0, 1) == 255);
}

TEST_CASE("a PNG that is not whole", "[raster]") {
  const Buffer file = make_png(draw(200, 100, 3, kGradient));
  for (const double part : {0.02, 0.3, 0.6, 0.95}) {
    INFO("part " << part);
    CHECK(failure(cut(file, part), Format::png) == Code::truncated);
  }
  Buffer no_end(file.begin(), file.end() - 12);
  CHECK(failure(no_end, Format::png) == Code::truncated);

  Raster details;
  const Image most = decode(cut(file, 0.6), Format::png, true, &details);
  CHECK(warns(details, "truncated"));
  CHECK(most.at(150, 2, 1) == kGradient(150, 2, 1));
  CHECK(most.at(199, 99, 0) == 0);

  Buffer damaged = file;
  damaged[file.size() / 2] ^= 0x40;
  CHECK(failure(damaged, Format::png) == Code::corrupt);
  CHECK(failure(damaged, Format::png, true) == Code::corrupt);

  Raster trailing;
  Buffer longer = file;
  append(longer, Buffer(100, 7));
  decode(longer, Format::png, false, &trailing);
  CHECK(warns(trailing, "trailing bytes"));
}

TEST_CASE("PNG chunks that would harm", "[raster]") {
  const Image picture = draw(20, 10, 3, kGradient);
  for (const std::string type : {"iCCP", "zTXt", "iTXt", "tEXt"}) {
    Raster details;
    const Buffer file = make_png(picture, {png_chunk(type, Buffer((1 << 20) + 1, 65))});
    CHECK(max_difference(decode(file, Format::png, false, &details), picture) == 0);
    CHECK(warns(details, "a " + type + " chunk of more than 1 MB is ignored"));
    CHECK(details.icc.empty());
  }
  Raster broken;
  decode(make_png(picture, {png_chunk("iCCP", Buffer(90, 65))}), Format::png, false, &broken);
  CHECK(broken.icc.empty());
  CHECK(!broken.warnings.empty());
  CHECK(failure(make_png(picture, {png_chunk("I1!T", {})}), Format::png) == Code::corrupt);
  Raster animated;
  const Buffer apng = make_png(picture, {png_chunk("acTL", {0, 0, 0, 2, 0, 0, 0, 0})});
  CHECK(max_difference(decode(apng, Format::png, false, &animated), picture) == 0);
  CHECK(warns(animated, "animated"));
}

TEST_CASE("orientation outside of JPEG", "[raster]") {
  const Image picture = draw(20, 10, 3, kGradient);
  for (int o : {0, 1, 6, 8, 9}) {
    const int expected = o >= 1 && o <= 8 ? o : 1;
    const Buffer exif = exif_with(o, o == 6);
    CHECK(read_raster_info(bytes(make_png(picture, {png_chunk("eXIf", exif)})), Format::png)
              .orientation == expected);
    CHECK(read_raster_info(bytes(make_tiff({20, 10, 8, 3, 2, -1, o}, kGradient)), Format::tiff)
              .orientation == expected);
    Buffer chunks = riff_chunk("VP8X", {0x08, 0, 0, 0, 19, 0, 0, 9, 0, 0});
    append(chunks, webp_chunks(make_webp(picture)));
    append(chunks, riff_chunk("EXIF", exif));
    CHECK(read_raster_info(bytes(make_riff(chunks)), Format::webp).orientation == expected);
  }
}

TEST_CASE("TIFF of every kind", "[raster]") {
  const auto check = [](const TiffSpec& spec, auto sample, int channels, auto expected) {
    Raster details;
    const Image image = decode(make_tiff(spec, sample), Format::tiff, false, &details);
    INFO("photometric " << spec.photometric << " bits " << spec.bits << " samples "
                        << spec.samples);
    REQUIRE(image.channels == channels);
    CHECK(max_difference(image, draw(spec.width, spec.height, channels, expected)) == 0);
    return details.model;
  };
  const auto deep = [](int x, int y, int c) { return scaled(kDeep(x, y, c)); };
  for (const bool big : {false, true}) {
    for (const int tile : {0, 16}) {
      check({37, 23, 8, 3, 2, -1, 0, 1, big, tile}, kGradient, 3, kGradient);
      check({37, 23, 16, 3, 2, -1, 0, 1, big, tile}, kDeep, 3, deep);
      check({37, 23, 8, 1, 1, -1, 0, 1, big, tile}, kGradient, 1, kGradient);
      check({37, 23, 16, 1, 1, -1, 0, 1, big, tile}, kDeep, 1, deep);
      check({37, 23, 16, 1, 0, -1, 0, 1, big, tile}, kDeep, 1,
            [&](int x, int y, int c) { return 255 - deep(x, y, c); });
    }
  }
  // Straight alpha, alone and with grey; an extra channel that is no alpha.
  check({37, 23, 8, 4, 2, 2}, kGradient, 4, kGradient);
  check({37, 23, 8, 2, 1, 2}, kGradient, 2, kGradient);
  check({37, 23, 8, 4, 2, 0}, kGradient, 3, kGradient);
  // Premultiplied: 100 at alpha 128 was 100 * 255 / 128.
  check(
      {8, 8, 8, 4, 2, 1}, [](int, int, int c) { return c == 3 ? 128 : 100; }, 4,
      [](int, int, int c) { return c == 3 ? 128 : 199; });
  const ColorModel cmyk = check({37, 23, 8, 4, 5}, kGradient, 4,
                                [](int x, int y, int c) { return 255 - kGradient(x, y, c); });
  CHECK(cmyk == ColorModel::cmyk);
  std::vector<int> palette(3 * 256);
  for (int i = 0; i < 256; ++i) {
    palette[i] = 257 * i;
    palette[256 + i] = 257 * (255 - i);
    palette[512 + i] = 257 * (i / 2);
  }
  TiffSpec indexed{37, 23, 8, 1, 3};
  indexed.palette = palette;
  check(indexed, kGradient, 3, [](int x, int y, int c) {
    const int i = kGradient(x, y, 0);
    return c == 0 ? i : c == 1 ? 255 - i : i / 2;
  });
}

TEST_CASE("TIFF that can't be used", "[raster]") {
  CHECK(failure(make_tiff({8, 8, 16, 1, 1, -1, 0, 3}, kDeep), Format::tiff) == Code::unsupported);
  CHECK(failure(make_tiff({8, 8, 16, 1, 1, -1, 0, 2}, kDeep), Format::tiff) == Code::unsupported);
  CHECK(failure(make_tiff({8, 8, 32, 1, 1}, kDeep), Format::tiff) == Code::unsupported);
  const Buffer file = make_tiff({64, 64, 8, 3, 2}, kGradient);
  CHECK(failure(cut(file, 0.6), Format::tiff) == Code::truncated);
  CHECK(failure(cut(file, 0.001), Format::tiff) == Code::truncated);
  Raster pages;
  TiffSpec two{16, 16, 8, 3, 2};
  two.next_directory = 8;
  decode(make_tiff(two, kGradient), Format::tiff, false, &pages);
  CHECK(warns(pages, "only the first image"));
}

TEST_CASE("BMP of every kind", "[raster]") {
  const auto bgr = [](int x, int y) {
    return std::uint32_t(kGradient(x, y, 0) << 16 | kGradient(x, y, 1) << 8 | kGradient(x, y, 2));
  };
  const Image picture = draw(37, 23, 3, kGradient);
  for (const bool top_down : {false, true}) {
    CHECK(max_difference(decode(make_bmp({37, 23, 24, 0, 40, top_down}, bgr), Format::bmp),
                         picture) == 0);
    // The fourth byte of plain 32-bit pixels means nothing.
    CHECK(max_difference(decode(make_bmp({37, 23, 32, 0, 40, top_down}, bgr), Format::bmp),
                         picture) == 0);
  }
  const auto bgra = [&](int x, int y) {
    return bgr(x, y) | std::uint32_t(kGradient(x, y, 3)) << 24;
  };
  BmpSpec alpha{37, 23, 32, 3, 108, false, {0xff0000, 0xff00, 0xff, 0xff000000}};
  CHECK(max_difference(decode(make_bmp(alpha, bgra), Format::bmp), draw(37, 23, 4, kGradient)) ==
        0);
  alpha.masks[3] = 0;
  CHECK(max_difference(decode(make_bmp(alpha, bgra), Format::bmp), picture) == 0);
  alpha.masks = {0xff, 0xff00, 0xff0000, 0};
  CHECK(failure(make_bmp(alpha, bgra), Format::bmp) == Code::unsupported);

  const Image white = decode(
      make_bmp({5, 5, 16, 3, 40, false, {0xf800, 0x7e0, 0x1f}}, [](int, int) { return 0xffffu; }),
      Format::bmp);
  CHECK(max_difference(white, solid(5, 5, {255, 255, 255})) == 0);
  const Image five = decode(make_bmp({5, 5, 16}, [](int, int) { return 0x7fe0u; }), Format::bmp);
  CHECK(max_difference(five, solid(5, 5, {255, 255, 0})) == 0);

  for (const int bits : {1, 4, 8}) {
    BmpSpec indexed{40, 5, bits};
    for (int i = 0; i < 1 << bits; ++i)
      append(indexed.palette, {std::uint8_t(i), 9, std::uint8_t(255 - i), 0});
    const Image image = decode(
        make_bmp(indexed, [&](int x, int) { return unsigned(x % (1 << bits)); }), Format::bmp);
    CHECK(max_difference(image, draw(40, 5, 3, [&](int x, int, int c) {
                           const int i = x % (1 << bits);
                           return c == 0 ? 255 - i : c == 1 ? 9 : i;
                         })) == 0);
  }
}

TEST_CASE("BMP that is not whole", "[raster]") {
  const Buffer file =
      make_bmp({64, 64, 24}, [](int x, int y) { return std::uint32_t(x << 16 | y); });
  for (const double part : {0.001, 0.6, 0.99}) {
    CHECK(failure(cut(file, part), Format::bmp) == Code::truncated);
  }
  Raster details;
  const Image most = decode(cut(file, 0.6), Format::bmp, true, &details);
  CHECK(warns(details, "truncated"));
  CHECK(most.at(20, 60, 0) == 20);  // the rows are stored bottom up
  CHECK(most.at(20, 1, 0) == 0);
  Buffer huge = file;
  for (int i = 18; i < 26; ++i) huge[i] = i % 4 == 1 ? 0x7f : 0xff;
  CHECK(failure(huge, Format::bmp, true) == Code::limit);
}

TEST_CASE("WebP", "[raster]") {
  const Image rgb = draw(37, 23, 3, kGradient);
  const Image rgba =
      draw(37, 23, 4, [](int x, int y, int c) { return c == 3 ? 1 + 6 * x : kGradient(x, y, c); });
  CHECK(max_difference(decode(make_webp(rgb), Format::webp), rgb) == 0);
  CHECK(max_difference(decode(make_webp(rgba), Format::webp), rgba) == 0);
  const Image dot = solid(1, 1, {200, 100, 50});
  CHECK(max_difference(decode(make_webp(dot), Format::webp), dot) == 0);

  const Buffer file = make_webp(rgb);
  for (const double part : {0.1, 0.6, 0.95}) {
    CHECK(failure(cut(file, part), Format::webp) == Code::truncated);
    CHECK(failure(cut(file, part), Format::webp, true) == Code::truncated);
  }
  Buffer damaged = file;
  std::fill(damaged.begin() + 30, damaged.end(), 0xff);
  CHECK(failure(damaged, Format::webp) == Code::corrupt);
}

TEST_CASE("the first frame of an animated WebP", "[raster]") {
  const Image frame = draw(20, 10, 3, kGradient);
  const auto animation = [&](int canvas_width, int canvas_height, int x, int y) {
    Buffer payload{
        std::uint8_t(x / 2), 0, 0, std::uint8_t(y / 2), 0, 0, 19, 0, 0, 9, 0, 0, 100, 0, 0, 0};
    append(payload, webp_chunks(make_webp(frame)));
    Buffer chunks = riff_chunk("VP8X", {0x02, 0, 0, 0, std::uint8_t(canvas_width - 1), 0, 0,
                                        std::uint8_t(canvas_height - 1), 0, 0});
    append(chunks, riff_chunk("ANIM", Buffer(6)));
    append(chunks, riff_chunk("ANMF", payload));
    append(chunks, riff_chunk("ANMF", payload));
    return make_riff(chunks);
  };
  Raster details;
  CHECK(max_difference(decode(animation(20, 10, 0, 0), Format::webp, false, &details), frame) == 0);
  CHECK(warns(details, "animated"));
  const Image placed = decode(animation(30, 20, 4, 6), Format::webp);
  CHECK(max_difference(placed, draw(30, 20, 4, [&](int x, int y, int c) {
                         const bool inside = x >= 4 && x < 24 && y >= 6 && y < 16;
                         return !inside ? 0 : c == 3 ? 255 : int(frame.at(x - 4, y - 6, c));
                       })) == 0);
  CHECK(failure(animation(10, 10, 4, 6), Format::webp) == Code::corrupt);
}
