// PNGs, masks, and the other formats under their own and under wrong names.
#include <algorithm>
#include <cstdint>
#include <opencv2/imgcodecs.hpp>
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

Picture rgb_quarters() { return quarters(kWidth, kHeight, 3, kRgbCorners); }

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

// One pixel of GIF: enough to be one.
std::string tiny_gif() {
  return "GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"s;
}

std::string encoded_by_opencv(const std::string& extension, const Picture& picture,
                              const std::vector<int>& parameters = {}) {
  cv::Mat bgr(picture.height, picture.width, CV_8UC3);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const std::uint8_t* p = picture.at(x, y);
      bgr.at<cv::Vec3b>(y, x) = {p[2], p[1], p[0]};
    }
  }
  std::vector<std::uint8_t> bytes;
  if (!cv::imencode(extension, bgr, bytes, parameters)) {
    throw std::runtime_error("OpenCV cannot write " + extension);
  }
  return {bytes.begin(), bytes.end()};
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
  const std::string webp = encoded_by_opencv(".webp", picture, {cv::IMWRITE_WEBP_QUALITY, 101});
  const std::string tiff = encoded_by_opencv(".tiff", picture);
  const std::string bmp = encode_bmp(picture);
  return {
      ok("other/named-jpg-is-png.jpg", encode_png(picture)),
      ok("other/named-jpeg-is-bmp.JPEG", bmp),
      ok("other/named-png-is-jpeg.png", encode_jpeg(picture)),
      ok("other/named-JPG.JPG", encode_jpeg(picture)),
      ok("other/webp-lossless.webp", webp),
      ok("other/webp-lossy.webp",
         encoded_by_opencv(".webp", picture, {cv::IMWRITE_WEBP_QUALITY, 95})),
      ok("other/tiff.tif", tiff),
      ok("other/bmp.bmp", bmp),
      failed("other/named-jpg-is-gif.jpg", "unsupported", tiny_gif()),
      failed("other/gif.gif", "unsupported", tiny_gif()),
      failed("other/truncated-webp.webp", "truncated", webp.substr(0, webp.size() * 6 / 10)),
      failed("other/truncated-tif.tif", "truncated", tiff.substr(0, tiff.size() * 6 / 10)),
      failed("other/truncated-bmp.bmp", "truncated", bmp.substr(0, bmp.size() * 6 / 10)),
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
