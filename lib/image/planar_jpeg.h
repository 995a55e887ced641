// JPEG to planes and planes to JPEG through libjpeg-turbo's raw data interface: no upsampling, no
// colour conversion.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/plane.h"
#include "lib/image/quant_tables.h"

namespace prep::image {

enum class Subsampling { s444, s420 };

// A picture as its encoder saw it: plane 0 is luma (or grey), 1 and 2 are Cb and Cr at their own
// resolution. Sizes are those of the real image content: a plane's width is
// ceil(image_width * h / h_max / denominator); the padding of the last blocks is cut off.
struct Planes {
  int count = 0;  // 1 or 3
  std::array<Plane, 3> plane;
  // Plane i's pixel grid covers image_width x image_height of the full image: sample (x, y) of
  // plane i covers full-image pixels [x * step_x[i], (x + 1) * step_x[i]) horizontally (centred
  // siting, as JFIF says). The last sample of a row may stick out past the image's edge.
  std::array<double, 3> step_x{1, 1, 1}, step_y{1, 1, 1};
  int image_width = 0, image_height = 0;  // full-size pixels
};

// Memory of a worker for decoding, kept from image to image.
struct PlanarScratch {
  std::array<PlaneBuffer, 3> planes;
};

struct DecodeOptions {
  int denominator = 1;           // scaled IDCT: 1, 2, 4 or 8
  bool allow_truncated = false;  // else a file that ends early is Error truncated
};

// Whether decode_planes takes it: 8-bit, Huffman or arithmetic, grey or YCbCr, chroma sampled 1x1,
// or luma's factors a multiple of chroma's by 1 or 2 in each direction.
bool is_planar(const JpegInfo& info);

// Decodes (integer "slow" DCT: same bytes everywhere). What libjpeg warns about and recovers from
// (resync after a lost restart marker, stray bytes before a marker) is appended to `warnings`;
// damage to the entropy-coded data that changes pixels is Error corrupt.
// The planes live in `scratch` until the next call.
Planes decode_planes(const Bytes& data, const JpegInfo& info, const DecodeOptions& options,
                     PlanarScratch& scratch, std::vector<std::string>& warnings);

// Decodes to interleaved pixels in `out`: 1 channel grey, 3 RGB, or 4 CMYK (as stored, so Adobe's
// inversion is still in it), for JPEGs that are not planar. Same errors. `denominator` as above.
Plane decode_interleaved(const Bytes& data, const JpegInfo& info, const DecodeOptions& options,
                         PlaneBuffer& out, std::vector<std::string>& warnings);

struct EncodeOptions {
  int quality = 90;               // 1 to 100, libjpeg's scaling, baseline tables
  std::vector<QuantTable> steps;  // instead of quality's, a table a component; entries 1 to 255
  bool optimize = false;          // second pass for Huffman tables
  bool progressive = false;
  std::vector<std::uint8_t> icc;  // written as APP2 chunks if not empty
  Bytes exif;                     // written as APP1 "Exif\0\0" + this if not empty
};

// Encodes one grey plane, or Y, Cb, Cr: baseline, JFIF, no restart markers. Luma is plane 0; in
// each direction chroma planes have luma's size or half of it, rounded up. Planes need readable
// bytes up to a multiple of 64 behind each row (PlaneBuffer gives that); edges are replicated into
// the padding of the last blocks here.
Bytes encode_planes(const Planes& planes, const EncodeOptions& options);

// Encodes interleaved RGB (3 channels) or grey (1).
Bytes encode_interleaved(const ConstPlane& pixels, Subsampling subsampling,
                         const EncodeOptions& options);

}  // namespace prep::image
