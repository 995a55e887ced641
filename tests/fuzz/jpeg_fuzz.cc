// Reads any bytes as a JPEG: the header, then the pixels of what is small, truncated or not, at
// full and at reduced size, and what decodes to planes is resampled and encoded again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/resample.h"

namespace {

using namespace prep;
using namespace prep::image;

constexpr int kMaxScans = 10;
constexpr int kMaxPixels = 1 << 16;  // larger ones only cost time

void resample_and_encode(const Planes& planes) {
  static ResampleScratch scratch;
  PlaneBuffer memory[3];
  Planes small = planes;
  for (std::size_t i = 0; i < static_cast<std::size_t>(planes.count); ++i) {
    small.plane[i] = memory[i].shape(21, 13);
    const Box box{0, 0, planes.image_width / planes.step_x[i],
                  planes.image_height / planes.step_y[i]};
    resample(as_const(planes.plane[i]), box, Filter::lanczos, small.plane[i], scratch);
  }
  if (encode_planes(small, {}).empty()) std::abort();
}

void decode(const Bytes& data, const JpegInfo& info, const DecodeOptions& options) {
  std::vector<std::string> warnings;
  try {
    if (is_planar(info)) {
      PlanarScratch scratch;
      resample_and_encode(decode_planes(data, info, options, scratch, warnings));
    } else {
      PlaneBuffer pixels;
      decode_interleaved(data, info, options, pixels, warnings);
    }
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Bytes data = Bytes::copy({bytes, size});
  JpegInfo info;
  try {
    info = read_jpeg_info(data, kMaxScans);
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
    return 0;
  }
  if (info.end_offset > size) std::abort();
  estimate_quality(info);
  if (std::int64_t{info.width} * info.height > kMaxPixels) return 0;
  decode(data, info, {1, false});
  decode(data, info, {8, true});
  return 0;
}
