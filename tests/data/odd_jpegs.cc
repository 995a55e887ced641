// JPEGs whose structure is out of the ordinary: coders, stray bytes, damage, EXIF.
#include <cstdint>

#include "tests/data/byte_string.h"
#include "tests/data/jpeg_writer.h"
#include "tests/data/metadata.h"
#include "tests/data/odd_image.h"

namespace prep::testdata {
namespace {

using namespace std::string_literals;

std::string plain() { return encode_jpeg(rgb_quarters()); }
// With enough entropy-coded data for damage to hit.
std::string textured(const JpegOptions& options = {}) {
  return encode_jpeg(photo(kWidth, kHeight, 1), options);
}

std::string scanned(int scans) { return encode_jpeg(rgb_quarters(), {.scans = many_scans(scans)}); }

// Luma 3x2 with chroma 2x1 and 1x1: sampling that is no whole ratio.
std::string with_fractional_sampling() {
  std::string jpeg = plain();
  const std::size_t components = find_segment(jpeg, 0xC0) + 10;
  jpeg[components + 1] = 0x32;
  jpeg[components + 4] = 0x21;
  return jpeg;
}

std::string without_end(const std::string& jpeg) { return jpeg.substr(0, jpeg.size() - 2); }

std::string mpf_entry(int tag, int type, std::uint32_t count, const std::string& value) {
  return little_endian(tag, 2) + little_endian(type, 2) + little_endian(count, 4) + value;
}

// CIPA DC-007: an APP2 segment of the first image lists both.
std::string mpf_payload(std::uint32_t first_size, std::uint32_t first_offset_of_second,
                        std::uint32_t second_size) {
  const std::uint32_t entries_at = 8 + 2 + 3 * 12 + 4;
  const std::string header = "II*\0"s + little_endian(8, 4) + little_endian(3, 2);
  const std::string directory =
      mpf_entry(0xB000, 7, 4, "0100") + mpf_entry(0xB001, 4, 1, little_endian(2, 4)) +
      mpf_entry(0xB002, 7, 32, little_endian(entries_at, 4)) + little_endian(0, 4);
  const std::string first =
      little_endian(0x030000, 4) + little_endian(first_size, 4) + little_endian(0, 8);
  const std::string second = little_endian(0, 4) + little_endian(second_size, 4) +
                             little_endian(first_offset_of_second, 4) + little_endian(0, 4);
  return "MPF\0"s + header + directory + first + second;
}

std::string multi_picture() {
  const std::string first = plain();
  const std::string second = encode_jpeg(photo(160, 120, 2));
  const std::size_t segment = 4 + mpf_payload(0, 0, 0).size();
  const std::size_t first_size = first.size() + segment;
  // Offsets count from the payload's TIFF header: behind SOI, the segment's head and "MPF\0".
  const std::string payload = mpf_payload(static_cast<std::uint32_t>(first_size),
                                          static_cast<std::uint32_t>(first_size - 10),
                                          static_cast<std::uint32_t>(second.size()));
  return with_segment(first, 0xE2, payload) + second;
}

std::string movie() {
  std::string box = "\0\0\0\x18"s + "ftypmp42" + "\0\0\0\0"s + "mp42isom";
  Random random(3);
  for (int i = 0; i < 4000; ++i) box += static_cast<char>(random.below(256));
  return box + "\xff\xd8\xff\xe0";
}

// More FF than one before a marker is allowed as filling.
std::string with_fill_bytes(const std::string& jpeg) {
  const std::size_t frame = find_segment(jpeg, 0xC0);
  return jpeg.substr(0, frame) + "\xff\xff\xff" + jpeg.substr(frame);
}

// Some Samsung phones write Se = 0 into baseline scans, where it has to be 63.
std::string with_samsung_scan() {
  std::string jpeg = plain();
  jpeg[scan_start(jpeg) - 2] = 0;
  return jpeg;
}

// The height is 0 and follows the scan in a DNL segment.
std::string with_dnl() {
  std::string jpeg = with_size(plain(), kWidth, 0);
  const char dnl[] = {'\xff', '\xdc', 0, 4, kHeight >> 8, static_cast<char>(kHeight & 0xff)};
  return without_end(jpeg) + std::string(dnl, sizeof(dnl)) + "\xff\xd9";
}

// The decoder finds RST1 where it wants RST0, and knows that one row of blocks is lost.
std::string without_restart_marker() {
  std::string jpeg = encode_jpeg(rgb_quarters(), {.restart_rows = 1});
  return jpeg.erase(jpeg.find("\xff\xd0", scan_start(jpeg)), 2);
}

// Sixteen one bits are no Huffman code.
std::string with_bad_codes() {
  std::string jpeg = textured();
  const std::size_t middle = (scan_start(jpeg) + jpeg.size()) / 2;
  for (std::size_t i = 0; i < 400; i += 2) jpeg.replace(middle + i, 2, "\xff\0"s);
  return jpeg;
}

std::string with_exif(const Picture& picture, const std::string& payload,
                      const Sampling& sampling = k420) {
  return encode_jpeg(picture, {.sampling = sampling, .markers = {{JPEG_APP0 + 1, payload}}});
}

OddImages each_orientation() {
  // Odd sizes: mirrored, the last chroma sample of a row becomes the first, and covers one pixel.
  const int width = 361, height = 271;
  OddImages images;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Picture stored = stored_as(quarters(width, height, 3, kRgbCorners), orientation);
    for (const auto& [name, sampling] : {std::pair{"420", k420}, std::pair{"444", k444}}) {
      images.push_back(ok("orientation-" + std::to_string(orientation) + "-" + name + ".jpg",
                          with_exif(stored, exif_payload(exif_tiff(orientation)), sampling), width,
                          height));
      images.back().corners = kRgbCorners;
    }
  }
  return images;
}

}  // namespace

OddImages jpeg_codings() {
  return {
      ok("progressive.jpg", encode_jpeg(rgb_quarters(), {.progressive = true})),
      ok("progressive-90-scans.jpg", scanned(90)),
      failed("progressive-300-scans.jpg", "limit", scanned(300)),
      ok("arithmetic.jpg", encode_jpeg(rgb_quarters(), {.arithmetic = true})),
      ok("arithmetic-progressive.jpg",
         encode_jpeg(rgb_quarters(), {.progressive = true, .arithmetic = true})),
      ok("wide-tables.jpg", encode_jpeg(rgb_quarters(), {.wide_tables = true})),
      ok("restarts.jpg", encode_jpeg(rgb_quarters(), {.restart_rows = 1})),
      failed("twelve-bits.jpg", "unsupported", with_precision(with_frame_code(plain(), 0xC1), 12)),
      failed("lossless.jpg", "unsupported", with_frame_code(plain(), 0xC3)),
      failed("hierarchical.jpg", "unsupported", with_frame_code(plain(), 0xC5)),
      failed("fractional-sampling.jpg", "unsupported", with_fractional_sampling()),
  };
}

OddImages jpeg_framings() {
  const std::string jpeg = plain();
  return {
      warning(ok("bytes-before-end.jpg", without_end(jpeg) + "twelve bytes" + "\xff\xd9")),
      // Every pixel is there: only the end marker is not.
      warning(ok("no-end.jpg", without_end(jpeg))),
      warning(ok("trailing-bytes.jpg", jpeg + "trailing")),
      warning(ok("with-movie.jpg", jpeg + movie())),
      warning(ok("multi-picture.jpg", multi_picture())),
      ok("fill-bytes.jpg", with_fill_bytes(jpeg)),
      warning(ok("samsung-scan.jpg", with_samsung_scan())),
      warning(ok("lost-restart.jpg", without_restart_marker())),
  };
}

OddImages jpeg_damages() {
  const std::string jpeg = textured();
  const std::string progressive = textured({.progressive = true});
  const std::string small = encode_jpeg(photo(200, 150, 4));
  return {
      failed("truncated.jpg", "truncated", jpeg.substr(0, jpeg.size() * 6 / 10)),
      failed("truncated-progressive.jpg", "truncated",
             progressive.substr(0, progressive.size() * 6 / 10)),
      failed("truncated-small.jpg", "truncated", small.substr(0, small.size() * 6 / 10)),
      failed("truncated-header.jpg", "truncated", jpeg.substr(0, find_segment(jpeg, 0xC0) + 6)),
      failed("only-start.jpg", "truncated", jpeg.substr(0, 3)),
      failed("bad-codes.jpg", "corrupt", with_bad_codes()),
      failed("dnl-height.jpg", "unsupported", with_dnl()),
      failed("zero-width.jpg", "corrupt", with_size(jpeg, 0, kHeight)),
  };
}

OddImages jpeg_orientations() {
  OddImages images = each_orientation();
  const Picture upright = rgb_quarters();
  const Picture turned = stored_as(upright, 6);
  const std::string turn = exif_tiff(6);
  const std::string both = encode_jpeg(turned, {.markers = {{JPEG_APP0 + 1, exif_payload(turn)},
                                                            {JPEG_APP0 + 1, exif_payload(turn)}}});
  images.insert(
      images.end(),
      {
          ok("exif-big-endian.jpg", with_exif(turned, exif_payload(exif_tiff(6, ByteOrder::big)))),
          ok("exif-doubled-header.jpg", with_exif(turned, exif_payload(exif_payload(turn)))),
          ok("exif-two-segments.jpg", both),
          ok("exif-empty.jpg", with_exif(upright, exif_payload(""))),
          ok("exif-cut.jpg", with_exif(upright, exif_payload(turn.substr(0, 12)))),
          ok("exif-orientation-0.jpg", with_exif(upright, exif_payload(exif_tiff(0)))),
          ok("exif-orientation-9.jpg", with_exif(upright, exif_payload(exif_tiff(9)))),
          ok("exif-thumbnail.jpg",
             with_exif(turned, exif_payload(exif_tiff_with_thumbnail(
                                   6, encode_jpeg(quarters(64, 48, 3, kRgbCorners)))))),
      });
  // Small enough already, but not upright.
  images.push_back(
      ok("exif-small-turned.jpg",
         with_exif(stored_as(quarters(101, 75, 3, kRgbCorners), 8), exif_payload(exif_tiff(8))),
         101, 75));
  images.back().corners = kRgbCorners;
  return images;
}

}  // namespace prep::testdata
