#include "lib/image/resize.h"

#include <algorithm>
#include <climits>
#include <cmath>

#include "lib/core/error.h"
#include "lib/image/color.h"
#include "lib/image/exif.h"
#include "lib/image/gamut.h"
#include "lib/image/orient.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/png_codec.h"
#include "lib/image/raster.h"

namespace prep::image {
namespace {

// libjpeg's JPEG_MAX_DIMENSION.
constexpr int kMaxJpegSide = 65500;
// What fits into one APP1 segment behind "Exif\0\0".
constexpr std::size_t kMaxJpegExif = 65533 - 6;
// Held from picture to picture in each buffer; a huge picture's memory is given back.
constexpr std::size_t kKeptMemory = 32 << 20;

// From which size to which. The pixels are resampled as they are stored and turned upright then,
// when there are few of them.
struct Geometry {
  int in_width = 0, in_height = 0;    // as stored
  int out_width = 0, out_height = 0;  // as stored
  Orientation orientation{1};

  int upright_width() const { return orientation.transpose ? out_height : out_width; }
  int upright_height() const { return orientation.transpose ? out_width : out_height; }
  bool same_size() const { return in_width == out_width && in_height == out_height; }
  bool nothing_to_do() const { return same_size() && orientation.upright(); }
};

// The stretch of source samples that one axis of a plane is made from.
struct Axis {
  double start = 0, length = 0;
  int size = 0;    // samples to make
  double end = 0;  // where the picture ends, perhaps inside the last sample
};

// A plane of the output's full resolution. `in` pixels of the image are in / step samples, which is
// no integer where a scaled or subsampled plane was rounded up.
Axis full_axis(int in, double step, int out) { return {0, in / step, out, in / step}; }

// A chroma plane of half the output's resolution, rounded up: its sample x lies in the middle of
// the upright output's pixels 2x and 2x + 1. At odd sizes the last sample sticks out by a pixel;
// where the picture is going to be mirrored, it is the first one that must.
Axis half_axis(int in, double step, int out, bool mirrored) {
  const int size = (out + 1) / 2;
  const double pixel = in / step / out;  // source samples for one output pixel
  return {mirrored ? (out - 2 * size) * pixel : 0.0, 2 * size * pixel, size, in / step};
}

// The filter for chroma of half the resolution. The decoder will interpolate it back with a
// triangle; after a triangle here too, it is blurred more than the picture was meant to be. On real
// 4:4:4 photos the sharper cubic is 0.4 dB closer in RGB to a picture resampled at full resolution.
Filter half_filter(Filter filter) { return filter == Filter::bilinear ? Filter::bicubic : filter; }

// How far the decoder may shrink: as far as leaves the filter at least this factor to do. With
// less, the scaled inverse DCT's own, poorer filter shows.
constexpr int kLeftToFilter = 2;

int choose_denominator(const Geometry& g) {
  for (const int denominator : {8, 4, 2}) {
    const std::int64_t factor = std::int64_t{denominator} * kLeftToFilter;
    if (g.in_width >= factor * g.out_width && g.in_height >= factor * g.out_height) {
      return denominator;
    }
  }
  return 1;
}

// Pictures that reach further outside of RGB than this (see gamut.h) are clipped to it before they
// are resampled.
constexpr double kMostOutsideRgb = 20;

ColorModel model_of(const JpegInfo& info) {
  switch (info.color) {
    case JpegColor::grey:
      return ColorModel::grey;
    case JpegColor::cmyk:
    case JpegColor::ycck:
      return ColorModel::cmyk;
    default:
      return info.components.size() == 4 ? ColorModel::cmyk : ColorModel::rgb;
  }
}

bool is_444(const JpegInfo& info) {
  const auto& c = info.components;
  return c.size() >= 3 && std::all_of(c.begin(), c.end(), [&](const JpegComponent& each) {
           return each.h == c[0].h && each.v == c[0].v;
         });
}

// A kind of JPEG that every decoder reads as grey or RGB.
bool is_common(const JpegInfo& info) {
  return info.precision == 8 && !info.arithmetic && !info.lossless &&
         (info.color == JpegColor::grey || info.color == JpegColor::ycc ||
          info.color == JpegColor::rgb);
}

bool is_grey_color(const std::array<std::uint8_t, 3>& color) {
  return color[0] == color[1] && color[1] == color[2];
}

// What to do about a picture's colour profile.
struct Profile {
  bool convert = false;
  std::vector<std::uint8_t> icc;  // to convert by, or else to embed; empty: neither
};

}  // namespace

void ResizeOptions::validate() const {
  const auto require = [](bool condition, const char* message) {
    if (!condition) throw Error(Code::usage, message);
  };
  require(short_side.has_value() != long_side.has_value(),
          "give the length of either the short or the long side");
  require(short_side.value_or(1) >= 1 && long_side.value_or(1) >= 1,
          "a side must be at least one pixel long");
  require(quality >= 1 && quality <= 100, "the quality must be from 1 to 100");
  require(max_pixels >= 1, "the largest number of pixels must be at least 1");
  require(max_scans >= 1, "the largest number of scans must be at least 1");
  require(min_side >= 0, "the smallest side must not be negative");
  require(max_aspect == 0 || max_aspect >= 1, "the largest aspect ratio must be at least 1");
}

std::pair<int, int> output_size(int width, int height, const ResizeOptions& options) {
  const std::int64_t shorter = std::min(width, height), longer = std::max(width, height);
  std::int64_t new_short = shorter, new_long = longer;
  if (options.short_side && (options.enlarge || shorter > *options.short_side)) {
    new_short = *options.short_side;
    new_long = new_short * longer / shorter;
  } else if (options.long_side && (options.enlarge || longer > *options.long_side)) {
    new_long = *options.long_side;
    new_short = std::max<std::int64_t>(new_long * shorter / longer, 1);
  }
  const int s = static_cast<int>(std::min<std::int64_t>(new_short, INT_MAX));
  const int l = static_cast<int>(std::min<std::int64_t>(new_long, INT_MAX));
  return width <= height ? std::pair(s, l) : std::pair(l, s);
}

// Does the work, in memory that it keeps.
class Resizer::Worker {
 public:
  explicit Worker(const ResizeOptions& options) : options_(options) { options_.validate(); }

  ResizeResult resize(const Bytes& input);
  ResizeResult resize_nearest(const Bytes& input);

  // Gives a huge picture's memory back on every way out.
  class Trim {
   public:
    explicit Trim(Worker& worker) : worker_(worker) {}
    ~Trim() { worker_.trim(); }

   private:
    Worker& worker_;
  };

 private:
  void resize_jpeg(const Bytes& input, ResizeResult& result);
  void resize_raster(const Bytes& input, Format format, ResizeResult& result);
  void nearest_png(const Bytes& input, ResizeResult& result);

  // throws Error limit; or gives the reason to leave the picture out.
  std::string check_limits(int width, int height) const;
  Geometry make_geometry(int width, int height, int orientation, OutputFormat to) const;
  Profile judge_profile(ByteView icc, ColorModel model, std::vector<std::string>& warnings);
  bool passes_unchanged(const Bytes& input, const JpegInfo& info, ResizeResult& result);

  void finish_planes(const Planes& planes, const Geometry& g, Profile profile, bool keeps_444,
                     const Bytes& exif, ResizeResult& result);
  void finish_pixels(Plane pixels, ColorModel model, const Box& box, const Geometry& g,
                     Profile profile, bool keeps_444, const Bytes& exif, ResizeResult& result);
  Planes shrink_planes(const Planes& in, const Geometry& g, Subsampling subsampling);
  Plane shrink_plane(const Planes& in, int i, const Axis& x, const Axis& y, Filter filter,
                     const Orientation& orientation);
  // To sRGB without alpha where that must come before resampling.
  Plane flatten(Plane pixels, ColorModel& model, Profile& profile);
  void encode(const Plane& pixels, Profile profile, bool keeps_444, const Bytes& exif,
              ResizeResult& result) const;

  Subsampling subsampling(bool keeps_444) const;
  Bytes upright_exif(const Bytes& exif, Format format, std::vector<std::string>& warnings) const;
  EncodeOptions encode_options(const Profile& profile, const Bytes& exif,
                               std::vector<std::string>& warnings) const;
  void trim();

  ResizeOptions options_;
  ColorConverter color_;
  PlanarScratch planar_;
  ResampleScratch resample_;
  PlaneBuffer decoded_, flat_, flat_alpha_, rgb_;
  std::array<PlaneBuffer, 3> small_, turned_;
};

// ---- Decisions

std::string Resizer::Worker::check_limits(int width, int height) const {
  if (std::int64_t{width} * height > options_.max_pixels) {
    fail(Code::limit, "{} x {} pixels are more than the limit of {}", width, height,
         options_.max_pixels);
  }
  const int shorter = std::min(width, height), longer = std::max(width, height);
  if (shorter < options_.min_side) return "short side below the minimum";
  if (options_.max_aspect > 0 && longer > options_.max_aspect * shorter) {
    return "aspect ratio above the maximum";
  }
  return "";
}

Geometry Resizer::Worker::make_geometry(int width, int height, int orientation,
                                        OutputFormat to) const {
  Geometry g{width, height, 0, 0, Orientation(orientation)};
  const bool turned = g.orientation.transpose;
  const auto [w, h] = output_size(turned ? height : width, turned ? width : height, options_);
  g.out_width = turned ? h : w;
  g.out_height = turned ? w : h;
  if (std::int64_t{w} * h > options_.max_pixels) {
    fail(Code::limit, "the output's {} x {} pixels are more than the limit of {}", w, h,
         options_.max_pixels);
  }
  if (to == OutputFormat::jpeg && std::max(w, h) > kMaxJpegSide) {
    fail(Code::limit, "the output's {} x {} pixels are more than a JPEG can hold", w, h);
  }
  return g;
}

Profile Resizer::Worker::judge_profile(ByteView icc, ColorModel model,
                                       std::vector<std::string>& warnings) {
  if (options_.icc == IccChoice::ignore) return {};
  std::string why;
  const ProfileVerdict verdict = color_.examine(icc, model, &why);
  if (verdict == ProfileVerdict::unusable) warnings.push_back(why + ": ignored");
  if (verdict == ProfileVerdict::none || verdict == ProfileVerdict::unusable) return {};
  const bool keep = options_.icc == IccChoice::keep && model != ColorModel::cmyk;
  if (!keep && verdict == ProfileVerdict::srgb) return {};
  if (options_.icc == IccChoice::keep && !keep) {
    warnings.emplace_back("a CMYK profile cannot be kept: converted to sRGB");
  }
  return {!keep, {icc.begin(), icc.end()}};
}

Subsampling Resizer::Worker::subsampling(bool keeps_444) const {
  const bool full = options_.subsampling == SubsamplingChoice::s444 ||
                    (options_.subsampling == SubsamplingChoice::keep && keeps_444);
  return full ? Subsampling::s444 : Subsampling::s420;
}

// ---- Metadata

Bytes Resizer::Worker::upright_exif(const Bytes& exif, Format format,
                                    std::vector<std::string>& warnings) const {
  if (!options_.keep_exif || exif.empty()) return {};
  const std::optional<Bytes> upright = with_upright_orientation(exif.view());
  if (!upright) {
    warnings.emplace_back("the EXIF block is damaged: dropped");
    return {};
  }
  if (format == Format::jpeg && upright->size() > kMaxJpegExif) {
    warnings.emplace_back("the EXIF block is too large for a JPEG: dropped");
    return {};
  }
  return *upright;
}

EncodeOptions Resizer::Worker::encode_options(const Profile& profile, const Bytes& exif,
                                              std::vector<std::string>& warnings) const {
  EncodeOptions options;
  options.quality = options_.quality;
  if (!profile.convert) options.icc = profile.icc;
  options.exif = upright_exif(exif, Format::jpeg, warnings);
  return options;
}

// ---- JPEG

// Whether a JPEG that needs no change is sound; decoding at an eighth still reads every bit. One
// that the decoder had to mend is encoded anew, so that nobody meets the damage again.
bool Resizer::Worker::passes_unchanged(const Bytes& input, const JpegInfo& info,
                                       ResizeResult& result) {
  if (!info.ends && options_.allow_truncated) return false;
  const DecodeOptions options{8, false};
  std::vector<std::string> mended;
  if (is_planar(info)) {
    decode_planes(input, info, options, planar_, mended);
  } else {
    decode_interleaved(input, info, options, decoded_, mended);
  }
  if (!mended.empty()) return false;
  result.data = input;
  if (info.end_offset < input.size()) {
    result.data = input.slice(0, info.end_offset);
  } else {
    result.kind = ResizeResult::Kind::unchanged;
  }
  return true;
}

void Resizer::Worker::resize_jpeg(const Bytes& input, ResizeResult& result) {
  const JpegInfo info = read_jpeg_info(input, options_.max_scans);
  result.warnings = info.warnings;
  result.reason = check_limits(info.width, info.height);
  if (!result.reason.empty()) return;
  const OutputFormat to = options_.to == OutputFormat::png ? OutputFormat::png : OutputFormat::jpeg;
  result.format = to == OutputFormat::png ? Format::png : Format::jpeg;
  const Geometry g = make_geometry(info.width, info.height, info.orientation, to);
  const ColorModel model = model_of(info);
  const Profile profile = judge_profile(info.icc, model, result.warnings);
  if (g.nothing_to_do() && to == OutputFormat::jpeg && !profile.convert && is_common(info) &&
      passes_unchanged(input, info, result)) {
    return;
  }
  const DecodeOptions options{choose_denominator(g), options_.allow_truncated};
  if (is_planar(info)) {
    std::vector<std::string> warnings;
    const Planes planes = decode_planes(input, info, options, planar_, warnings);
    if (planes.count == 1 || outside_rgb(planes) <= kMostOutsideRgb) {
      result.warnings.insert(result.warnings.end(), warnings.begin(), warnings.end());
      finish_planes(planes, g, profile, is_444(info), info.exif, result);
      return;
    }
  }
  const Plane pixels = decode_interleaved(input, info, options, decoded_, result.warnings);
  const double width = static_cast<double>(g.in_width) / options.denominator;
  const double height = static_cast<double>(g.in_height) / options.denominator;
  const Box box{0, 0, width, height, width, height};
  finish_pixels(pixels, model, box, g, profile, is_444(info), info.exif, result);
}

// One plane of the small picture, upright.
Plane Resizer::Worker::shrink_plane(const Planes& in, int i, const Axis& x, const Axis& y,
                                    Filter filter, const Orientation& orientation) {
  const auto k = static_cast<std::size_t>(i);
  const Plane& plane = in.plane[k];
  const bool as_it_is = x.start == 0 && y.start == 0 && x.size == plane.width &&
                        y.size == plane.height && x.length == plane.width &&
                        y.length == plane.height;
  Plane small = plane;
  if (!as_it_is) {
    small = small_[k].shape(x.size, y.size);
    resample(as_const(plane), {x.start, y.start, x.length, y.length, x.end, y.end}, filter, small,
             resample_);
  }
  return orient(small, orientation, turned_[k]);
}

Planes Resizer::Worker::shrink_planes(const Planes& in, const Geometry& g,
                                      Subsampling subsampling) {
  Planes out;
  out.count = in.count;
  out.image_width = g.upright_width();
  out.image_height = g.upright_height();
  for (int i = 0; i < in.count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const bool half = i > 0 && subsampling == Subsampling::s420;
    const Axis x = half ? half_axis(g.in_width, in.step_x[k], g.out_width, g.orientation.mirror_x)
                        : full_axis(g.in_width, in.step_x[k], g.out_width);
    const Axis y = half ? half_axis(g.in_height, in.step_y[k], g.out_height, g.orientation.mirror_y)
                        : full_axis(g.in_height, in.step_y[k], g.out_height);
    const Filter filter = half ? half_filter(options_.filter) : options_.filter;
    out.plane[k] = shrink_plane(in, i, x, y, filter, g.orientation);
    out.step_x[k] = out.step_y[k] = half ? 2 : 1;
  }
  return out;
}

// The fast path: from planes to planes, unless RGB is needed.
void Resizer::Worker::finish_planes(const Planes& planes, const Geometry& g, Profile profile,
                                    bool keeps_444, const Bytes& exif, ResizeResult& result) {
  const bool needs_rgb = profile.convert || result.format == Format::png;
  if (!needs_rgb) {
    const Planes small = shrink_planes(planes, g, subsampling(keeps_444));
    result.data = encode_planes(small, encode_options(profile, exif, result.warnings));
    return;
  }
  const Planes small = shrink_planes(planes, g, Subsampling::s444);
  Plane pixels = small.plane[0];
  ColorModel model = ColorModel::grey;
  if (small.count == 3) {
    model = ColorModel::rgb;
    pixels = rgb_.shape(small.image_width, small.image_height, 3);
    ycc_to_rgb(as_const(small.plane[0]), as_const(small.plane[1]), as_const(small.plane[2]),
               pixels);
  }
  if (profile.convert) {
    color_.to_srgb(profile.icc, model, pixels);
    profile = {};
  }
  encode(pixels, profile, keeps_444, exif, result);
}

// ---- Interleaved pixels

Plane Resizer::Worker::flatten(Plane pixels, ColorModel& model, Profile& profile) {
  if (model == ColorModel::cmyk) {
    const Plane rgb = flat_.shape(pixels.width, pixels.height, 3);
    if (profile.convert) {
      color_.cmyk_to_srgb(profile.icc, as_const(pixels), rgb);
    } else {
      cmyk_to_rgb(as_const(pixels), rgb);
    }
    profile = {};
    model = ColorModel::rgb;
    return rgb;
  }
  if (pixels.channels == color_channels(model)) return pixels;
  // A grey profile does not fit the colours that a coloured background brings.
  const bool turns_to_color = model == ColorModel::grey && !is_grey_color(options_.background);
  if (!profile.icc.empty() && (profile.convert || turns_to_color)) {
    color_.to_srgb(profile.icc, model, pixels);
    profile = {};
  }
  if (turns_to_color) model = ColorModel::rgb;
  return compose(as_const(pixels), options_.background, flat_alpha_);
}

void Resizer::Worker::finish_pixels(Plane pixels, ColorModel model, const Box& box,
                                    const Geometry& g, Profile profile, bool keeps_444,
                                    const Bytes& exif, ResizeResult& result) {
  pixels = flatten(pixels, model, profile);
  if (pixels.width != g.out_width || pixels.height != g.out_height || !g.same_size()) {
    const Plane small = small_[0].shape(g.out_width, g.out_height, pixels.channels);
    resample(as_const(pixels), box, options_.filter, small, resample_);
    pixels = small;
  }
  pixels = orient(pixels, g.orientation, turned_[0]);
  if (profile.convert) {
    color_.to_srgb(profile.icc, model, pixels);
    profile = {};
  }
  encode(pixels, profile, keeps_444, exif, result);
}

void Resizer::Worker::encode(const Plane& pixels, Profile profile, bool keeps_444,
                             const Bytes& exif, ResizeResult& result) const {
  if (result.format == Format::jpeg) {
    result.data = encode_interleaved(as_const(pixels), subsampling(keeps_444),
                                     encode_options(profile, exif, result.warnings));
    return;
  }
  PngEncodeOptions options;
  options.icc = std::move(profile.icc);
  options.exif = upright_exif(exif, Format::png, result.warnings);
  result.data = encode_png(as_const(pixels), options);
}

void Resizer::Worker::resize_raster(const Bytes& input, Format format, ResizeResult& result) {
  const RasterInfo info = read_raster_info(input, format);
  result.reason = check_limits(info.width, info.height);
  if (!result.reason.empty()) return;
  const OutputFormat to =
      options_.to == OutputFormat::jpeg ? OutputFormat::jpeg : OutputFormat::png;
  result.format = to == OutputFormat::png ? Format::png : Format::jpeg;
  const Geometry g = make_geometry(info.width, info.height, info.orientation, to);
  const Raster raster = decode_raster(input, format, options_.allow_truncated, decoded_);
  result.warnings = raster.warnings;
  const Profile profile = judge_profile(raster.icc, raster.model, result.warnings);
  if (g.nothing_to_do() && format == Format::png && result.format == Format::png && info.plain &&
      !profile.convert && raster.warnings.empty()) {
    result.kind = ResizeResult::Kind::unchanged;
    result.data = input;
    return;
  }
  const Box box{0, 0, static_cast<double>(g.in_width), static_cast<double>(g.in_height)};
  finish_pixels(raster.pixels, raster.model, box, g, profile, false, raster.exif, result);
}

// ---- Masks

void Resizer::Worker::nearest_png(const Bytes& input, ResizeResult& result) {
  const PngInfo info = read_png_info(input);
  result.warnings = info.warnings;
  result.reason = check_limits(info.width, info.height);
  if (!result.reason.empty()) return;
  const Geometry g = make_geometry(info.width, info.height, info.orientation, OutputFormat::png);
  PngRaw raw = decode_png_raw(info, {options_.allow_truncated}, decoded_, result.warnings);
  if (g.nothing_to_do() && result.warnings.empty()) {
    result.kind = ResizeResult::Kind::unchanged;
    result.data = input;
    return;
  }
  const Plane small = small_[0].shape(g.out_width, g.out_height, raw.pixels.channels);
  const Box box{0, 0, static_cast<double>(g.in_width), static_cast<double>(g.in_height)};
  resample_nearest(as_const(raw.pixels), box, raw.pixels.channels, small);
  raw.pixels = orient(small, g.orientation, turned_[0]);
  result.data = encode_png_raw(raw);
}

// ---- The frame

ResizeResult Resizer::Worker::resize(const Bytes& input) {
  if (input.empty()) fail(Code::empty, "the file is empty");
  const Format format = sniff(input.view());
  ResizeResult result;
  switch (format) {
    case Format::unknown: {
      result.kind = ResizeResult::Kind::not_an_image;
      result.data = input;
      return result;
    }
    case Format::jpeg:
      resize_jpeg(input, result);
      break;
    case Format::png:
    case Format::webp:
    case Format::tiff:
    case Format::bmp:
    case Format::gif:
      resize_raster(input, format, result);
      break;
    default:
      fail(Code::unsupported, "{} is not supported; convert it first", name(format));
  }
  if (!result.reason.empty()) result.kind = ResizeResult::Kind::skipped;
  return result;
}

ResizeResult Resizer::Worker::resize_nearest(const Bytes& input) {
  if (input.empty()) fail(Code::empty, "the file is empty");
  ResizeResult result;
  result.format = sniff(input.view());
  if (result.format == Format::unknown) {
    result.kind = ResizeResult::Kind::not_an_image;
    result.data = input;
    return result;
  }
  if (result.format != Format::png) {
    fail(Code::unsupported, "a mask must be a PNG, this is {}", name(result.format));
  }
  nearest_png(input, result);
  if (!result.reason.empty()) result.kind = ResizeResult::Kind::skipped;
  return result;
}

void Resizer::Worker::trim() {
  for (PlaneBuffer* buffer : {&decoded_, &flat_, &flat_alpha_, &rgb_, &resample_.rows}) {
    buffer->trim(kKeptMemory);
  }
  for (auto* buffers : {&planar_.planes, &small_, &turned_}) {
    for (PlaneBuffer& buffer : *buffers) buffer.trim(kKeptMemory);
  }
}

Resizer::Resizer(const ResizeOptions& options) : worker_(std::make_unique<Worker>(options)) {}
Resizer::~Resizer() = default;

ResizeResult Resizer::resize(const Bytes& input) {
  const Worker::Trim trim(*worker_);
  return worker_->resize(input);
}

ResizeResult Resizer::resize_nearest(const Bytes& input) {
  const Worker::Trim trim(*worker_);
  return worker_->resize_nearest(input);
}

}  // namespace prep::image
