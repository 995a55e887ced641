// What a JPEG's markers say, read without decoding and without trusting any of it.
//
// The reader walks the marker segments (ITU-T T.81 annex B) and, for the count of scans and the
// end of the image, the entropy-coded data between them. It never allocates by a size that the
// file claims, and takes time linear in the file's length.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/bytes.h"

namespace prep::image {

// The colour model by the same rules as libjpeg's default_decompress_parms (jdapimin.c): JFIF, the
// Adobe transform flag, then component ids.
enum class JpegColor { grey, ycc, rgb, cmyk, ycck, unknown };

struct JpegComponent {
  std::uint8_t id = 0;
  std::uint8_t h = 1, v = 1;     // sampling factors, 1 to 4
  std::uint8_t quant_table = 0;  // 0 to 3
};

// An application or comment segment.
struct JpegSegment {
  int marker = 0;    // 0xE0 to 0xEF, 0xFE: the byte after FF
  ByteView payload;  // behind the length; a view into the input
};

struct JpegInfo {
  int width = 0, height = 0;  // as stored, before the orientation is applied; > 0
  int precision = 8;          // bits a sample
  bool progressive = false;
  bool arithmetic = false;
  bool lossless = false;
  JpegColor color = JpegColor::unknown;
  std::vector<JpegComponent> components;
  int scans = 0;          // SOS markers met
  bool restarts = false;  // a DRI with a non-zero interval
  bool jfif = false;
  std::optional<int> adobe_transform;
  int orientation = 1;            // EXIF tag 0x0112, 1 to 8; anything else in the file reads as 1
  std::vector<std::uint8_t> icc;  // the profile, joined from its APP2 chunks; empty if none or if
                                  // the chunks do not fit together (then `warnings` says so)
  Bytes exif;                     // the APP1 payload after "Exif\0\0"; a view into the input
  std::vector<JpegSegment> metadata;  // of the header, in the file's order
  // The quantization tables in zigzag order as stored; a table that never came is all zeros.
  std::array<std::array<std::uint16_t, 64>, 4> quant{};
  bool ends = false;                  // an EOI was met
  std::size_t end_offset = 0;         // just behind that EOI (or the input's size)
  std::vector<std::string> warnings;  // "12 bytes after the end of the image", …
};

// Whether the bytes start like a JPEG (FF D8 FF).
bool is_jpeg(ByteView data);

// throws Error: truncated (no frame header before the data ends), corrupt, limit (more than
// `max_scans` scans), unsupported (height 0 to be defined by a DNL marker, hierarchical JPEG).
// A file that ends in the middle of a scan is not an error here: `ends` is false.
// With `header_only` the walk stops at the first SOS: `scans`, `ends` and `end_offset` are not
// filled, and the cost does not depend on the file's size. A progressive file is walked to its end
// all the same where max_scans asks for it.
JpegInfo read_jpeg_info(const Bytes& data, int max_scans, bool header_only = false);

// The quality, 1 to 100, whose tables in libjpeg's scaling of the standard (annex K) tables come
// nearest to `info`'s luma table; the tables of many encoders are exactly these.
int estimate_quality(const JpegInfo& info);

}  // namespace prep::image
