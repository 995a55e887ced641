// PNGs, masks, and the other formats under their own and under wrong names.
#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tests/data/byte_string.h"
#include "tests/data/jpeg_writer.h"
#include "tests/data/metadata.h"
#include "tests/data/odd_image.h"
#include "tests/data/png_writer.h"

namespace prep::testdata {
namespace {

using namespace std::string_literals;

constexpr Colour kWhite = {255, 255, 255};

std::string palette_chunk(const Corners& corners) {
  std::string entries;
  for (const Colour& colour : corners) {
    for (int i = 0; i < 3; ++i) entries += static_cast<char>(colour[i]);
  }
  return png_chunk("PLTE", entries);
}

int quarter_of(int x, int y) { return (2 * y >= kHeight ? 2 : 0) + (2 * x >= kWidth ? 1 : 0); }

// Quarter q has sample value `values[q]`; samples of 1 to 16 bits, packed as PNG wants them.
std::string packed_png(const PngOptions& options, const std::array<int, 4>& values) {
  return encode_png(kWidth, kHeight, options, [&](int y) {
    std::string row((static_cast<std::size_t>(kWidth) * options.depth + 7) / 8, '\0');
    for (int x = 0; x < kWidth; ++x) {
      for (int bit = 0; bit < options.depth; ++bit) {
        const int at = x * options.depth + bit;
        const int value = values[quarter_of(x, y)] >> (options.depth - 1 - bit) & 1;
        row[at / 8] = static_cast<char>(row[at / 8] | value << (7 - at % 8));
      }
    }
    return row;
  });
}

Corners greys(const std::array<int, 4>& values) {
  Corners corners{};
  for (int i = 0; i < 4; ++i) {
    const auto value = static_cast<std::uint8_t>(values[i]);
    corners[i] = {value, value, value};
  }
  return corners;
}

// `colour` at `alpha` over white.
Colour over_white(const Colour& colour, int alpha) {
  Colour result{};
  for (int i = 0; i < 3; ++i) {
    result[i] = static_cast<std::uint8_t>((colour[i] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
  return result;
}

constexpr std::array<int, 4> kAlphas = {255, 128, 64, 0};

Corners all_over_white(const Corners& corners) {
  Corners result;
  for (int i = 0; i < 4; ++i) result[i] = over_white(corners[i], kAlphas[i]);
  return result;
}

// The alpha is the last channel; what is hidden under alpha 0 must not bleed in.
Picture with_alpha(int channels, Corners corners) {
  for (int i = 0; i < 4; ++i) {
    corners[i][channels - 1] = static_cast<std::uint8_t>(kAlphas[i]);
  }
  return quarters(kWidth, kHeight, channels, corners);
}

OddImages alpha_pngs() {
  const std::array<int, 4> levels = {40, 100, 160, 220};
  const std::string alphas(kAlphas.begin(), kAlphas.end());
  const Colour& key = kRgbCorners[2];
  const char key_samples[] = {0, static_cast<char>(key[0]), 0, static_cast<char>(key[1]),
                              0, static_cast<char>(key[2])};
  const std::string key_chunk = png_chunk("tRNS", {key_samples, sizeof(key_samples)});
  Corners without_key = kRgbCorners;
  without_key[2] = kWhite;
  return {
      ok("png/alpha.png", encode_png(with_alpha(4, kRgbCorners)), all_over_white(kRgbCorners)),
      ok("png/alpha-16.png", encode_png16(with_alpha(4, kRgbCorners), 0),
         all_over_white(kRgbCorners)),
      ok("png/alpha-grey.png", encode_png(with_alpha(2, greys(levels))),
         all_over_white(greys(levels))),
      ok("png/alpha-palette.png",
         packed_png({PngColour::palette, 2, palette_chunk(kRgbCorners) + png_chunk("tRNS", alphas)},
                    {0, 1, 2, 3}),
         all_over_white(kRgbCorners)),
      ok("png/alpha-key.png", encode_png(rgb_quarters(), key_chunk), without_key),
  };
}

OddImages depth_pngs() {
  const std::array<int, 4> levels = {40, 100, 160, 220};
  return {
      ok("png/rgb.png", encode_png(rgb_quarters())),
      ok("png/rgb-16.png", encode_png16(rgb_quarters(), 100)),
      ok("png/grey-16.png", encode_png16(quarters(kWidth, kHeight, 1, greys(levels)), 100),
         greys(levels)),
      ok("png/grey-1.png", packed_png({PngColour::grey, 1, ""}, {0, 1, 1, 0}),
         greys({0, 255, 255, 0})),
      ok("png/grey-4.png", packed_png({PngColour::grey, 4, ""}, {2, 5, 9, 14}),
         greys({2 * 17, 5 * 17, 9 * 17, 14 * 17})),
      ok("png/palette-8.png",
         packed_png({PngColour::palette, 8, palette_chunk(kRgbCorners)}, {0, 1, 2, 3})),
      ok("png/palette-2.png",
         packed_png({PngColour::palette, 2, palette_chunk(kRgbCorners)}, {0, 1, 2, 3})),
  };
}

OddImages chunk_pngs() {
  const std::string megabytes(2'000'000, '\0');
  const std::string p3 = display_p3_profile();
  const Picture turned = stored_as(rgb_quarters(), 6);
  return {
      warning(ok("png/huge-profile.png",
                 encode_png(rgb_quarters(), png_deflated_chunk("iCCP", "huge", megabytes)))),
      ok("png/huge-text.png",
         encode_png(rgb_quarters(), png_deflated_chunk("zTXt", "Comment", megabytes))),
      ok("png/icc-display-p3.png", encode_png(rgb_quarters(), png_deflated_chunk("iCCP", "P3", p3)),
         to_srgb(p3, kRgbCorners)),
      ok("png/exif-turned.png", encode_png(turned, png_chunk("eXIf", exif_tiff(6)))),
      ok("png/small.png", encode_png(quarters(40, 30, 3, kRgbCorners)), 40, 30),
  };
}

OddImages bad_pngs() {
  const std::string png = encode_png(photo(kWidth, kHeight, 5));
  std::string damaged = png;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  return {
      failed("png/truncated.png", "truncated", png.substr(0, png.size() * 6 / 10)),
      failed("png/bad-checksum.png", "corrupt", damaged),
      failed("png/png-signature-only.png", "truncated", png.substr(0, 8)),
  };
}

// 24 bits a pixel, bottom up, BGR; rows are whole multiples of four bytes at this width.
std::string encode_bmp(const Picture& picture) {
  static_assert(kWidth * 3 % 4 == 0);
  std::string pixels;
  for (int y = picture.height - 1; y >= 0; --y) {
    for (int x = 0; x < picture.width; ++x) {
      const std::uint8_t* p = picture.at(x, y);
      pixels += {static_cast<char>(p[2]), static_cast<char>(p[1]), static_cast<char>(p[0])};
    }
  }
  const auto size = static_cast<std::uint32_t>(pixels.size());
  return "BM" + little_endian(54 + size, 4) + little_endian(0, 4) + little_endian(54, 4) +
         little_endian(40, 4) + little_endian(picture.width, 4) + little_endian(picture.height, 4) +
         little_endian(1, 2) + little_endian(24, 2) + little_endian(0, 4) + little_endian(size, 4) +
         little_endian(2835, 4) + little_endian(2835, 4) + little_endian(0, 8) + pixels;
}

struct GifOptions {
  int transparent = -1;  // a quarter
  int images = 1;
};

// One image of four flat quarters, whose indices are the quarters' numbers. Every code stands for
// one pixel: the table is cleared before codes would grow.
std::string gif_image(const GifOptions& options) {
  constexpr unsigned kBits = 7, kClear = 1 << kBits, kEnd = kClear + 1;
  std::string codes;
  unsigned pending = 0, count = 0;
  const auto put = [&](unsigned code) {
    pending |= code << count;
    for (count += kBits + 1; count >= 8; count -= 8, pending >>= 8) {
      codes += static_cast<char>(pending & 0xff);
    }
  };
  for (int i = 0; i < kWidth * kHeight; ++i) {
    if (i % (static_cast<int>(kClear) - 2) == 0) put(kClear);
    put(static_cast<unsigned>(quarter_of(i % kWidth, i / kWidth)));
  }
  put(kEnd);
  std::string image;
  if (options.transparent >= 0) {
    image += "!\xf9\x04\x01\0\0"s + static_cast<char>(options.transparent) + "\0"s;
  }
  image += "," + little_endian(0, 4) + little_endian(kWidth, 2) + little_endian(kHeight, 2) +
           "\0"s + static_cast<char>(kBits);
  for (std::size_t at = 0; at < codes.size(); at += 255) {
    const std::string block = codes.substr(at, 255);
    image += static_cast<char>(block.size()) + block;
  }
  return image + "\0"s;
}

std::string encode_gif(const GifOptions& options = {}) {
  std::string gif = "GIF89a" + little_endian(kWidth, 2) + little_endian(kHeight, 2) + "\x81\0\0"s;
  for (const Colour& colour : kRgbCorners) {
    for (int i = 0; i < 3; ++i) gif += static_cast<char>(colour[i]);
  }
  for (int i = 0; i < options.images; ++i) gif += gif_image(options);
  return gif + ";";
}

// One strip of RGB, deflated; the directory comes first.
std::string encode_tiff(const Picture& picture) {
  uLongf size = compressBound(picture.pixels.size());
  std::string strip(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(strip.data()), &size, picture.pixels.data(),
               picture.pixels.size()) != Z_OK) {
    throw std::runtime_error("zlib cannot compress");
  }
  strip.resize(size);
  struct Tag {
    unsigned number, type, count, value;
  };
  constexpr unsigned kShort = 3, kLong = 4, kTags = 9;
  constexpr unsigned kDepths = 8 + 2 + 12 * kTags + 4, kStrip = kDepths + 6;
  const auto width = static_cast<unsigned>(picture.width);
  const auto height = static_cast<unsigned>(picture.height);
  const std::array<Tag, kTags> tags{{{256, kLong, 1, width},
                                     {257, kLong, 1, height},
                                     {258, kShort, 3, kDepths},
                                     {259, kShort, 1, 8},  // Deflate
                                     {262, kShort, 1, 2},  // RGB
                                     {273, kLong, 1, kStrip},
                                     {277, kShort, 1, 3},
                                     {278, kLong, 1, height},
                                     {279, kLong, 1, static_cast<unsigned>(size)}}};
  std::string tiff = "II*\0"s + little_endian(8, 4) + little_endian(kTags, 2);
  for (const Tag& tag : tags) {
    tiff += little_endian(tag.number, 2) + little_endian(tag.type, 2) +
            little_endian(tag.count, 4) + little_endian(tag.value, 4);
  }
  tiff += little_endian(0, 4);
  for (int i = 0; i < 3; ++i) tiff += little_endian(8, 2);
  return tiff + strip;
}

std::string take_webp(std::uint8_t* data, std::size_t size) {
  if (!data) throw std::runtime_error("libwebp cannot encode");
  std::string webp(data, data + size);
  WebPFree(data);
  return webp;
}

std::string encode_webp(const Picture& rgb) {
  std::uint8_t* data = nullptr;
  const std::size_t size =
      WebPEncodeLosslessRGB(rgb.pixels.data(), rgb.width, rgb.height, 3 * rgb.width, &data);
  return take_webp(data, size);
}

std::string encode_lossy_webp(const Picture& rgb, float quality) {
  std::uint8_t* data = nullptr;
  const std::size_t size =
      WebPEncodeRGB(rgb.pixels.data(), rgb.width, rgb.height, 3 * rgb.width, quality, &data);
  return take_webp(data, size);
}

// A mask: a part of the sample whose picture is beside it.
void add_mask(OddImages& images, const std::string& name, std::string png) {
  images.push_back(ok("masks/" + name + ".jpg", encode_jpeg(rgb_quarters())));
  OddImage mask = ok("masks/" + name + ".mask.png", std::move(png), kWidth, kHeight);
  mask.verdict = "mask";
  images.push_back(std::move(mask));
}

}  // namespace

OddImages pngs() {
  OddImages all = alpha_pngs();
  for (OddImages group : {depth_pngs(), chunk_pngs(), bad_pngs()}) {
    for (OddImage& image : group) all.push_back(std::move(image));
  }
  return all;
}

OddImages other_rasters() {
  const Picture picture = rgb_quarters();
  const std::string webp = encode_webp(picture);
  const std::string tiff = encode_tiff(picture);
  const std::string bmp = encode_bmp(picture);
  const std::string gif = encode_gif();
  Corners without_last = kRgbCorners;
  without_last[3] = kWhite;
  return {
      ok("other/named-jpg-is-png.jpg", encode_png(picture)),
      ok("other/named-jpeg-is-bmp.JPEG", bmp),
      ok("other/named-png-is-jpeg.png", encode_jpeg(picture)),
      ok("other/named-JPG.JPG", encode_jpeg(picture)),
      ok("other/webp-lossless.webp", webp),
      ok("other/webp-lossy.webp", encode_lossy_webp(picture, 95)),
      ok("other/tiff.tif", tiff),
      ok("other/bmp.bmp", bmp),
      ok("other/named-jpg-is-gif.jpg", gif),
      ok("other/gif.gif", gif),
      ok("other/gif-transparent.gif", encode_gif({3, 1}), without_last),
      warning(ok("other/gif-animated.gif", encode_gif({-1, 3}))),
      failed("other/truncated-webp.webp", "truncated", webp.substr(0, webp.size() * 6 / 10)),
      failed("other/truncated-tif.tif", "truncated", tiff.substr(0, tiff.size() * 6 / 10)),
      failed("other/truncated-bmp.bmp", "truncated", bmp.substr(0, bmp.size() * 6 / 10)),
      failed("other/truncated-gif.gif", "truncated", gif.substr(0, gif.size() * 6 / 10)),
      failed("other/heic.heic", "unsupported",
             "\0\0\0\x18"s + "ftypheic" + "\0\0\0\0"s + "mif1heic"),
      failed("other/avif.avif", "unsupported",
             "\0\0\0\x18"s + "ftypavif" + "\0\0\0\0"s + "mif1avif"),
      failed("other/jpeg-xl.jxl", "unsupported", "\xff\x0a" + std::string(40, '\x11')),
  };
}

OddImages masks() {
  OddImages images;
  const std::string palette = palette_chunk(kRgbCorners);
  const std::string two_colours = png_chunk("PLTE", {"\0\0\0\xff\x80\0", 6});
  add_mask(images, "palette-1", packed_png({PngColour::palette, 1, two_colours}, {0, 1, 1, 0}));
  add_mask(images, "palette-4", packed_png({PngColour::palette, 4, palette}, {0, 1, 2, 3}));
  add_mask(images, "palette-8", packed_png({PngColour::palette, 8, palette}, {3, 2, 1, 0}));
  add_mask(images, "grey-1", packed_png({PngColour::grey, 1, ""}, {1, 0, 0, 1}));
  add_mask(images, "grey-8", packed_png({PngColour::grey, 8, ""}, {0, 7, 19, 255}));
  add_mask(images, "grey-16", packed_png({PngColour::grey, 16, ""}, {0, 256, 1001, 65535}));
  return images;
}

}  // namespace prep::testdata
