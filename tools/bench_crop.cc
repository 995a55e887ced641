#include "tools/bench_crop.h"

#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <random>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr int kAttempts = 10;
constexpr double kLeastArea = 0.08, kMostArea = 1;
constexpr double kLeastAspect = 3.0 / 4, kMostAspect = 4.0 / 3;

// In [low, high), the same on every machine.
double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

int below(std::mt19937_64& random, int count) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(count));
}

CropBox middle(int width, int height, int box_width, int box_height) {
  return {(width - box_width) / 2, (height - box_height) / 2, box_width, box_height};
}

}  // namespace

CropBox random_resized_box(int width, int height, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double area = static_cast<double>(width) * height;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double target = area * uniform(random, kLeastArea, kMostArea);
    const double aspect = std::exp(uniform(random, std::log(kLeastAspect), std::log(kMostAspect)));
    const int w = static_cast<int>(std::lround(std::sqrt(target * aspect)));
    const int h = static_cast<int>(std::lround(std::sqrt(target / aspect)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {below(random, width - w + 1), below(random, height - h + 1), w, h};
  }
  const double aspect = static_cast<double>(width) / height;
  const double nearest = std::clamp(aspect, kLeastAspect, kMostAspect);
  const int w = aspect > nearest ? static_cast<int>(std::lround(height * nearest)) : width;
  const int h = aspect < nearest ? static_cast<int>(std::lround(width / nearest)) : height;
  return middle(width, height, std::clamp(w, 1, width), std::clamp(h, 1, height));
}

CropBox center_box(int width, int height) {
  const int side = std::max(1, std::min(width, height) * 7 / 8);
  return middle(width, height, side, side);
}

void crop_to(const image::ConstPlane& pixels, const CropBox& box, int side, std::uint8_t* out) {
  // OpenCV only reads it, though a Mat can't say so.
  const cv::Mat whole(pixels.height, pixels.width, CV_8UC3, const_cast<std::uint8_t*>(pixels.data),
                      static_cast<std::size_t>(pixels.stride));
  cv::Mat result(side, side, CV_8UC3, out);
  try {
    cv::resize(whole(cv::Rect(box.x, box.y, box.width, box.height)), result, result.size(), 0, 0,
               cv::INTER_LINEAR);
  } catch (const cv::Exception& error) {
    fail(Code::internal, "OpenCV: {}", error.err);
  }
}

}  // namespace prep
