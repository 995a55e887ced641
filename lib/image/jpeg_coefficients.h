// A JPEG's quantized DCT coefficients, read and written through libjpeg-turbo.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/baseline_decoder.h"
#include "lib/image/baseline_encoder.h"
#include "lib/image/dct_requantize.h"
#include "lib/image/jpeg_info.h"

namespace prep::image {

class LibjpegDecoder;

// One component's blocks: those that hold something of the picture.
struct CoefficientPlane {
  int h = 1, v = 1;  // sampling factors
  int across = 0, down = 0;
  QuantTable steps{};
  std::vector<const DctBlock*> rows;  // `down` rows of `across` blocks
};

// All coefficients of a file, in memory for as long as this object lives. Any JPEG with 8 bits a
// sample that is not lossless can be read, whatever its colours.
class JpegCoefficients {
 public:
  // Appends what libjpeg warned about and recovered from to `warnings`. The decoder is for ordinary
  // files, and may hold the coefficients; without it libjpeg reads them all, to the same result.
  // throws Error truncated or corrupt where data is missing or in no code.
  JpegCoefficients(const Bytes& data, const JpegInfo& info, BaselineDecoder* decoder,
                   std::vector<std::string>& warnings);
  ~JpegCoefficients();

  const std::vector<CoefficientPlane>& planes() const { return planes_; }
  // Whether the decoder for ordinary files has read them.
  bool ordinary() const { return ordinary_; }

 private:
  bool decode_ordinary(const Bytes& data, const JpegInfo& info, BaselineDecoder& decoder);
  void decode_any(const Bytes& data, const JpegInfo& info, std::vector<std::string>& warnings);

  std::unique_ptr<LibjpegDecoder> libjpeg_;
  std::vector<CoefficientPlane> planes_;
  bool ordinary_ = false;
};

// A whole progressive file with the frame's tables and factors, not the planes' own. `metadata`:
// segments that stand behind SOI.
Bytes write_progressive(const Frame& frame, const std::vector<CoefficientPlane>& planes,
                        ByteView metadata);

// The file with `metadata` in the place of what it has between SOI and its first table.
Bytes with_metadata(const Bytes& jpeg, ByteView metadata);

}  // namespace prep::image
