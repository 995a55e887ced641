#include "lib/image/planar_jpeg.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "lib/core/error.h"

// jpeglib.h needs FILE.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace prep::image::planar_jpeg_test {
namespace {

using Samples = std::vector<std::uint8_t>;
using Sampling = std::vector<std::pair<int, int>>;

// Smooth, with an edge, so that shifts and mix-ups show and JPEG loses little.
int value_at(int x, int y, int c) {
  const double wave = 60 * std::sin(x / 9.0 + c) + 50 * std::cos(y / (7.0 + c));
  return std::clamp(static_cast<int>(128 + wave + (x > 2 * y ? 12 : 0)), 0, 255);
}

// What the writer below is to do otherwise than libjpeg by default.
struct Writing {
  int components = 3;
  Sampling sampling = {{2, 2}, {1, 1}, {1, 1}};
  int quality = 95;
  J_COLOR_SPACE in = JCS_YCbCr, stored = JCS_YCbCr;
  std::function<void(jpeg_compress_struct&)> adjust = [](jpeg_compress_struct&) {};
};

// A JPEG straight from libjpeg: channel c of pixel (x, y) is value_at(x, y, c).
Samples write_jpeg(int width, int height, const Writing& how = {}) {
  jpeg_compress_struct cinfo;
  jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  unsigned char* block = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&cinfo, &block, &size);
  cinfo.image_width = static_cast<JDIMENSION>(width);
  cinfo.image_height = static_cast<JDIMENSION>(height);
  cinfo.input_components = how.components;
  cinfo.in_color_space = how.components == 1 ? JCS_GRAYSCALE : how.in;
  jpeg_set_defaults(&cinfo);
  if (how.components > 1) jpeg_set_colorspace(&cinfo, how.stored);
  jpeg_set_quality(&cinfo, how.quality, TRUE);
  for (int i = 0; i < std::min(how.components, static_cast<int>(how.sampling.size())); ++i) {
    cinfo.comp_info[i].h_samp_factor = how.sampling[static_cast<std::size_t>(i)].first;
    cinfo.comp_info[i].v_samp_factor = how.sampling[static_cast<std::size_t>(i)].second;
  }
  how.adjust(cinfo);
  jpeg_start_compress(&cinfo, TRUE);
  Samples row(static_cast<std::size_t>(width) * how.components);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < how.components; ++c) {
        row[static_cast<std::size_t>(x * how.components + c)] =
            static_cast<std::uint8_t>(value_at(x, y, c));
      }
    }
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&cinfo, &pointer, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  Samples result(block, block + size);
  std::free(block);
  return result;
}

void progressive(jpeg_compress_struct& cinfo) { jpeg_simple_progression(&cinfo); }
void restarts(jpeg_compress_struct& cinfo) { cinfo.restart_interval = 4; }

// One decode with all that belongs to it.
struct Decoded {
  explicit Decoded(const Samples& file, const DecodeOptions& options = {}) {
    const Bytes data = Bytes::copy(file);
    info = read_jpeg_info(data, 100);
    if (is_planar(info)) {
      planes = decode_planes(data, info, options, scratch, warnings);
    } else {
      pixels = decode_interleaved(data, info, options, interleaved, warnings);
    }
  }
  JpegInfo info;
  Planes planes;
  Plane pixels;
  PlanarScratch scratch;
  PlaneBuffer interleaved;
  std::vector<std::string> warnings;
};

Code failure(const Samples& file, const DecodeOptions& options = {}) {
  try {
    const Decoded decoded(file, options);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

// The mean distance between a plane and what was written, averaged over what each sample covers.
double mean_error(const Planes& planes, int i) {
  const auto k = static_cast<std::size_t>(i);
  const Plane& plane = planes.plane[k];
  double sum = 0;
  for (int y = 0; y < plane.height; ++y) {
    for (int x = 0; x < plane.width; ++x) {
      const int x1 = static_cast<int>((x + 1) * planes.step_x[k]);
      const int y1 = static_cast<int>((y + 1) * planes.step_y[k]);
      double mean = 0;
      int count = 0;
      for (int v = static_cast<int>(y * planes.step_y[k]); v < y1; ++v) {
        for (int u = static_cast<int>(x * planes.step_x[k]); u < x1; ++u, ++count) {
          mean += value_at(std::min(u, planes.image_width - 1),
                           std::min(v, planes.image_height - 1), i);
        }
      }
      sum += std::fabs(plane.row(y)[x] - mean / count);
    }
  }
  return sum / (plane.width * plane.height);
}

Planes make_planes(int width, int height, int count, bool half, PlanarScratch& scratch) {
  Planes planes;
  planes.count = count;
  planes.image_width = width;
  planes.image_height = height;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const int by = half && i > 0 ? 2 : 1;
    planes.plane[k] = scratch.planes[k].shape((width + by - 1) / by, (height + by - 1) / by);
    planes.step_x[k] = planes.step_y[k] = by;
    for (int y = 0; y < planes.plane[k].height; ++y) {
      for (int x = 0; x < planes.plane[k].width; ++x) {
        planes.plane[k].row(y)[x] = static_cast<std::uint8_t>(value_at(x * by, y * by, i));
      }
    }
  }
  return planes;
}

double mean_difference(const Plane& a, const Plane& b) {
  REQUIRE(a.width == b.width);
  REQUIRE(a.height == b.height);
  double sum = 0;
  for (int y = 0; y < a.height; ++y) {
    for (int x = 0; x < a.width; ++x) sum += std::abs(a.row(y)[x] - b.row(y)[x]);
  }
  return sum / (a.width * a.height);
}

std::size_t find(const Samples& file, int marker) {
  for (std::size_t i = 0; i + 1 < file.size(); ++i) {
    if (file[i] == 0xFF && file[i + 1] == marker) return i;
  }
  FAIL("no such marker");
  return 0;
}

TEST_CASE("Planes of every sampling come out at their own resolution") {
  const auto [sampling, step_x, step_y] =
      GENERATE(table<Sampling, int, int>({{Sampling{{1, 1}, {1, 1}, {1, 1}}, 1, 1},
                                          {Sampling{{2, 1}, {1, 1}, {1, 1}}, 2, 1},
                                          {Sampling{{1, 2}, {1, 1}, {1, 1}}, 1, 2},
                                          {Sampling{{2, 2}, {1, 1}, {1, 1}}, 2, 2},
                                          {Sampling{{2, 1}, {2, 1}, {2, 1}}, 1, 1},
                                          {Sampling{{2, 2}, {1, 2}, {1, 2}}, 2, 1}}));
  const auto [width, height] =
      GENERATE(table<int, int>({{48, 32}, {47, 33}, {1, 1}, {17, 1}, {3, 50}}));
  Writing how;
  how.sampling = sampling;
  const Decoded decoded(write_jpeg(width, height, how));
  REQUIRE(decoded.planes.count == 3);
  CHECK(decoded.planes.image_width == width);
  CHECK(decoded.planes.image_height == height);
  CHECK(decoded.planes.step_x[0] == 1);
  CHECK(decoded.planes.step_y[0] == 1);
  CHECK(decoded.planes.plane[0].width == width);
  CHECK(decoded.planes.plane[0].height == height);
  for (std::size_t i : {1u, 2u}) {
    CHECK(decoded.planes.step_x[i] == step_x);
    CHECK(decoded.planes.step_y[i] == step_y);
    CHECK(decoded.planes.plane[i].width == (width + step_x - 1) / step_x);
    CHECK(decoded.planes.plane[i].height == (height + step_y - 1) / step_y);
  }
  for (int i = 0; i < 3; ++i) CHECK(mean_error(decoded.planes, i) < 2.5);
  CHECK(decoded.warnings.empty());
}

TEST_CASE("Scaled decoding says what its planes cover") {
  const int denominator = GENERATE(1, 2, 4, 8);
  for (const auto& [width, height] : {std::pair{160, 96}, std::pair{161, 99}}) {
    const Decoded decoded(write_jpeg(width, height), {denominator, false});
    for (int i = 0; i < 3; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double step_x = decoded.planes.step_x[k], step_y = decoded.planes.step_y[k];
      CHECK(decoded.planes.plane[k].width == std::ceil(width / step_x));
      CHECK(decoded.planes.plane[k].height == std::ceil(height / step_y));
      CHECK(mean_error(decoded.planes, i) < 3);
    }
    CHECK(decoded.planes.step_x[0] == denominator);
    // libjpeg gives chroma the larger transform rather than leaving it smaller than luma.
    CHECK(decoded.planes.step_x[1] == std::max(denominator, 2));
  }
}

TEST_CASE("Grey, also with sampling factors of its own") {
  const Sampling sampling = GENERATE(Sampling{{1, 1}}, Sampling{{2, 2}}, Sampling{{1, 2}});
  Writing how;
  how.components = 1;
  how.sampling = sampling;
  for (const int height : {8, 9, 16, 23, 40}) {
    const Decoded decoded(write_jpeg(37, height, how));
    REQUIRE(decoded.planes.count == 1);
    CHECK(decoded.planes.plane[0].width == 37);
    CHECK(decoded.planes.plane[0].height == height);
    CHECK(decoded.planes.step_x[0] == 1);
    CHECK(decoded.planes.step_y[0] == 1);
    CHECK(mean_error(decoded.planes, 0) < 1.5);
  }
}

TEST_CASE("Progressive, arithmetic, restarts and scans of one component decode the same") {
  const Decoded baseline(write_jpeg(70, 50));
  const std::vector<std::function<void(jpeg_compress_struct&)>> ways = {
      progressive, restarts, [](jpeg_compress_struct& cinfo) { cinfo.arith_code = TRUE; },
      [](jpeg_compress_struct& cinfo) {
        static const jpeg_scan_info scans[] = {
            {1, {0}, 0, 63, 0, 0}, {1, {1}, 0, 63, 0, 0}, {1, {2}, 0, 63, 0, 0}};
        cinfo.scan_info = scans;
        cinfo.num_scans = 3;
      }};
  for (const auto& way : ways) {
    Writing how;
    how.adjust = way;
    const Decoded decoded(write_jpeg(70, 50, how));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(mean_difference(decoded.planes.plane[i], baseline.planes.plane[i]) == 0);
    }
    CHECK(decoded.warnings.empty());
  }
}

TEST_CASE("What is planar and what is not") {
  const auto planar = [](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& sampling) {
    JpegInfo info;
    info.color = sampling.size() == 1 ? JpegColor::grey : JpegColor::ycc;
    for (const auto& [h, v] : sampling) info.components.push_back({0, h, v, 0});
    return is_planar(info);
  };
  CHECK(planar({{1, 1}}));
  CHECK(planar({{2, 2}}));
  CHECK(planar({{1, 1}, {1, 1}, {1, 1}}));
  CHECK(planar({{4, 2}, {2, 2}, {2, 2}}));
  CHECK(planar({{2, 2}, {1, 1}, {1, 1}}));
  CHECK(planar({{2, 2}, {2, 1}, {1, 1}}));
  CHECK_FALSE(planar({{4, 1}, {1, 1}, {1, 1}}));
  CHECK_FALSE(planar({{2, 4}, {1, 1}, {1, 1}}));
  CHECK_FALSE(planar({{1, 1}, {1, 2}, {1, 2}}));
  CHECK_FALSE(planar({{1, 1}, {2, 2}, {1, 1}}));
  CHECK_FALSE(planar({{3, 1}, {2, 1}, {2, 1}}));
  JpegInfo info;
  info.color = JpegColor::grey;
  info.components.resize(1);
  CHECK(is_planar(info));
  info.precision = 12;
  CHECK_FALSE(is_planar(info));
  info.precision = 8;
  info.lossless = true;
  CHECK_FALSE(is_planar(info));
}

TEST_CASE("Odd samplings decode to RGB") {
  const Sampling sampling =
      GENERATE(Sampling{{4, 1}, {1, 1}, {1, 1}}, Sampling{{2, 4}, {1, 1}, {1, 1}},
               Sampling{{1, 1}, {1, 2}, {1, 2}});
  Writing how;
  how.in = JCS_RGB;
  how.sampling = sampling;
  const Decoded decoded(write_jpeg(45, 31, how));
  REQUIRE(decoded.pixels.channels == 3);
  CHECK(decoded.pixels.width == 45);
  CHECK(decoded.pixels.height == 31);
  double sum = 0;
  for (int y = 0; y < 31; ++y) {
    for (int x = 0; x < 45; ++x) {
      for (int c = 0; c < 3; ++c) {
        sum += std::abs(decoded.pixels.row(y)[x * 3 + c] - value_at(x, y, c));
      }
    }
  }
  CHECK(sum / (45 * 31 * 3) < 8);
}

TEST_CASE("RGB files are not taken for YCbCr") {
  Writing how;
  how.in = how.stored = JCS_RGB;
  how.sampling = {{1, 1}, {1, 1}, {1, 1}};
  const Decoded decoded(write_jpeg(24, 16, how));
  REQUIRE(decoded.pixels.channels == 3);
  for (int c = 0; c < 3; ++c) {
    CHECK(std::abs(decoded.pixels.row(7)[3 * 9 + c] - value_at(9, 7, c)) < 10);
  }
}

TEST_CASE("CMYK and YCCK come as stored, inverted where Adobe inverts") {
  Writing how;
  how.components = 4;
  how.sampling = {};
  how.in = JCS_CMYK;
  how.stored = GENERATE(JCS_CMYK, JCS_YCCK);
  const Decoded decoded(write_jpeg(24, 16, how), {2, false});
  CHECK(decoded.info.color == (how.stored == JCS_CMYK ? JpegColor::cmyk : JpegColor::ycck));
  REQUIRE(decoded.pixels.channels == 4);
  CHECK(decoded.pixels.width == 12);
  CHECK(decoded.pixels.height == 8);
  for (int c = 0; c < 4; ++c) {
    CHECK(std::abs(decoded.pixels.row(4)[4 * 5 + c] - value_at(10, 8, c)) < 20);
  }
}

TEST_CASE("A file cut short is truncated, or grey where the rest was, as asked") {
  Writing how;
  how.adjust = GENERATE(
      +[](jpeg_compress_struct&) {}, +progressive, +restarts);
  const Samples whole = write_jpeg(200, 150, how);
  for (const double part : {0.5, 0.8, 0.95}) {
    Samples cut = whole;
    cut.resize(static_cast<std::size_t>(part * static_cast<double>(whole.size())));
    INFO("cut to " << cut.size() << " of " << whole.size());
    CHECK(failure(cut) == Code::truncated);
    cut.push_back(0xFF);
    cut.push_back(0xD9);  // what some recovery programs do
    CHECK((failure(cut) == Code::truncated || failure(cut) == Code::corrupt));
  }
}

TEST_CASE("A truncated file that is allowed keeps what it has") {
  for (const bool several_scans : {false, true}) {
    Writing how;
    if (several_scans) how.adjust = progressive;
    Samples file = write_jpeg(200, 150, how);
    const Decoded whole(file);
    file.resize(file.size() * 3 / 4);
    const Decoded decoded(file, {1, true});
    REQUIRE(decoded.planes.plane[0].height == 150);
    REQUIRE(decoded.warnings.size() == 1);
    CHECK(decoded.warnings[0].substr(0, 9) == "truncated");
    CHECK(std::equal(decoded.planes.plane[0].row(20), decoded.planes.plane[0].row(20) + 200,
                     whole.planes.plane[0].row(20)) != several_scans);
    CHECK(mean_difference(decoded.planes.plane[0], whole.planes.plane[0]) > 0.1);
  }
}

TEST_CASE("Only the end marker missing is a warning") {
  for (const bool several_scans : {false, true}) {
    Writing how;
    if (several_scans) how.adjust = progressive;
    Samples file = write_jpeg(64, 48, how);
    file.resize(file.size() - 2);
    const Decoded decoded(file);
    REQUIRE(decoded.warnings.size() == 1);
    CHECK(decoded.warnings[0] == "the end marker is missing");
    const Decoded whole(write_jpeg(64, 48, how));
    CHECK(mean_difference(decoded.planes.plane[0], whole.planes.plane[0]) == 0);
  }
}

TEST_CASE("A progressive file that ends between two scans is truncated") {
  Writing how;
  how.adjust = progressive;
  Samples file = write_jpeg(64, 48, how);
  std::size_t at = file.size();
  while (!(file[at - 2] == 0xFF && file[at - 1] == 0xC4)) --at;
  file.resize(at - 2);
  CHECK(failure(file) == Code::truncated);
}

TEST_CASE("A deleted restart marker costs its interval and a warning") {
  Writing how;
  how.adjust = restarts;
  Samples file = write_jpeg(128, 96, how);
  const Decoded whole(file);
  const std::size_t at = find(file, 0xD3);
  file.erase(file.begin() + static_cast<std::ptrdiff_t>(at),
             file.begin() + static_cast<std::ptrdiff_t>(at) + 2);
  const Decoded decoded(file);
  CHECK_FALSE(decoded.warnings.empty());
  const double difference = mean_difference(decoded.planes.plane[0], whole.planes.plane[0]);
  CHECK(difference > 0);
  CHECK(difference < 12);
  const int last = decoded.planes.plane[0].height - 1;
  CHECK(std::equal(decoded.planes.plane[0].row(last), decoded.planes.plane[0].row(last) + 128,
                   whole.planes.plane[0].row(last)));
}

TEST_CASE("Damage to the image data is found where libjpeg can see it") {
  const Samples whole = write_jpeg(160, 120);
  const std::size_t data = find(whole, 0xDA) + 14;
  // An end marker in the middle, and a stretch of ones, which is no code.
  Samples ended = whole;
  ended[data + 900] = 0xFF;
  ended[data + 901] = 0xD9;
  CHECK(failure(ended) == Code::truncated);
  Samples marked = whole;
  marked[data + 900] = 0xFF;
  marked[data + 901] = 0xC0;
  CHECK(failure(marked) == Code::corrupt);
}

TEST_CASE("Harmless oddities are warnings") {
  const Samples plain = write_jpeg(64, 48);
  SECTION("bytes before the end marker") {
    Samples file = plain;
    file.insert(file.end() - 2, {1, 2, 3, 4, 5});
    const Decoded decoded(file);
    REQUIRE(decoded.warnings.size() == 1);
    CHECK(decoded.warnings[0] == "bytes before a marker that are not image data");
  }
  SECTION("bytes after the end, told once") {
    Samples file = plain;
    file.insert(file.end(), 100, 7);
    const Decoded decoded(file);
    CHECK(decoded.warnings.empty());
    REQUIRE(decoded.info.warnings.size() == 1);

    const Bytes data = Bytes::copy(file);
    const JpegInfo header = read_jpeg_info(data, 100, true);
    PlanarScratch scratch;
    std::vector<std::string> warnings;
    decode_planes(data, header, {}, scratch, warnings);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "100 bytes after the end of the image");
  }
  SECTION("a wrong spectral selection") {
    Samples file = plain;
    const std::size_t scan = find(file, 0xDA);
    file[scan + 12] = 0;  // Se
    const Decoded decoded(file);
    CHECK(decoded.warnings.size() == 1);
    CHECK(mean_difference(decoded.planes.plane[0], Decoded(plain).planes.plane[0]) == 0);
  }
}

TEST_CASE("What this libjpeg cannot decode is named") {
  Samples file = write_jpeg(16, 16);
  const std::size_t frame = find(file, 0xC0);
  SECTION("12 bits") {
    file[frame + 4] = 12;
    CHECK(failure(file) == Code::unsupported);
  }
  SECTION("lossless") {
    file[frame + 1] = 0xC3;
    CHECK(failure(file) == Code::unsupported);
  }
}

TEST_CASE("Tables that do not exist are corrupt, not a crash") {
  Samples file = write_jpeg(16, 16);
  SECTION("quantization") {
    file[find(file, 0xC0) + 12] = 3;
    CHECK(failure(file) == Code::corrupt);
  }
  SECTION("Huffman") {
    file[find(file, 0xDA) + 6] = 0x33;
    CHECK(failure(file) == Code::corrupt);
  }
}

TEST_CASE("Encoded planes come back") {
  const auto [width, height] = GENERATE(table<int, int>(
      {{64, 48}, {341, 256}, {33, 17}, {1, 1}, {1, 9}, {9, 1}, {15, 16}, {17, 31}}));
  const bool half = GENERATE(true, false);
  PlanarScratch scratch;
  const Planes planes = make_planes(width, height, 3, half, scratch);
  const Bytes file = encode_planes(planes, {95, {}, false, false, {}, {}});
  const Decoded decoded(Samples(file.data(), file.data() + file.size()));
  CHECK(decoded.info.width == width);
  CHECK(decoded.info.height == height);
  CHECK(decoded.info.jfif);
  CHECK(decoded.info.color == JpegColor::ycc);
  CHECK_FALSE(decoded.info.restarts);
  CHECK(decoded.info.ends);
  CHECK(decoded.info.end_offset == file.size());
  CHECK(estimate_quality(decoded.info) == 95);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(mean_difference(decoded.planes.plane[i], planes.plane[i]) < 2);
  }
}

TEST_CASE("Encoding twice gives the same bytes, whatever lies in the padding") {
  PlanarScratch scratch;
  const Planes planes = make_planes(37, 29, 3, true, scratch);
  const Bytes first = encode_planes(planes, {});
  for (const Plane& plane : planes.plane) {
    for (int y = 0; y < plane.height; ++y) std::fill_n(plane.row(y) + plane.width, 40, y);
  }
  CHECK(encode_planes(planes, {}).text() == first.text());
}

TEST_CASE("Grey, optimised and progressive output") {
  PlanarScratch scratch;
  const Planes grey = make_planes(50, 40, 1, false, scratch);
  const Bytes file = encode_planes(grey, {});
  const Decoded decoded(Samples(file.data(), file.data() + file.size()));
  CHECK(decoded.planes.count == 1);
  CHECK(mean_difference(decoded.planes.plane[0], grey.plane[0]) < 3);

  EncodeOptions options;
  options.optimize = true;
  const Bytes optimized = encode_planes(grey, options);
  CHECK(optimized.size() < file.size());
  options.progressive = true;
  const Bytes several = encode_planes(grey, options);
  for (const Bytes& same : {optimized, several}) {
    const Decoded again(Samples(same.data(), same.data() + same.size()));
    CHECK(mean_difference(again.planes.plane[0], decoded.planes.plane[0]) == 0);
    CHECK(again.info.progressive == (same.data() == several.data()));
  }
}

TEST_CASE("ICC profiles of any length and EXIF are written and read back") {
  PlanarScratch scratch;
  const Planes planes = make_planes(16, 16, 3, true, scratch);
  EncodeOptions options;
  for (const std::size_t size : {1u, 500u, 65519u, 65520u, 200000u}) {
    options.icc.resize(size);
    for (std::size_t i = 0; i < size; ++i) options.icc[i] = static_cast<std::uint8_t>(i * 31);
    options.exif = Bytes::take(std::string("II*\0\x08\0\0\0\0\0", 10));
    const JpegInfo info = read_jpeg_info(encode_planes(planes, options), 100);
    CHECK(info.icc == options.icc);
    CHECK(info.exif.text() == options.exif.text());
    CHECK(info.warnings.empty());
  }
  options.exif = Bytes::take(std::string(65528, 'x'));
  CHECK_THROWS_AS(encode_planes(planes, options), Error);
}

TEST_CASE("Interleaved pixels are encoded with the subsampling asked for") {
  PlaneBuffer buffer;
  const Plane pixels = buffer.shape(41, 23, 3);
  for (int y = 0; y < 23; ++y) {
    for (int x = 0; x < 41; ++x) {
      for (int c = 0; c < 3; ++c) {
        pixels.row(y)[3 * x + c] =
            static_cast<std::uint8_t>(c == 0 ? value_at(x, y, 0) : 90 + 20 * c);
      }
    }
  }
  for (const Subsampling subsampling : {Subsampling::s444, Subsampling::s420}) {
    const Bytes file = encode_interleaved(as_const(pixels), subsampling, {});
    const Decoded decoded(Samples(file.data(), file.data() + file.size()));
    CHECK(decoded.planes.step_x[1] == (subsampling == Subsampling::s444 ? 1 : 2));
    CHECK(decoded.planes.step_y[2] == (subsampling == Subsampling::s444 ? 1 : 2));
    const double luma = 0.299 * value_at(20, 11, 0) + 0.587 * 110 + 0.114 * 130;
    CHECK(decoded.planes.plane[0].row(11)[20] == Approx(luma).margin(4));
  }
  const Plane grey = buffer.shape(9, 5, 1);
  for (int y = 0; y < 5; ++y) std::fill_n(grey.row(y), 9, 200);
  const Bytes file = encode_interleaved(as_const(grey), Subsampling::s420, {});
  const Decoded decoded(Samples(file.data(), file.data() + file.size()));
  CHECK(decoded.planes.count == 1);
  CHECK(int{decoded.planes.plane[0].row(4)[8]} == Approx(200).margin(1));
}

}  // namespace
}  // namespace prep::image::planar_jpeg_test
