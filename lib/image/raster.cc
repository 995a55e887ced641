#include "lib/image/raster.h"

#include "lib/core/error.h"
#include "lib/image/bmp_codec.h"
#include "lib/image/gif_codec.h"
#include "lib/image/png_codec.h"
#include "lib/image/tiff_codec.h"
#include "lib/image/webp_codec.h"

namespace prep::image {
namespace {

// The channels of an 8-bit picture without CMYK say what they are.
ColorModel model_of(const Plane& pixels) {
  return pixels.channels <= 2 ? ColorModel::grey : ColorModel::rgb;
}

RasterInfo png_info(const Bytes& data) {
  const PngInfo png = read_png_info(data);
  const bool plain = png.bit_depth <= 8 && !png.transparency && !png.animated;
  return {png.width, png.height, png.orientation, plain};
}

Raster png_raster(const Bytes& data, bool allow_truncated, PlaneBuffer& buffer) {
  const PngInfo info = read_png_info(data);
  Raster raster;
  raster.warnings = info.warnings;
  raster.exif = info.exif;
  raster.pixels = decode_png(info, {allow_truncated}, buffer, raster.icc, raster.warnings);
  raster.model = model_of(raster.pixels);
  return raster;
}

Raster webp_raster(const Bytes& data, bool allow_truncated, PlaneBuffer& buffer) {
  const WebpInfo info = read_webp_info(data);
  Raster raster;
  raster.warnings = info.warnings;
  raster.icc.assign(info.icc.begin(), info.icc.end());
  raster.exif = info.exif;
  raster.pixels = decode_webp(data, info, allow_truncated, buffer, raster.warnings);
  return raster;
}

Raster tiff_raster(const Bytes& data, bool allow_truncated, PlaneBuffer& buffer) {
  const TiffInfo info = read_tiff_info(data);
  Raster raster;
  raster.warnings = info.warnings;
  raster.icc.assign(info.icc.begin(), info.icc.end());
  bool cmyk = false;
  raster.pixels = decode_tiff(data, info, allow_truncated, buffer, cmyk, raster.warnings);
  raster.model = cmyk ? ColorModel::cmyk : model_of(raster.pixels);
  return raster;
}

Raster bmp_raster(const Bytes& data, bool allow_truncated, PlaneBuffer& buffer) {
  const BmpInfo info = read_bmp_info(data);
  Raster raster;
  raster.pixels = decode_bmp(data, info, allow_truncated, buffer, raster.warnings);
  raster.model = model_of(raster.pixels);
  return raster;
}

Raster gif_raster(const Bytes& data, bool allow_truncated, PlaneBuffer& buffer) {
  const GifInfo info = read_gif_info(data);
  Raster raster;
  raster.warnings = info.warnings;
  raster.pixels = decode_gif(info, allow_truncated, buffer, raster.warnings);
  return raster;
}

}  // namespace

RasterInfo read_raster_info(const Bytes& data, Format format) {
  switch (format) {
    case Format::png:
      return png_info(data);
    case Format::webp: {
      const WebpInfo info = read_webp_info(data);
      return {info.width, info.height, info.orientation, !info.alpha && !info.animated};
    }
    case Format::tiff: {
      const TiffInfo info = read_tiff_info(data);
      return {info.width, info.height, info.orientation, info.bits <= 8 && !info.has_alpha()};
    }
    case Format::bmp: {
      const BmpInfo info = read_bmp_info(data);
      return {info.width, info.height, 1, !info.has_alpha()};
    }
    case Format::gif: {
      const GifInfo info = read_gif_info(data);
      return {info.width, info.height, 1, !info.has_alpha() && !info.animated};
    }
    default:
      fail(Code::unsupported, "{} is not supported", name(format));
  }
}

Raster decode_raster(const Bytes& data, Format format, bool allow_truncated, PlaneBuffer& buffer) {
  switch (format) {
    case Format::png:
      return png_raster(data, allow_truncated, buffer);
    case Format::webp:
      return webp_raster(data, allow_truncated, buffer);
    case Format::tiff:
      return tiff_raster(data, allow_truncated, buffer);
    case Format::bmp:
      return bmp_raster(data, allow_truncated, buffer);
    case Format::gif:
      return gif_raster(data, allow_truncated, buffer);
    default:
      fail(Code::unsupported, "{} is not supported", name(format));
  }
}

}  // namespace prep::image
