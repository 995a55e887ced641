// Reads any bytes as a picture that is no JPEG (PNG, WebP, TIFF, BMP, GIF): the header, then the
// pixels of what is small, truncated or not. All pixels are looked at, so that a decoder that
// leaves some unset shows under MemorySanitizer and valgrind.
#include <cstdint>
#include <cstdlib>

#include "lib/core/error.h"
#include "lib/image/raster.h"

namespace {

using namespace prep;
using namespace prep::image;

constexpr int kMaxPixels = 1 << 16;  // larger ones only cost time

bool is_raster(Format format) {
  return format == Format::png || format == Format::webp || format == Format::tiff ||
         format == Format::bmp || format == Format::gif;
}

unsigned sum(const Plane& pixels) {
  unsigned total = 0;
  for (int y = 0; y < pixels.height; ++y) {
    const std::uint8_t* row = pixels.row(y);
    for (int i = 0; i < pixels.width * pixels.channels; ++i) total += row[i];
  }
  return total;
}

void decode(const Bytes& data, Format format, const RasterInfo& info, bool allow_truncated) {
  PlaneBuffer buffer;
  try {
    const Raster raster = decode_raster(data, format, allow_truncated, buffer);
    if (raster.pixels.width != info.width || raster.pixels.height != info.height) std::abort();
    if (raster.pixels.channels < 1 || raster.pixels.channels > 4) std::abort();
    [[maybe_unused]] const volatile unsigned seen = sum(raster.pixels);
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Bytes data = Bytes::copy({bytes, size});
  const Format format = sniff(data.view());
  if (!is_raster(format)) return 0;
  RasterInfo info;
  try {
    info = read_raster_info(data, format);
  } catch (const Error& error) {
    if (error.code() == Code::internal) std::abort();
    return 0;
  }
  if (info.width <= 0 || info.height <= 0) std::abort();
  if (std::int64_t{info.width} * info.height > kMaxPixels) return 0;
  decode(data, format, info, false);
  decode(data, format, info, true);
  return 0;
}
