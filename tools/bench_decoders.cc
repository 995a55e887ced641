#include "tools/bench_decoders.h"

#include <turbojpeg.h>

#include <algorithm>
#include <limits>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "lib/core/error.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/rgb_decoder.h"

namespace prep {
namespace {

constexpr int kScaledSide = 256;

class LibjpegRgb final : public PictureDecoder {
 public:
  explicit LibjpegRgb(int least_side) : decoder_(least_side) {}
  Decoded decode(const Bytes& data) override {
    return {Decoded::Layout::rgb, image::as_const(decoder_.decode(data.view()))};
  }

 private:
  image::RgbDecoder decoder_;
};

// Without upsampling and colour conversion: what a loader does that leaves these to the GPU.
class LibjpegPlanes final : public PictureDecoder {
 public:
  Decoded decode(const Bytes& data) override {
    warnings_.clear();
    // Scans were counted before.
    const image::JpegInfo info =
        image::read_jpeg_info(data, std::numeric_limits<int>::max(), /*header_only=*/true);
    const image::Planes planes = image::decode_planes(data, info, {}, scratch_, warnings_);
    return {Decoded::Layout::luma, image::as_const(planes.plane[0])};
  }

 private:
  image::PlanarScratch scratch_;
  std::vector<std::string> warnings_;
};

class TurboJpeg final : public PictureDecoder {
 public:
  TurboJpeg() : handle_(tjInitDecompress()) {
    if (!handle_) fail(Code::internal, "TurboJPEG: {}", tjGetErrorStr2(nullptr));
  }
  TurboJpeg(const TurboJpeg&) = delete;
  ~TurboJpeg() override { tjDestroy(handle_); }

  Decoded decode(const Bytes& data) override {
    int width = 0, height = 0, subsampling = 0, color = 0;
    const auto size = static_cast<unsigned long>(data.size());
    check(tjDecompressHeader3(handle_, data.data(), size, &width, &height, &subsampling, &color));
    const image::Plane pixels = buffer_.shape(width, height);
    check(tjDecompress2(handle_, data.data(), size, pixels.data, width,
                        static_cast<int>(pixels.stride), height, TJPF_RGB, 0));
    return {Decoded::Layout::rgb, image::as_const(pixels)};
  }

 private:
  // A warning goes with a picture.
  void check(int status) {
    if (status != 0 && tjGetErrorCode(handle_) != TJERR_WARNING) {
      fail(Code::corrupt, "{}", tjGetErrorStr2(handle_));
    }
  }

  tjhandle handle_;
  image::TightRgbBuffer buffer_;
};

// Pixels as they are stored: what an orientation tag costs is no matter of the decoder, and the
// other decoders do not apply it.
constexpr int kOpenCvFlags = cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION;

Decoded decoded(const cv::Mat& pixels) {
  if (pixels.empty()) fail(Code::corrupt, "OpenCV cannot decode it");
  return {Decoded::Layout::bgr,
          {pixels.data, pixels.cols, pixels.rows, static_cast<std::ptrdiff_t>(pixels.step[0]), 3}};
}

class OpenCvImdecode final : public PictureDecoder {
 public:
  Decoded decode(const Bytes& data) override {
    if (data.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      fail(Code::limit, "more than 2 GiB, which OpenCV does not take");
    }
    // OpenCV only reads it, though a Mat can't say so.
    const cv::Mat input(1, static_cast<int>(data.size()), CV_8UC1,
                        const_cast<std::uint8_t*>(data.data()));
    try {
      cv::imdecode(input, kOpenCvFlags, &pixels_);
    } catch (const cv::Exception& error) {
      fail(Code::corrupt, "OpenCV: {}", error.err);
    }
    return decoded(pixels_);
  }

 private:
  cv::Mat pixels_;
};

class OpenCvImread final : public PictureDecoder {
 public:
  Decoded decode(const Bytes&) override { fail(Code::internal, "imread reads files only"); }
  Decoded decode_file(const std::string& path) override {
    try {
      pixels_ = cv::imread(path, kOpenCvFlags);
    } catch (const cv::Exception& error) {
      fail(Code::corrupt, "OpenCV: {}", error.err);
    }
    return decoded(pixels_);
  }

 private:
  cv::Mat pixels_;
};

std::vector<DecoderKind> make_kinds() {
  // One thread is one thread, and what OpenCV has to say of a bad file is said by us.
  cv::setNumThreads(1);
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  return {
      {"rgb", "libjpeg-turbo, RGB", false, false, [] { return std::make_unique<LibjpegRgb>(0); }},
      {"scaled", "libjpeg-turbo, scaled", false, false,
       [] { return std::make_unique<LibjpegRgb>(kScaledSide); }},
      {"planes", "libjpeg-turbo, planes", false, false,
       [] { return std::make_unique<LibjpegPlanes>(); }},
      {"turbojpeg", "TurboJPEG", false, false, [] { return std::make_unique<TurboJpeg>(); }},
      {"imdecode", "OpenCV imdecode", true, false,
       [] { return std::make_unique<OpenCvImdecode>(); }},
      {"imread", "OpenCV imread", true, true, [] { return std::make_unique<OpenCvImread>(); }}};
}

}  // namespace

Decoded PictureDecoder::decode_file(const std::string&) {
  fail(Code::internal, "this decoder reads no files");
}

const std::vector<DecoderKind>& decoder_kinds() {
  static const std::vector<DecoderKind> kinds = make_kinds();
  return kinds;
}

const DecoderKind& decoder_named(std::string_view name) {
  const std::vector<DecoderKind>& kinds = decoder_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const DecoderKind& kind) { return kind.name == name; });
  if (found == kinds.end()) fail(Code::internal, "there is no decoder {}", name);
  return *found;
}

}  // namespace prep
