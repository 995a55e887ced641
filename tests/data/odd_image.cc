#include "tests/data/odd_image.h"

#include <algorithm>
#include <cstdint>
#include <tuple>

namespace prep::testdata {

std::pair<int, int> resized(int width, int height) {
  constexpr int kShort = 256;
  if (std::min(width, height) <= kShort) return {width, height};
  if (width <= height) return {kShort, static_cast<int>(std::int64_t{kShort} * height / width)};
  return {static_cast<int>(std::int64_t{kShort} * width / height), kShort};
}

OddImage ok(std::string path, std::string data, int upright_width, int upright_height) {
  OddImage image{"ok/" + std::move(path), "ok", std::move(data)};
  std::tie(image.width, image.height) = resized(upright_width, upright_height);
  return image;
}

OddImage ok(std::string path, std::string data, const Corners& corners) {
  OddImage image = ok(std::move(path), std::move(data), kWidth, kHeight);
  image.corners = corners;
  return image;
}

Picture rgb_quarters() { return quarters(kWidth, kHeight, 3, kRgbCorners); }

OddImage ok(std::string path, std::string data) {
  return ok(std::move(path), std::move(data), kRgbCorners);
}

OddImage passed(std::string path, std::string data, int width, int height) {
  return {"ok/" + std::move(path), "passed", std::move(data), width, height};
}

OddImage failed(std::string path, const std::string& code, std::string data) {
  return {"bad/" + std::move(path), "failed:" + code, std::move(data)};
}

OddImage warning(OddImage image) {
  image.warns = true;
  return image;
}

}  // namespace prep::testdata
