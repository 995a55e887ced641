#include "lib/image/raster.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "lib/core/error.h"
#include "pictures.h"

namespace prep::raster_test {

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
  // A tile far larger than the picture.
  TiffSpec tiled{64, 64, 8, 3, 2};
  tiled.tile = 16;
  Buffer vast = make_tiff(tiled, kGradient);
  const Buffer tile_length{0x43, 0x01, 4, 0, 1, 0, 0, 0, 16, 0, 0, 0};
  const auto at = std::search(vast.begin(), vast.end(), tile_length.begin(), tile_length.end());
  REQUIRE(at != vast.end());
  at[11] = 0x70;
  CHECK(failure(vast, Format::tiff) == Code::limit);
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
  alpha.masks = {0xff00, 0xff0000, 0xff000000, 0xff};  // red in the second byte, alpha in the first
  CHECK(max_difference(decode(make_bmp(alpha,
                                       [&](int x, int y) {
                                         return std::uint32_t(
                                             kGradient(x, y, 3) | kGradient(x, y, 0) << 8 |
                                             kGradient(x, y, 1) << 16 | kGradient(x, y, 2) << 24);
                                       }),
                              Format::bmp),
                       draw(37, 23, 4, kGradient)) == 0);
  // Alpha that nobody set.
  Raster unset;
  alpha.masks = {0xff0000, 0xff00, 0xff, 0xff000000};
  const Image opaque = decode(make_bmp(alpha, bgr), Format::bmp, false, &unset);
  CHECK(max_difference(opaque, draw(37, 23, 4, [](int x, int y, int c) {
                         return c == 3 ? 255 : kGradient(x, y, c);
                       })) == 0);
  CHECK(warns(unset, "opaque"));

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

TEST_CASE("BMP colours of any number of bits", "[raster]") {
  struct Case {
    int bits;
    std::vector<std::uint32_t> masks;
  };
  const Case cases[] = {{16, {0x7c00, 0x3e0, 0x1f}},        {16, {0xf800, 0x7e0, 0x1f}},
                        {16, {0xf00, 0xf0, 0xf}},           {16, {0x3, 0xffc0, 0x4}},
                        {32, {0x3ff00000, 0xffc00, 0x3ff}}, {32, {0xffff0000, 0xff00, 0xff}}};
  for (const auto& [bits, masks] : cases) {
    const auto stored = [&, bits = bits](int x, int y) {
      const std::uint32_t v = std::uint32_t(x + 64 * y) * 2654435761u;
      return bits == 16 ? v >> 16 : v;
    };
    const Image image = decode(make_bmp({64, 16, bits, 3, 40, false, masks}, stored), Format::bmp);
    const Image expected = draw(64, 16, 3, [&, &masks = masks](int x, int y, int c) {
      const std::uint32_t lowest = masks[c] & ~(masks[c] - 1);
      return int(std::lround((stored(x, y) & masks[c]) / lowest * 255.0 / (masks[c] / lowest)));
    });
    CHECK(max_difference(image, expected) == 0);
  }
  const auto refused = [](int bits, std::vector<std::uint32_t> masks) {
    return failure(make_bmp({4, 4, bits, 3, 40, false, masks}, [](int, int) { return 0u; }),
                   Format::bmp);
  };
  CHECK(refused(32, {0xff00ff, 0xff00, 0xff}) == Code::unsupported);
  CHECK(refused(16, {0xff0000, 0xff00, 0xff}) == Code::corrupt);
  CHECK(refused(16, {0, 0, 0}) == Code::corrupt);
  CHECK(refused(24, {0xff0000, 0xff00, 0xff}) == Code::unsupported);
}

TEST_CASE("BMP palettes", "[raster]") {
  BmpSpec core{13, 5, 4, 0, 12};
  for (int i = 0; i < 16; ++i) append(core.palette, {std::uint8_t(i), 9, std::uint8_t(16 * i)});
  const Buffer rows(8 * 5, 0x1f);
  CHECK(max_difference(decode(make_bmp(core, rows), Format::bmp),
                       draw(13, 5, 3, [](int x, int, int c) {
                         const int i = x % 2 ? 15 : 1;
                         return c == 0 ? 16 * i : c == 1 ? 9 : i;
                       })) == 0);
  BmpSpec grey{4, 1, 1};
  grey.palette = {255, 255, 255, 0, 20, 20, 20, 0};
  const Image light = decode(make_bmp(grey, {0x50, 0, 0, 0}), Format::bmp);
  REQUIRE(light.channels == 1);
  CHECK(light.samples == Buffer{255, 20, 255, 20});
  // An index beyond the palette is black.
  BmpSpec shorter{2, 1, 8};
  shorter.palette = {1, 2, 3, 0};
  CHECK(decode(make_bmp(shorter, {0, 200, 0, 0}), Format::bmp).samples == Buffer{3, 2, 1, 0, 0, 0});
}

TEST_CASE("BMP runs", "[raster]") {
  BmpSpec spec{6, 3, 8, 1};
  for (int i = 0; i < 256; ++i) append(spec.palette, {std::uint8_t(i), 0, 0, 0});  // blue
  spec.palette[0] = 77;
  const auto blues = [&](const Buffer& codes, bool allow_truncated = false) {
    const Image image = decode(make_bmp(spec, codes), Format::bmp, allow_truncated);
    Buffer out;
    for (std::size_t i = 2; i < image.samples.size(); i += 3) out.push_back(image.samples[i]);
    return out;
  };
  // A run, three as they are with padding; a row left early; a jump; the end.
  const Buffer codes{3, 5, 0, 3, 6, 7, 8, 0, 0, 0, 1, 9, 0, 0, 0, 2, 2, 0, 2, 4, 0, 1};
  const Buffer expected{77, 77, 4, 4, 77, 77, 9, 77, 77, 77, 77, 77, 5, 5, 5, 6, 7, 8};
  CHECK(blues(codes) == expected);
  // What goes beyond the row or the picture is dropped.
  CHECK(blues({255, 5, 9, 6, 0, 0, 255, 7, 0, 2, 255, 0, 3, 3, 0, 0, 255, 8, 255, 9, 0, 1}) ==
        Buffer{8, 8, 8, 8, 8, 8, 7, 7, 7, 7, 7, 7, 5, 5, 5, 5, 5, 5});
  CHECK(blues({1, 5, 0, 2, 255, 255, 4, 4}) ==
        Buffer{77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 77, 5, 77, 77, 77, 77, 77});
  // The end's mark may be missing, but not pixels.
  CHECK(blues({6, 1, 0, 0, 6, 2, 0, 0, 6, 3}).front() == 3);
  for (const Buffer& bad : {Buffer{6, 1, 0, 0}, Buffer{6, 1, 0, 5, 1, 2}, Buffer{6, 1, 0, 2, 1}}) {
    CHECK(failure(make_bmp(spec, bad), Format::bmp) == Code::truncated);
  }
  CHECK(blues({2, 9}, true) == Buffer{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 0, 0, 0, 0});

  spec.bits = 4;
  spec.compression = 2;
  spec.palette.resize(16 * 4);
  CHECK(blues({5, 0x12, 0, 0, 0, 5, 0x34, 0x56, 0x70, 0, 0, 0, 6, 0x89, 0, 1}) ==
        Buffer{8, 9, 8, 9, 8, 9, 3, 4, 5, 6, 7, 77, 1, 2, 1, 2, 1, 77});
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
  const Buffer unpadded =
      make_bmp({1, 2, 24}, [](int, int y) { return std::uint32_t(0x010203 * (y + 1)); });
  CHECK(decode({unpadded.begin(), unpadded.end() - 1}, Format::bmp).samples ==
        Buffer{1, 2, 3, 2, 4, 6});
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
  }
  CHECK(failure(Buffer(file.begin(), file.begin() + 24), Format::webp, true) == Code::truncated);
  Buffer damaged = file;
  std::fill(damaged.begin() + 30, damaged.end(), 0xff);
  CHECK(failure(damaged, Format::webp) == Code::corrupt);
}

TEST_CASE("a WebP that is not whole", "[raster]") {
  const Image rgb = draw(200, 150, 3, [](int x, int y, int c) {
    return int(128 + 100 * std::sin(0.1 * x * (c + 1)) * std::cos(0.07 * y));
  });
  const Image rgba = draw(200, 150, 4, [&](int x, int y, int c) {
    return c == 3 ? 100 + x % 50 : int(rgb.at(x, y, c));
  });
  for (const Buffer& file :
       {make_webp(rgb), make_lossy_webp(rgb, 90), make_webp(rgba), make_lossy_webp(rgba, 90)}) {
    const Image whole = decode(file, Format::webp);
    Raster details;
    const Image part = decode(cut(file, 0.7), Format::webp, true, &details);
    CHECK(warns(details, "truncated"));
    REQUIRE(part.channels == whole.channels);
    for (int x = 0; x < 200; ++x) {
      for (int c = 0; c < part.channels; ++c) {
        REQUIRE(part.at(x, 5, c) == whole.at(x, 5, c));
        REQUIRE(part.at(x, 149, c) == 0);
      }
    }
  }
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

TEST_CASE("GIF of every kind", "[raster]") {
  for (const int bits : {1, 2, 4, 8}) {
    const int entries = 1 << bits;
    GifSpec spec{37, 23};
    for (int i = 0; i < entries; ++i) {
      append(spec.palette, {std::uint8_t(255 - i), std::uint8_t(3 * i), std::uint8_t(i)});
    }
    const auto index = [&](int x, int y) { return (7 * x + 5 * y + x * y) % entries; };
    const Image expected = draw(37, 23, 3, [&](int x, int y, int c) {
      return int(spec.palette[std::size_t(3 * index(x, y) + c)]);
    });
    for (const bool interlaced : {false, true}) {
      for (const bool local : {false, true}) {
        spec.interlaced = interlaced;
        spec.local_palette = local;
        CHECK(max_difference(decode(make_gif(spec, index), Format::gif), expected) == 0);
      }
    }
  }
  // So many different strings that the table of codes fills up several times.
  GifSpec noise{200, 150, Buffer(768)};
  for (int i = 0; i < 768; ++i) noise.palette[std::size_t(i)] = std::uint8_t(i / 3);
  const auto random = [](int x, int y) {
    return int(std::uint32_t(x + 200 * y) * 2654435761u >> 24);
  };
  CHECK(max_difference(decode(make_gif(noise, random), Format::gif),
                       draw(200, 150, 3, [&](int x, int y, int) { return random(x, y); })) == 0);
}

TEST_CASE("a GIF's image on its canvas", "[raster]") {
  const Buffer palette{10, 20, 30, 200, 100, 50, 0, 0, 255, 9, 9, 9};
  const auto index = [](int x, int y) { return (x + y) % 4; };
  GifSpec keyed{8, 6, palette};
  keyed.transparent = 2;
  CHECK(max_difference(decode(make_gif(keyed, index), Format::gif),
                       draw(8, 6, 4, [&](int x, int y, int c) {
                         const int i = index(x, y);
                         return i == 2 ? 0 : c == 3 ? 255 : int(palette[std::size_t(3 * i + c)]);
                       })) == 0);
  GifSpec placed{8, 6, palette, true, 2, 1, 4, 3};
  const auto on_canvas = [&](int x, int y, int c) {
    if (x < 2 || x >= 6 || y < 1 || y >= 4) return 0;
    return c == 3 ? 255 : int(palette[std::size_t(3 * index(x - 2, y - 1) + c)]);
  };
  CHECK(max_difference(decode(make_gif(placed, index), Format::gif), draw(8, 6, 4, on_canvas)) ==
        0);
  // A screen that is too small grows.
  placed.width = placed.height = 1;
  CHECK(max_difference(decode(make_gif(placed, index), Format::gif), draw(6, 4, 4, on_canvas)) ==
        0);
  Raster details;
  GifSpec animated{8, 6, palette};
  animated.images = 2;
  CHECK(decode(make_gif(animated, index), Format::gif, false, &details).channels == 3);
  CHECK(warns(details, "animated"));
}

TEST_CASE("a GIF that is not whole", "[raster]") {
  const Buffer palette{10, 20, 30, 200, 100, 50, 70, 80, 255, 9, 9, 9};
  const auto index = [](int x, int y) { return (x * y + x) % 4; };
  GifSpec spec{100, 100, palette};
  const Buffer file = make_gif(spec, index);
  for (const double part : {0.005, 0.02, 0.6, 0.95}) {
    CHECK(failure(cut(file, part), Format::gif) == Code::truncated);
  }
  CHECK(failure(cut(file, 0.02), Format::gif, true) == Code::truncated);
  Raster details;
  const Image most = decode(cut(file, 0.6), Format::gif, true, &details);
  CHECK(warns(details, "truncated"));
  CHECK(most.at(3, 5, 1) == palette[std::size_t(3 * index(3, 5) + 1)]);
  CHECK(most.at(3, 99, 1) == 0);

  Raster unended;
  spec.end = false;
  decode(make_gif(spec, index), Format::gif, false, &unended);
  CHECK(warns(unended, "end mark"));
  Raster trailing;
  Buffer longer = file;
  append(longer, Buffer(10, 7));
  decode(longer, Format::gif, false, &trailing);
  CHECK(warns(trailing, "trailing bytes"));

  Buffer damaged = file;
  damaged[13 + 12 + 10 + 20] = 0xff;
  damaged[13 + 12 + 10 + 21] = 0xff;
  damaged[13 + 12 + 10 + 22] = 0xff;
  CHECK(failure(damaged, Format::gif) == Code::corrupt);
  CHECK(failure(damaged, Format::gif, true) == Code::corrupt);
  Buffer no_palette = file;
  no_palette[10] = 0;
  no_palette.erase(no_palette.begin() + 13, no_palette.begin() + 25);
  CHECK(failure(no_palette, Format::gif) == Code::corrupt);
  CHECK(failure({'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0, 0, 0, ';'}, Format::gif) ==
        Code::corrupt);
}

}  // namespace prep::raster_test
