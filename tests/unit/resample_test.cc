#include "lib/image/resample.h"

#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/core/error.h"

namespace prep::image::resample_test {
namespace {

using Samples = std::vector<std::uint8_t>;

// A picture without a byte to spare behind its last pixel, so that the sanitizer sees every slip.
struct Picture {
  Picture(int w, int h, int c)
      : width(w), height(h), channels(c), samples(static_cast<std::size_t>(w) * h * c) {}
  Plane plane() {
    return {samples.data(), width, height, std::ptrdiff_t{width} * channels, channels};
  }
  std::uint8_t& at(int x, int y, int c = 0) {
    return samples[(static_cast<std::size_t>(y) * width + x) * channels + c];
  }
  int width, height, channels;
  Samples samples;
};

Picture noise(int width, int height, int channels, unsigned seed) {
  Picture picture(width, height, channels);
  std::mt19937 random(seed);
  // Only extremes in part of the pictures: they make filters overshoot most.
  for (auto& s : picture.samples) s = static_cast<std::uint8_t>(random() % 256);
  if (seed % 2) {
    for (auto& s : picture.samples) s = s < 128 ? 0 : 255;
  }
  return picture;
}

Box whole(const Picture& picture) {
  return {0, 0, static_cast<double>(picture.width), static_cast<double>(picture.height)};
}

Picture resampled(Picture& in, const Box& box, Filter filter, int width, int height) {
  Picture out(width, height, in.channels);
  ResampleScratch scratch;
  resample(as_const(in.plane()), box, filter, out.plane(), scratch);
  return out;
}

// The definition in resample.h, in floating point and without any attention to speed.
double kernel(Filter filter, double x) {
  const double d = std::fabs(x), pi = std::acos(-1.0);
  switch (filter) {
    case Filter::box:
      return d < 0.5 ? 1 : 0;
    case Filter::bilinear:
      return d < 1 ? 1 - d : 0;
    case Filter::bicubic:
      if (d < 1) return 1.5 * d * d * d - 2.5 * d * d + 1;
      return d < 2 ? -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2 : 0;
    case Filter::lanczos:
      if (d == 0) return 1;
      return d < 3 ? 3 * std::sin(pi * d) * std::sin(pi * d / 3) / (pi * pi * d * d) : 0;
  }
  return 0;
}

std::vector<double> exact_weights(int in_size, double start, double length, int out_size,
                                  Filter filter, int x) {
  const double scale = length / out_size, widening = std::max(scale, 1.0);
  const double centre = start + (x + 0.5) * scale;
  std::vector<double> weights(static_cast<std::size_t>(in_size));
  double sum = 0;
  for (int i = 0; i < in_size; ++i) {
    sum += weights[static_cast<std::size_t>(i)] = kernel(filter, (i + 0.5 - centre) / widening);
  }
  for (double& w : weights) w /= sum;
  return weights;
}

double exact_sample(Picture& in, const Box& box, Filter filter, const Picture& out, int x, int y,
                    int c) {
  const auto across = exact_weights(in.width, box.left, box.width, out.width, filter, x);
  const auto down = exact_weights(in.height, box.top, box.height, out.height, filter, y);
  double sum = 0;
  for (int j = 0; j < in.height; ++j) {
    if (down[static_cast<std::size_t>(j)] == 0) continue;
    for (int i = 0; i < in.width; ++i) {
      sum +=
          down[static_cast<std::size_t>(j)] * across[static_cast<std::size_t>(i)] * in.at(i, j, c);
    }
  }
  return std::clamp(sum, 0.0, 255.0);
}

double largest_error(Picture& in, const Box& box, Filter filter, Picture& out) {
  double largest = 0;
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      for (int c = 0; c < out.channels; ++c) {
        const double error = out.at(x, y, c) - exact_sample(in, box, filter, out, x, y, c);
        largest = std::max(largest, std::fabs(error));
      }
    }
  }
  return largest;
}

struct Case {
  int in_width, in_height, out_width, out_height;
  Box box;
};

// Sizes around the widths of vectors and strips, odd and even, reductions and enlargements, and
// boxes that do not lie on pixels or stick out.
const std::vector<Case> kCases = {
    {50, 37, 34, 25, {0, 0, 50, 37}},       {53, 41, 17, 13, {0.3, 0.2, 52.1, 40.5}},
    {64, 48, 32, 16, {0, 0, 64, 48}},       {7, 5, 70, 50, {0, 0, 7, 5}},
    {9, 9, 4, 4, {-0.5, -0.5, 10, 10}},     {1, 60, 1, 7, {0, 0, 1, 60}},
    {60, 1, 7, 1, {0, 0, 60, 1}},           {33, 33, 33, 33, {0.4, 0.4, 32, 32}},
    {16, 16, 15, 17, {0, 0, 16, 16}},       {2, 3, 5, 1, {0, 0, 2, 3}},
    {700, 5, 3, 2, {0, 0, 700, 5}},         {5, 700, 2, 3, {0, 0, 5, 700}},
    {131, 20, 45, 33, {3.25, 1, 120.5, 18}}};

TEST_CASE("Every filter is within rounding of its definition") {
  const auto filter = GENERATE(Filter::bilinear, Filter::bicubic, Filter::lanczos);
  const int channels = GENERATE(1, 2, 3, 4);
  unsigned seed = 0;
  for (const Case& c : kCases) {
    Picture in = noise(c.in_width, c.in_height, channels, ++seed);
    Picture out = resampled(in, c.box, filter, c.out_width, c.out_height);
    INFO(c.in_width << "x" << c.in_height << " to " << c.out_width << "x" << c.out_height
                    << ", channels " << channels << ", filter " << static_cast<int>(filter));
    // 0.5 is what rounding the exact value costs.
    CHECK(largest_error(in, c.box, filter, out) < 0.55);
  }
}

TEST_CASE("A box filter by a whole factor is the mean") {
  Picture in = noise(96, 60, 3, 4);
  Picture out = resampled(in, whole(in), Filter::box, 16, 20);
  CHECK(largest_error(in, whole(in), Filter::box, out) < 0.52);
}

TEST_CASE("Reductions by thousands stay exact") {
  Picture in(30000, 2, 1);
  for (int x = 0; x < in.width; ++x) {
    in.at(x, 0) = in.at(x, 1) = static_cast<std::uint8_t>(x * 7919 % 251);
  }
  Picture out = resampled(in, whole(in), Filter::bilinear, 4, 1);
  CHECK(largest_error(in, whole(in), Filter::bilinear, out) < 0.55);

  Picture tall(2, 30000, 1);
  tall.samples = in.samples;
  out = resampled(tall, whole(tall), Filter::lanczos, 1, 4);
  CHECK(largest_error(tall, whole(tall), Filter::lanczos, out) < 0.55);
}

TEST_CASE("A flat picture stays flat") {
  for (const int value : {0, 1, 127, 254, 255}) {
    for (const Filter filter : {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
      Picture in(101, 77, 1);
      in.samples.assign(in.samples.size(), static_cast<std::uint8_t>(value));
      for (const int size : {1, 3, 16, 50, 76, 300}) {
        const Picture out = resampled(in, {0.2, -0.3, 100.9, 77.5}, filter, size, size + 1);
        CHECK(out.samples == Samples(out.samples.size(), static_cast<std::uint8_t>(value)));
      }
    }
  }
}

TEST_CASE("The same box and size is a copy, with any filter") {
  Picture in = noise(37, 21, 3, 2);
  for (const Filter filter : {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
    CHECK(resampled(in, whole(in), filter, 37, 21).samples == in.samples);
  }
}

TEST_CASE("A one-pixel border stays centred") {
  Picture in(257, 257, 1);
  for (int i = 0; i < 257; ++i) in.at(i, 0) = in.at(i, 256) = in.at(0, i) = in.at(256, i) = 255;
  Picture out = resampled(in, whole(in), Filter::bilinear, 64, 64);
  for (int i = 0; i < 64; ++i) {
    CHECK(std::abs(out.at(i, 0) - out.at(i, 63)) <= 1);
    CHECK(std::abs(out.at(0, i) - out.at(63, i)) <= 1);
    CHECK(std::abs(out.at(i, 0) - out.at(0, i)) <= 1);
  }
  // The first centre lies at 2.008; the border's is 1.508 away, 0.3755 of the filter's half width
  // of 4.0156, and 7/8 of the filter's area lie inside of the picture.
  CHECK(int{out.at(32, 0)} == Approx(255 * (1 - 0.3755) / (4.0156 * 7 / 8)).margin(1));
  CHECK(int{out.at(32, 32)} == 0);
}

TEST_CASE("Every instruction set gives the same bytes") {
  std::set<std::string> names;
  const std::int64_t supported = hwy::SupportedTargets();
  for (const int channels : {1, 2, 3, 4}) {
    for (const Filter filter : {Filter::box, Filter::bilinear, Filter::bicubic, Filter::lanczos}) {
      unsigned seed = 0;
      for (Case c : kCases) {
        Picture in = noise(c.in_width, c.in_height, channels, ++seed);
        Samples first;
        for (std::int64_t left = supported; left != 0; left &= left - 1) {
          hwy::SetSupportedTargetsForTest(left & -left);
          hwy::GetChosenTarget().Update(hwy::SupportedTargets());
          names.insert(std::string(resample_target()));
          const Picture out = resampled(in, c.box, filter, c.out_width, c.out_height);
          if (first.empty()) first = out.samples;
          REQUIRE(out.samples == first);
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(names.size() >= 2);
}

TEST_CASE("Rows are written to their last pixel and no further") {
  for (const int width : {1, 3, 15, 16, 17, 40}) {
    for (const int channels : {1, 3}) {
      Picture in = noise(90, 70, channels, 3);
      Picture framed(width + 4, 35, channels);
      framed.samples.assign(framed.samples.size(), 77);
      Plane inner = framed.plane();
      inner.data += 2 * channels + inner.stride;
      inner.width = width;
      inner.height = 33;
      ResampleScratch scratch;
      resample(as_const(in.plane()), whole(in), Filter::bilinear, inner, scratch);
      int touched = 0;
      for (int y = 0; y < framed.height; ++y) {
        for (int x = 0; x < framed.width; ++x) {
          const bool inside = y >= 1 && y < 34 && x >= 2 && x < width + 2;
          for (int c = 0; c < channels; ++c) touched += !inside && framed.at(x, y, c) != 77;
        }
      }
      CHECK(touched == 0);
    }
  }
}

TEST_CASE("Scratch is kept from picture to picture without a trace") {
  ResampleScratch scratch;
  const std::vector<std::pair<int, int>> sizes = {
      {200, 100}, {20, 15}, {1, 1}, {199, 101}, {20, 15}};
  for (int round = 0; round < 20; ++round) {  // more tables than the cache holds
    for (const auto& [width, height] : sizes) {
      Picture in = noise(width, height, 1 + round % 4, static_cast<unsigned>(round));
      Picture out(13 + round, 9, in.channels);
      resample(as_const(in.plane()), whole(in), Filter::bicubic, out.plane(), scratch);
      REQUIRE(out.samples == resampled(in, whole(in), Filter::bicubic, 13 + round, 9).samples);
    }
  }
}

TEST_CASE("Nearest neighbour copies whole pixels") {
  Picture in = noise(10, 6, 3, 2);
  Picture out(4, 3, 3);
  resample_nearest(as_const(in.plane()), whole(in), 3, out.plane());
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (int c = 0; c < 3; ++c) {
        // Centres at 1.25, 3.75, 6.25, 8.75 across and 1, 3, 5 down.
        const int columns[] = {1, 3, 6, 8};
        CHECK(out.at(x, y, c) == in.at(columns[x], 2 * y + 1, c));
      }
    }
  }
}

TEST_CASE("Nearest neighbour of any pixel size, and enlarged") {
  const int bytes = GENERATE(1, 2, 3, 4, 6, 8);
  Picture in = noise(5, 5, bytes, 6);
  Picture out(10, 10, bytes);
  resample_nearest(as_const(in.plane()), whole(in), bytes, out.plane());
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 10; ++x) {
      for (int c = 0; c < bytes; ++c) REQUIRE(out.at(x, y, c) == in.at(x / 2, y / 2, c));
    }
  }
}

TEST_CASE("Planes that do not go together are refused") {
  Picture in(4, 4, 3), out(2, 2, 1);
  ResampleScratch scratch;
  CHECK_THROWS_AS(resample(as_const(in.plane()), whole(in), Filter::bilinear, out.plane(), scratch),
                  Error);
  Picture grey(4, 4, 1);
  CHECK_THROWS_AS(
      resample(as_const(grey.plane()), {0, 0, 0, 4}, Filter::bilinear, out.plane(), scratch),
      Error);
  ConstPlane wide = as_const(grey.plane());
  wide.width = (1 << 20) + 1;
  try {
    resample(wide, {0, 0, 1e6, 4}, Filter::bilinear, out.plane(), scratch);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::limit);
  }
}

}  // namespace
}  // namespace prep::image::resample_test
