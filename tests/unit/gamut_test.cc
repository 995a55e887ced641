#include "lib/image/gamut.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace prep::gamut_test {

using namespace prep::image;

namespace {

struct Flat {
  PlaneBuffer memory[3];
  Planes planes;

  // Luma of width x height, chroma of half that, each all of one value.
  Flat(int width, int height, int y, int cb, int cr) {
    planes.count = 3;
    planes.image_width = width;
    planes.image_height = height;
    planes.step_x = planes.step_y = {1, 2, 2};
    const int values[3] = {y, cb, cr};
    for (std::size_t i = 0; i < 3; ++i) {
      const int half = i > 0 ? 2 : 1;
      planes.plane[i] = memory[i].shape((width + half - 1) / half, (height + half - 1) / half);
      for (int row = 0; row < planes.plane[i].height; ++row) {
        std::memset(planes.plane[i].row(row), values[i],
                    static_cast<std::size_t>(planes.plane[i].width));
      }
    }
  }
};

}  // namespace

TEST_CASE("colours inside of RGB reach nowhere outside") {
  CHECK(outside_rgb(Flat(65, 33, 128, 128, 128).planes) == 0);
  CHECK(outside_rgb(Flat(65, 33, 255, 128, 128).planes) == 0);
  CHECK(outside_rgb(Flat(65, 33, 77, 85, 255).planes) <= 1);  // pure red
}

TEST_CASE("the worst channel's distance counts, squared") {
  // R 178, G -134.4, B 225
  CHECK(outside_rgb(Flat(65, 33, 0, 255, 255).planes) == Approx(134 * 134));
  // R 433, G 120.6, B 480
  CHECK(outside_rgb(Flat(64, 64, 255, 255, 255).planes) == Approx(225 * 225));
}

TEST_CASE("pictures smaller than the grid are left alone") {
  CHECK(outside_rgb(Flat(1, 1, 0, 255, 255).planes) == 0);
  CHECK(outside_rgb(Flat(4, 6, 0, 255, 255).planes) > 0);
}

}  // namespace prep::gamut_test
