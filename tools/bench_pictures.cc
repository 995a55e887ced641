#include "tools/bench_pictures.h"

#include "lib/core/digest.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/raster.h"

namespace prep {
namespace {

using image::Format;

bool is_decoded_here(Format format) {
  return format == Format::jpeg || format == Format::png || format == Format::webp ||
         format == Format::tiff || format == Format::bmp;
}

void describe_jpeg(BenchPicture& picture, const PictureLimits& limits) {
  const image::JpegInfo info =
      image::read_jpeg_info(picture.data, limits.max_scans, /*header_only=*/true);
  picture.width = info.width;
  picture.height = info.height;
  picture.is_plain_jpeg = image::is_planar(info);
}

}  // namespace

BenchPicture describe_picture(Bytes data, const PictureLimits& limits) {
  BenchPicture picture;
  picture.data = std::move(data);
  picture.format = image::sniff(picture.data.view());
  if (!is_decoded_here(picture.format)) {
    fail(Code::unsupported, "{}", image::name(picture.format));
  }
  if (picture.format == Format::jpeg) {
    describe_jpeg(picture, limits);
  } else {
    const image::RasterInfo info = image::read_raster_info(picture.data, picture.format);
    picture.width = info.width;
    picture.height = info.height;
  }
  if (std::int64_t{picture.width} * picture.height > limits.max_pixels) {
    fail(Code::limit, "{} x {} pixels are more than --max-pixels {}", picture.width, picture.height,
         limits.max_pixels);
  }
  return picture;
}

BenchPicture load_picture(const Sample& sample, const PictureLimits& limits) {
  for (const Part& part : sample.parts) {
    Bytes data = part.content->load();
    if (image::sniff(data.view()) == Format::unknown) continue;
    const std::string origin = part.content->origin();
    try {
      BenchPicture picture = describe_picture(std::move(data), limits);
      picture.key = sample.key;
      picture.origin = origin;
      if (const auto range = part.content->range()) {
        picture.content = part.content;
        picture.path = range->path;
      }
      return picture;
    } catch (const Error& error) {
      throw Error(error.code(), printable(origin) + ": " + error.what());
    }
  }
  fail(Code::empty, "{}: no picture", printable(sample.key));
}

std::string set_name(const BenchPicture& picture) {
  if (picture.format == Format::jpeg && !picture.is_plain_jpeg) return "other JPEG";
  return std::string(image::name(picture.format));
}

std::string data_digest(const std::vector<BenchPicture>& pictures) {
  Digest digest(Digest::Kind::sha256);
  for (const BenchPicture& picture : pictures) digest.update(picture.data.view());
  return digest.hex();
}

}  // namespace prep
