#include "lib/image/image_shape.h"

#include <limits>
#include <string_view>

#include "lib/core/error.h"
#include "lib/image/bmp_codec.h"
#include "lib/image/format.h"
#include "lib/image/gif_codec.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/png_codec.h"
#include "lib/image/tiff_codec.h"
#include "lib/image/webp_codec.h"

namespace prep::image {
namespace {

constexpr std::string_view kGrey = "grayscale", kRgb = "RGB", kCmyk = "CMYK";

ImageShape shape(std::string_view format, int width, int height, int channels,
                 std::string_view colorspace) {
  return {std::string(format), width, height, channels, std::string(colorspace)};
}

ImageShape jpeg_shape(const Bytes& data) {
  const JpegInfo info = read_jpeg_info(data, std::numeric_limits<int>::max(), /*header_only=*/true);
  const auto channels = static_cast<int>(info.components.size());
  std::string_view colorspace;
  switch (info.color) {
    case JpegColor::grey:
      colorspace = kGrey;
      break;
    case JpegColor::ycc:
    case JpegColor::rgb:
      colorspace = kRgb;
      break;
    case JpegColor::cmyk:
    case JpegColor::ycck:
      colorspace = kCmyk;
      break;
    case JpegColor::unknown:
      break;
  }
  return shape("JPEG", info.width, info.height, channels, colorspace);
}

ImageShape png_shape(const Bytes& data) {
  constexpr int kColor = 2;  // the bit of a colour type that says so
  const PngInfo info = read_png_info(data);
  const bool color = (info.color_type & kColor) != 0;
  return shape("PNG", info.width, info.height, (color ? 3 : 1) + info.transparency,
               color ? kRgb : kGrey);
}

ImageShape tiff_shape(const Bytes& data) {
  const TiffInfo info = read_tiff_info(data);
  enum Photometric { kWhiteIsZero, kBlackIsZero, kRgbSamples, kPalette, kMask, kSeparated };
  switch (info.photometric) {
    case kWhiteIsZero:
    case kBlackIsZero:
      return shape("TIFF", info.width, info.height, 1 + info.has_alpha(), kGrey);
    case kSeparated:
      return shape("TIFF", info.width, info.height, 4, kCmyk);
    default:
      return shape("TIFF", info.width, info.height, 3 + info.has_alpha(), kRgb);
  }
}

ImageShape describe(const Bytes& data, Format format) {
  switch (format) {
    case Format::jpeg:
      return jpeg_shape(data);
    case Format::png:
      return png_shape(data);
    case Format::webp: {
      const WebpInfo info = read_webp_info(data);
      return shape("WEBP", info.width, info.height, 3 + info.alpha, kRgb);
    }
    case Format::tiff:
      return tiff_shape(data);
    case Format::bmp: {
      const BmpInfo info = read_bmp_info(data);
      return shape("BMP", info.width, info.height, 3 + info.has_alpha(), kRgb);
    }
    case Format::gif: {
      const GifInfo info = read_gif_info(data);
      return shape("GIF", info.width, info.height, 3 + info.has_alpha(), kRgb);
    }
    default:
      fail(Code::unsupported, "not a picture that is known");
  }
}

}  // namespace

std::optional<ImageShape> describe_image(ByteView data) {
  try {
    return describe(Bytes(data, nullptr), sniff(data));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace prep::image
