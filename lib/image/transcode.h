// A JPEG's coefficients to a JPEG with other tables and less chroma, without going through pixels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/baseline_encoder.h"
#include "lib/image/dct_requantize.h"
#include "lib/image/jpeg_coefficients.h"

namespace prep::image {

struct TranscodeOptions {
  std::vector<QuantTable> steps;  // of the output, a table a component; entries 1 to 255
  bool halve_across = false, halve_down = false;  // chroma; where set, luma's factor is chroma's
  bool progressive = false;
  bool optimize = true;         // Huffman tables made for the image; progressive files have them
  bool rate_distortion = true;  // drop what costs more bits than it is worth
};

// Scratch that a worker keeps from image to image.
struct TranscodeScratch {
  // The block rows of a component that one row of MCUs needs, and what they are made from.
  struct Rows {
    std::vector<std::int16_t> values, levels;
    std::vector<std::uint64_t> nonzero;
  };
  std::array<Rows, 3> rows;
  std::array<std::vector<std::int16_t>, 2> source;  // block rows that are to be halved
  std::vector<std::int16_t> halved;
  TokenStream tokens;
  CodeStream codes;

  // In bytes, but for what grows only with the picture's width.
  std::size_t memory() const { return std::max(tokens.memory(), codes.memory()); }
};

// `planes`: grey, or Y, Cb, Cr with luma's factors once or twice chroma's, which are both the same.
// `metadata`: segments that stand behind SOI.
Bytes transcode(const std::vector<CoefficientPlane>& planes, int width, int height,
                const TranscodeOptions& options, ByteView metadata, TranscodeScratch& scratch);

}  // namespace prep::image
