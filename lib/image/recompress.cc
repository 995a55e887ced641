#include "lib/image/recompress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "lib/core/error.h"
#include "lib/image/jpeg_coefficients.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/jpeg_metadata.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/quant_tables.h"
#include "lib/image/resample.h"
#include "lib/image/ssim.h"
#include "lib/image/transcode.h"

namespace prep::image {
namespace {

constexpr std::size_t kKeptMemory = std::size_t{64} << 20;
constexpr int kScansOfOurs = 10;   // at most, of libjpeg's simple progression
constexpr int kLargestStep = 255;  // of a baseline JPEG
constexpr int kBestQuality = 100;  // steps of 1, so that the source's own stay

// Why a JPEG can't even be read; empty if it can.
std::string unreadable(const JpegInfo& info) {
  if (info.lossless) return "lossless JPEG";
  if (info.precision != 8) return fmt::format("{} bits a sample", info.precision);
  return "";
}

// Why a JPEG that can be read is not treated; empty if it is.
std::string untreated(const JpegInfo& info) {
  switch (info.color) {
    case JpegColor::grey:
      return "";
    case JpegColor::ycc:
      return is_planar(info) ? "" : "unusual chroma subsampling";
    case JpegColor::rgb:
      return "RGB";
    case JpegColor::cmyk:
      return "CMYK";
    case JpegColor::ycck:
      return "YCCK";
    case JpegColor::unknown:
      break;
  }
  return fmt::format("{} components", info.components.size());
}

// 0 where there is no table to tell it by, as in a lossless JPEG.
int known_quality(const JpegInfo& info) {
  return info.quant[info.components[0].quant_table][0] > 0 ? estimate_quality(info) : 0;
}

// The step sizes for a component: never finer than the source's, which would only store its
// rounding errors.
QuantTable coarser(const QuantTable& source, StandardTable kind, int quality) {
  QuantTable steps = standard_quant_table(kind, quality);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = std::min<std::uint16_t>(std::max(steps[i], source[i]), kLargestStep);
  }
  return steps;
}

std::vector<QuantTable> output_steps(const std::vector<CoefficientPlane>& planes, int quality) {
  std::vector<QuantTable> steps;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const StandardTable kind = i == 0 ? StandardTable::luma : StandardTable::chroma;
    steps.push_back(coarser(planes[i].steps, kind, quality));
  }
  return steps;
}

// Whether the source's steps are at least as large as those of `quality` everywhere.
bool at_quality(const std::vector<CoefficientPlane>& planes, int quality) {
  const std::vector<QuantTable> steps = output_steps(planes, quality);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    for (std::size_t k = 0; k < steps[i].size(); ++k) {
      if (planes[i].steps[k] < steps[i][k]) return false;
    }
  }
  return true;
}

// How much more resolution luma has than chroma.
struct Ratio {
  int h = 1, v = 1;
  bool regular = true;  // the same for Cb and Cr

  explicit Ratio(const std::vector<CoefficientPlane>& planes) {
    if (planes.size() < 3) return;
    h = planes[0].h / planes[1].h;
    v = planes[0].v / planes[1].v;
    regular = planes[1].h == planes[2].h && planes[1].v == planes[2].v;
  }
  bool is(int wanted) const { return regular && h == wanted && v == wanted; }
};

}  // namespace

void RecompressOptions::validate() const {
  if (quality < 1 || quality > 100) fail(Code::usage, "the quality must be 1 to 100");
  if (!(min_gain >= 0 && min_gain < 1)) {
    fail(Code::usage, "the least gain must be at least 0 % and less than 100 %");
  }
  if (target_ssim && !(*target_ssim > 0 && *target_ssim <= 1)) {
    fail(Code::usage, "the SSIM must be above 0 and at most 1");
  }
  if (max_pixels < 1) fail(Code::usage, "the limit of pixels must be at least 1");
  if (max_scans < 1) fail(Code::usage, "the limit of scans must be at least 1");
}

class Recompressor::Worker {
 public:
  explicit Worker(const RecompressOptions& options) : options_(options) { options_.validate(); }

  RecompressResult recompress(const Bytes& input);
  // Gives memory back after one huge picture.
  void trim();

 private:
  using Subsampling = RecompressOptions::Subsampling;
  using Method = RecompressOptions::Method;
  // One image on its way.
  struct Job {
    const Bytes& input;
    const JpegInfo& info;
    const std::vector<CoefficientPlane>& planes;
    Ratio ratio;
    KeptMetadata metadata;
    bool by_pixels = false;
  };
  struct Encoded {
    Bytes data;
    int quality = 0;
  };

  void treat(const Bytes& input, const JpegInfo& info, RecompressResult& result);
  bool needs_pixels(const Ratio& ratio) const;
  bool changes_subsampling(const Job& job) const;
  std::string obstacle(const Job& job) const;
  bool at_target(const Job& job) const;
  bool gains_enough(const Job& job, const Bytes& data) const;
  std::optional<Encoded> encode_to_target(const Job& job, std::string& reason);
  Encoded mend(const Job& job, std::optional<Encoded> encoded);
  std::optional<Encoded> encode_to_ssim(const Job& job);
  Bytes encode(const Job& job, int quality);
  Bytes encode_coefficients(const Job& job, int quality);
  Bytes transcode_job(const Job& job, const TranscodeOptions& options);
  Bytes encode_pixels(const Job& job, int quality);
  Plane resample_chroma(const Planes& planes, std::size_t i, int step);

  RecompressOptions options_;
  BaselineDecoder decoder_;
  TranscodeScratch transcode_;
  PlanarScratch reference_, source_, result_;
  ResampleScratch resample_;
  std::array<PlaneBuffer, 2> chroma_;
};

// ---- Decisions

RecompressResult Recompressor::Worker::recompress(const Bytes& input) {
  if (input.empty()) fail(Code::empty, "the file is empty");
  RecompressResult result;
  result.data = input;
  const JpegInfo info = read_jpeg_info(input, options_.max_scans);
  if (std::int64_t{info.width} * info.height > options_.max_pixels) {
    fail(Code::limit, "{} x {} pixels are more than the limit of {}", info.width, info.height,
         options_.max_pixels);
  }
  result.warnings = info.warnings;
  result.source_quality = result.quality = known_quality(info);
  result.reason = unreadable(info);
  if (result.reason.empty()) {
    treat(input, info, result);
  } else if (!info.ends) {
    fail(Code::truncated, "the file ends within the image data");
  }
  if (!result.reason.empty()) result.kind = RecompressResult::Kind::copied;
  return result;
}

// Sets the result's data, or the reason for leaving the input as it is.
void Recompressor::Worker::treat(const Bytes& input, const JpegInfo& info,
                                 RecompressResult& result) {
  const std::size_t sound = result.warnings.size();
  const JpegCoefficients coefficients(input, info, &decoder_, result.warnings);
  const bool mended = result.warnings.size() > sound;
  result.reason = untreated(info);
  if (!result.reason.empty()) return;
  const std::vector<CoefficientPlane>& planes = coefficients.planes();
  Job job{input, info, planes, Ratio(planes), {}, false};
  job.by_pixels = options_.method == Method::pixel || needs_pixels(job.ratio);
  job.metadata = options_.strip_all ? essential_metadata(info, input.size())
                                    : all_metadata(info, input.size());
  result.reason = obstacle(job);
  if (!result.reason.empty()) return;
  std::optional<Encoded> encoded = encode_to_target(job, result.reason);
  if (!result.reason.empty() && mended) {
    encoded = mend(job, std::move(encoded));
    result.reason.clear();
  }
  if (!result.reason.empty()) return;
  result.data = std::move(encoded->data);
  result.quality = result.source_quality > 0 ? std::min(result.source_quality, encoded->quality)
                                             : encoded->quality;
  result.metadata_dropped = job.metadata.dropped;
}

// Chroma to more resolution than it has, or Cb and Cr to the same.
bool Recompressor::Worker::needs_pixels(const Ratio& ratio) const {
  return !ratio.regular || (options_.subsampling == Subsampling::s444 && !ratio.is(1));
}

bool Recompressor::Worker::changes_subsampling(const Job& job) const {
  if (job.planes.size() < 3) return false;
  if (options_.subsampling == Subsampling::keep) return false;
  return !job.ratio.is(options_.subsampling == Subsampling::s420 ? 2 : 1);
}

// Why the options forbid what this file would need; empty if they don't.
std::string Recompressor::Worker::obstacle(const Job& job) const {
  if (!job.ratio.regular && options_.subsampling == Subsampling::keep) {
    return "unusual chroma subsampling";
  }
  if (job.by_pixels && options_.method == Method::dct) {
    return "the chroma subsampling can only be changed by way of pixels";
  }
  return "";
}

// Whether there is nothing to gain: not in the tables, nor by giving up resolution of chroma.
bool Recompressor::Worker::at_target(const Job& job) const {
  if (options_.target_ssim || !at_quality(job.planes, options_.quality)) return false;
  return options_.subsampling == Subsampling::s444 || !changes_subsampling(job);
}

bool Recompressor::Worker::gains_enough(const Job& job, const Bytes& data) const {
  const auto comparable = static_cast<double>(job.input.size() - job.metadata.dropped);
  return static_cast<double>(data.size()) <= comparable * (1 - options_.min_gain);
}

// ---- Encoding

// With the reason, if there is one, why the source is better left as it is.
std::optional<Recompressor::Worker::Encoded> Recompressor::Worker::encode_to_target(
    const Job& job, std::string& reason) {
  if (at_target(job)) {
    reason = "at or below the target quality already";
    return std::nullopt;
  }
  std::optional<Encoded> encoded = options_.target_ssim
                                       ? encode_to_ssim(job)
                                       : Encoded{encode(job, options_.quality), options_.quality};
  if (!encoded) {
    reason = "no lower quality has the wanted SSIM";
  } else if (!gains_enough(job, encoded->data)) {
    reason = fmt::format("not {:g} % smaller", options_.min_gain * 100);
  }
  return encoded;
}

// A damaged file can't be left as it is. Where nothing could be gained its coefficients stay; where
// too little was gained the target is reached all the same, so that a second run has nothing to do,
// but not by blowing chroma up.
Recompressor::Worker::Encoded Recompressor::Worker::mend(const Job& job,
                                                         std::optional<Encoded> encoded) {
  if (encoded && options_.subsampling != Subsampling::s444) return *std::move(encoded);
  const int quality = encoded ? encoded->quality : kBestQuality;
  if (!job.ratio.regular) return {encode_pixels(job, quality), quality};
  TranscodeOptions options;
  options.steps = output_steps(job.planes, quality);
  options.progressive = options_.progressive;
  return {transcode_job(job, options), quality};
}

// The size of a JPEG and its SSIM grow with the quality, near enough for a binary search.
std::optional<Recompressor::Worker::Encoded> Recompressor::Worker::encode_to_ssim(const Job& job) {
  std::vector<std::string> known_warnings;
  const Planes source = decode_planes(job.input, job.info, {}, reference_, known_warnings);
  const ConstPlane luma = as_const(source.plane[0]);
  std::optional<Encoded> best;
  int low = 1, high = std::max(estimate_quality(job.info), 1);
  while (low <= high) {
    const int quality = (low + high) / 2;
    Bytes data = encode(job, quality);
    const Planes decoded =
        decode_planes(data, read_jpeg_info(data, kScansOfOurs), {}, result_, known_warnings);
    if (ssim(luma, as_const(decoded.plane[0])) >= *options_.target_ssim) {
      best = Encoded{std::move(data), quality};
      high = quality - 1;
    } else {
      low = quality + 1;
    }
  }
  return best;
}

Bytes Recompressor::Worker::encode(const Job& job, int quality) {
  return job.by_pixels ? encode_pixels(job, quality) : encode_coefficients(job, quality);
}

Bytes Recompressor::Worker::encode_coefficients(const Job& job, int quality) {
  TranscodeOptions options;
  options.steps = output_steps(job.planes, quality);
  if (job.planes.size() > 1 && options_.subsampling == Subsampling::s420) {
    options.halve_across = job.ratio.h == 1;
    options.halve_down = job.ratio.v == 1;
  }
  options.progressive = options_.progressive;
  options.optimize = options_.optimize;
  options.rate_distortion = options_.rate_distortion;
  return transcode_job(job, options);
}

Bytes Recompressor::Worker::transcode_job(const Job& job, const TranscodeOptions& options) {
  return transcode(job.planes, job.info.width, job.info.height, options, job.metadata.segments,
                   transcode_);
}

Bytes Recompressor::Worker::encode_pixels(const Job& job, int quality) {
  std::vector<std::string> known_warnings;
  Planes planes = decode_planes(job.input, job.info, {}, source_, known_warnings);
  if (options_.subsampling != Subsampling::keep) {
    const int step = options_.subsampling == Subsampling::s420 ? 2 : 1;
    for (std::size_t i = 1; i < static_cast<std::size_t>(planes.count); ++i) {
      planes.plane[i] = resample_chroma(planes, i, step);
    }
  }
  EncodeOptions options;
  options.quality = quality;
  options.steps = output_steps(job.planes, quality);
  options.optimize = options_.optimize;
  options.progressive = options_.progressive;
  return with_metadata(encode_planes(planes, options), job.metadata.segments);
}

// Chroma with a sample for every `step` pixels in each direction.
Plane Recompressor::Worker::resample_chroma(const Planes& planes, std::size_t i, int step) {
  const Plane& from = planes.plane[i];
  const int width = (planes.image_width + step - 1) / step;
  const int height = (planes.image_height + step - 1) / step;
  if (from.width == width && from.height == height) return from;
  const Plane to = chroma_[i - 1].shape(width, height);
  Box box{0, 0, width * step / planes.step_x[i], height * step / planes.step_y[i]};
  box.picture_right = planes.image_width / planes.step_x[i];
  box.picture_bottom = planes.image_height / planes.step_y[i];
  const Filter filter = step == 2 ? Filter::box : Filter::bilinear;
  resample(as_const(from), box, filter, to, resample_);
  return to;
}

void Recompressor::Worker::trim() {
  decoder_.trim(kKeptMemory);
  if (transcode_.memory() > kKeptMemory) transcode_ = {};
  for (PlanarScratch* scratch : {&reference_, &source_, &result_}) {
    for (PlaneBuffer& buffer : scratch->planes) buffer.trim(kKeptMemory);
  }
  for (PlaneBuffer& buffer : chroma_) buffer.trim(kKeptMemory);
}

Recompressor::Recompressor(const RecompressOptions& options)
    : worker_(std::make_unique<Worker>(options)) {}
Recompressor::~Recompressor() = default;

RecompressResult Recompressor::recompress(const Bytes& input) {
  struct Trim {
    Worker& worker;
    ~Trim() { worker.trim(); }
  } const trim{*worker_};
  return worker_->recompress(input);
}

}  // namespace prep::image
