// Pictures made in memory for the tests, by writers that share no code with the library.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/bytes.h"

namespace prep::test {

using Buffer = std::vector<std::uint8_t>;

// 8-bit interleaved samples.
struct Image {
  Image() = default;
  Image(int w, int h, int c) : width(w), height(h), channels(c), samples(std::size_t(w) * h * c) {}

  std::uint8_t& at(int x, int y, int c = 0) {
    return samples[(std::size_t(y) * width + x) * channels + c];
  }
  std::uint8_t at(int x, int y, int c = 0) const {
    return samples[(std::size_t(y) * width + x) * channels + c];
  }

  int width = 0, height = 0, channels = 1;
  Buffer samples;
};

// f(x, y, channel) for every sample.
Image draw(int width, int height, int channels, const std::function<int(int, int, int)>& f);
Image solid(int width, int height, const std::vector<int>& color);
// The picture as it must be stored so that this EXIF orientation brings it upright again.
Image stored_as(const Image& upright, int orientation);
double mean_difference(const Image& a, const Image& b);
int max_difference(const Image& a, const Image& b);

// ---- JPEG, through libjpeg

struct JpegSpec {
  int quality = 95;
  // Sampling factors of the components, {h, v}; empty: 2x2, 1x1, 1x1 (or 1x1 for grey).
  std::vector<std::pair<int, int>> sampling = {};
  enum class Color { standard, rgb, cmyk, ycck } color = Color::standard;
  bool adobe = true;    // for rgb, cmyk and ycck: the APP14 marker (rgb without it has ids R, G, B)
  int orientation = 0;  // 0: no EXIF
  bool progressive = false;
  int restart_interval = 0;
  Buffer icc = {};
};
Buffer make_jpeg(const Image& image, const JpegSpec& spec = {});
// Grey, RGB or (as stored) CMYK, by libjpeg's defaults.
Image read_jpeg(ByteView data);
struct JpegFacts {
  int components = 0;
  std::vector<std::pair<int, int>> sampling;
  Buffer icc;
  std::optional<int> orientation;  // of an EXIF block
};
JpegFacts jpeg_facts(ByteView data);

// The payload of an EXIF block with nothing but an orientation.
Buffer exif_with(int orientation, bool big_endian = false);

// ---- PNG, by hand with zlib

Buffer png_chunk(const std::string& type, const Buffer& payload);
struct PngSpec {
  int width = 0, height = 0, bit_depth = 8, color_type = 2;
  bool interlaced = false;
  std::vector<Buffer> before_pixels = {};  // whole chunks between IHDR and IDAT
  bool end = true;
};
// sample(x, y, channel) is the value as stored, of bit_depth bits.
Buffer make_png(const PngSpec& spec, const std::function<int(int, int, int)>& sample);
Buffer make_png(const Image& image, std::vector<Buffer> before_pixels = {});
// A PNG's stored samples, unpacked, for not interlaced files; filters are undone.
struct PngFacts {
  int width = 0, height = 0, bit_depth = 0, color_type = 0;
  std::vector<int> samples;
  Buffer palette, transparency;
  std::vector<std::string> chunk_types;
  Image image() const;  // of 8-bit files
};
PngFacts read_png(ByteView data);

// ---- TIFF, BMP and GIF, by hand

struct TiffSpec {
  int width = 0, height = 0, bits = 8, samples = 3, photometric = 2;
  int extra_sample = -1;  // -1: none, else its kind
  int orientation = 0;    // 0: no tag
  int sample_format = 1;
  bool big_endian = false;
  int tile = 0;                   // 0: strips of 8 rows; else tiles of this size
  std::vector<int> palette = {};  // 3 * 2^bits values of 16 bits, red first
  Buffer icc = {};
  int next_directory = 0;
};
Buffer make_tiff(const TiffSpec& spec, const std::function<int(int, int, int)>& sample);

struct BmpSpec {
  int width = 0, height = 0, bits = 24, compression = 0, header = 40;
  bool top_down = false;
  std::vector<std::uint32_t> masks = {};
  Buffer palette = {};  // 4 bytes an entry: blue, green, red, 0; with a header of 12 bytes: 3
};
// pixel(x, y) is the value as stored, little-endian.
Buffer make_bmp(const BmpSpec& spec, const std::function<std::uint32_t(int, int)>& pixel);
Buffer make_bmp(const BmpSpec& spec, const Buffer& rows);  // as they stand in the file

struct GifSpec {
  int width = 0, height = 0;  // of the screen
  Buffer palette = {};        // 3 bytes an entry, 2^n entries
  bool local_palette = false;
  // Of the image; 0: as large as the screen.
  int left = 0, top = 0, image_width = 0, image_height = 0;
  bool interlaced = false;
  int transparent = -1;
  int images = 1;  // the same again
  bool end = true;
};
// index(x, y) counts from the image's corner.
Buffer make_gif(const GifSpec& spec, const std::function<int(int, int)>& index);

// ---- WebP, through libwebp

Buffer make_webp(const Image& image);                     // lossless, RGB or RGBA
Buffer make_lossy_webp(const Image& image, int quality);  // the same
// The chunks of a WebP behind its RIFF header.
Buffer webp_chunks(const Buffer& webp);
Buffer make_riff(const Buffer& chunks);
Buffer riff_chunk(const std::string& type, const Buffer& payload);

// ---- Profiles, through lcms

// An RGB profile of D65 white with the given xy primaries and sRGB's curve or a power.
Buffer rgb_profile(const std::vector<double>& primaries, double gamma = 0);
inline const std::vector<double> kSrgbPrimaries{0.64, 0.33, 0.30, 0.60, 0.15, 0.06};
inline const std::vector<double> kP3Primaries{0.68, 0.32, 0.265, 0.69, 0.15, 0.06};
Buffer grey_profile(double gamma);

void append(Buffer& out, const Buffer& more);
inline Bytes bytes(Buffer data) { return Bytes::take(std::move(data)); }
inline Buffer cut(const Buffer& data, double part) {
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(double(data.size()) * part)};
}

}  // namespace prep::test
