// JPEGs of every kind that libjpeg can write, and the surgery for those that it can't.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
// jpeglib.h needs stdio's FILE and size_t before it.
#include <jpeglib.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/data/picture.h"

namespace prep::testdata {

struct JpegMarker {
  int code = JPEG_COM;
  std::string payload;
};

using Sampling = std::vector<std::pair<int, int>>;  // horizontal and vertical, a pair a component

inline const Sampling k444 = {{1, 1}, {1, 1}, {1, 1}};
inline const Sampling k422 = {{2, 1}, {1, 1}, {1, 1}};
inline const Sampling k440 = {{1, 2}, {1, 1}, {1, 1}};
inline const Sampling k420 = {{2, 2}, {1, 1}, {1, 1}};
inline const Sampling k411 = {{4, 1}, {1, 1}, {1, 1}};

struct JpegOptions {
  J_COLOR_SPACE space = JCS_UNKNOWN;  // in the file; JCS_UNKNOWN: libjpeg's choice for the channels
  int quality = 90;
  Sampling sampling{};     // empty: libjpeg's choice
  std::vector<int> ids{};  // component identifiers; empty: libjpeg's choice
  bool jfif = true;        // where the colour space allows it
  bool adobe = true;       // where libjpeg would write it by itself
  bool progressive = false;
  bool arithmetic = false;
  bool wide_tables = false;  // 16-bit quantization tables
  int restart_rows = 0;
  std::vector<jpeg_scan_info> scans{};
  std::vector<JpegMarker> markers{};
};

// Channels: 1 is grey, 3 is RGB, 4 is CMYK as the file shall store it.
std::string encode_jpeg(const Picture& picture, const JpegOptions& options = {});

// A progressive script of `count` scans, 65 to 379, for three components.
std::vector<jpeg_scan_info> many_scans(int count);

// The offset of the FF of the first segment with this marker code, before or at the first SOS.
// Throws std::logic_error if there is none.
std::size_t find_segment(std::string_view jpeg, int code);
// The offset of the first byte of entropy-coded data.
std::size_t scan_start(std::string_view jpeg);
// Puts a segment right behind SOI.
std::string with_segment(std::string_view jpeg, int code, std::string_view payload);
// Changes the frame header's marker (0xC0 to 0xCF), precision or size.
std::string with_frame_code(std::string jpeg, int code);
std::string with_precision(std::string jpeg, int bits);
std::string with_size(std::string jpeg, int width, int height);

}  // namespace prep::testdata
