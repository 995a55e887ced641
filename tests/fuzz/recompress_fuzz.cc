// Recompresses any bytes, in several ways. What comes out must be a JPEG that decodes without a
// word, and that a second run leaves as it is. The decoder for ordinary files must have libjpeg's
// coefficients, or leave the file to it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/image/jpeg_coefficients.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/recompress.h"

namespace {

using namespace prep;
using namespace prep::image;

constexpr int kMaxScans = 10;
constexpr int kMaxPixels = 1 << 16;  // larger ones only cost time

void check_result(const Bytes& data, Recompressor& recompressor) {
  const JpegInfo info = read_jpeg_info(data, kMaxScans + 10);
  PlanarScratch scratch;
  std::vector<std::string> warnings;
  decode_planes(data, info, {}, scratch, warnings);
  // What `info` warns about may stand in metadata, which are kept on request as they are.
  if (!info.ends || !warnings.empty()) std::abort();
  const RecompressResult second = recompressor.recompress(data);
  if (second.kind != RecompressResult::Kind::copied) std::abort();
}

void compare_planes(const CoefficientPlane& a, const CoefficientPlane& b) {
  const bool same = a.h == b.h && a.v == b.v && a.across == b.across && a.down == b.down;
  if (!same || a.steps != b.steps) std::abort();
  for (std::size_t y = 0; y < a.rows.size(); ++y) {
    const std::size_t size = static_cast<std::size_t>(a.across) * sizeof(DctBlock);
    if (std::memcmp(a.rows[y], b.rows[y], size) != 0) std::abort();
  }
}

void compare_decoders(const Bytes& input) {
  static BaselineDecoder decoder;
  std::vector<std::string> warnings;
  try {
    const JpegInfo info = read_jpeg_info(input, kMaxScans);
    if (std::int64_t{info.width} * info.height > kMaxPixels) return;
    const JpegCoefficients ours(input, info, &decoder, warnings);
    if (!ours.ordinary()) return;
    // Where ours have come through, an error is a difference too.
    const auto abort_on_error = [&] {
      try {
        return JpegCoefficients(input, info, nullptr, warnings);
      } catch (const Error&) {
        std::abort();
      }
    };
    const JpegCoefficients theirs = abort_on_error();
    if (!warnings.empty() || ours.planes().size() != theirs.planes().size()) std::abort();
    for (std::size_t i = 0; i < ours.planes().size(); ++i) {
      compare_planes(ours.planes()[i], theirs.planes()[i]);
    }
  } catch (const Error&) {
    // libjpeg's, or the header's
  }
}

void recompress(const Bytes& input, const RecompressOptions& options) {
  Recompressor recompressor(options);
  RecompressResult result;
  try {
    result = recompressor.recompress(input);
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
    return;
  }
  if (result.kind == RecompressResult::Kind::recompressed) {
    check_result(result.data, recompressor);
  } else if (result.data.data() != input.data() || result.data.size() != input.size()) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Bytes input = Bytes::copy({bytes, size});
  compare_decoders(input);
  RecompressOptions options;
  options.max_pixels = kMaxPixels;
  options.max_scans = kMaxScans + 10;
  recompress(input, options);
  options.quality = 95;
  options.min_gain = 0;
  options.subsampling = RecompressOptions::Subsampling::keep;
  options.optimize = options.strip_all = options.rate_distortion = false;
  recompress(input, options);
  options.quality = 20;
  options.progressive = true;
  recompress(input, options);
  options.method = RecompressOptions::Method::pixel;
  options.subsampling = RecompressOptions::Subsampling::s444;
  recompress(input, options);
  return 0;
}
