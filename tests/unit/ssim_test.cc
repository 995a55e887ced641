#include "lib/image/ssim.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "lib/core/error.h"

namespace prep::image::ssim_test {
namespace {

struct Picture {
  Picture(int w, int h) : width(w), height(h), samples(static_cast<std::size_t>(w) * h) {}
  ConstPlane plane() const { return {samples.data(), width, height, width, 1}; }
  int width, height;
  std::vector<std::uint8_t> samples;
};

Picture noise(int width, int height) {
  Picture picture(width, height);
  std::mt19937 random(1);
  for (auto& s : picture.samples) s = static_cast<std::uint8_t>(random() % 256);
  return picture;
}

TEST_CASE("Equal pictures have an SSIM of 1") {
  for (const auto& [width, height] : {std::pair{64, 40}, {8, 8}, {7, 300}, {300, 3}, {1, 1}}) {
    const Picture picture = noise(width, height);
    CHECK(ssim(picture.plane(), picture.plane()) == Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("Flat pictures are compared by their means") {
  Picture a(16, 16), b(16, 16);
  a.samples.assign(256, 100);
  b.samples.assign(256, 120);
  const double c1 = 2.55 * 2.55;
  CHECK(ssim(a.plane(), b.plane()) ==
        Approx((2 * 100 * 120 + c1) / (100 * 100 + 120 * 120 + c1)).epsilon(1e-12));
}

TEST_CASE("One window by hand") {
  // Halves of 10 and 20 against halves of 20 and 10: means 15, variances 25, covariance -25.
  Picture a(8, 8), b(8, 8);
  for (std::size_t i = 0; i < 64; ++i) {
    a.samples[i] = i < 32 ? 10 : 20;
    b.samples[i] = i < 32 ? 20 : 10;
  }
  const double c2 = 7.65 * 7.65;
  CHECK(ssim(a.plane(), b.plane()) == Approx((-50 + c2) / (50 + c2)).epsilon(1e-12));
}

TEST_CASE("More noise, less similarity; the order does not matter") {
  const Picture a = noise(100, 77);
  Picture b = a, c = a;
  for (std::size_t i = 0; i < b.samples.size(); i += 2) b.samples[i] ^= 8;
  for (std::size_t i = 0; i < c.samples.size(); i += 2) c.samples[i] ^= 64;
  CHECK(ssim(a.plane(), b.plane()) < 1);
  CHECK(ssim(a.plane(), c.plane()) < ssim(a.plane(), b.plane()));
  CHECK(ssim(a.plane(), c.plane()) == ssim(c.plane(), a.plane()));
}

TEST_CASE("Planes that do not match are refused") {
  CHECK_THROWS_AS(ssim(noise(8, 9).plane(), noise(9, 8).plane()), Error);
}

}  // namespace
}  // namespace prep::image::ssim_test
