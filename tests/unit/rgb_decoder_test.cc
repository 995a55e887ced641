#include "lib/image/rgb_decoder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>

#include "lib/core/error.h"
#include "tests/unit/pictures.h"

namespace prep::image::rgb_decoder_test {
namespace {

test::Image photo(int width, int height, int channels = 3) {
  return test::draw(width, height, channels,
                    [](int x, int y, int c) { return (x * 3 + y * 2 + c * 40) / 4 % 256; });
}

// The largest difference between decoded pixels and libjpeg's own.
int difference(const Plane& pixels, const test::Image& expected) {
  int most = 0;
  for (int y = 0; y < pixels.height; ++y) {
    for (int x = 0; x < pixels.width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int channel = expected.channels == 1 ? 0 : c;
        most = std::max(most, std::abs(pixels.row(y)[x * 3 + c] - expected.at(x, y, channel)));
      }
    }
  }
  return most;
}

std::optional<Code> code_for(ByteView data) {
  try {
    RgbDecoder().decode(data);
    return std::nullopt;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST_CASE("the pixels are libjpeg's, from picture to picture") {
  RgbDecoder decoder;
  for (const auto& [width, height] : {std::pair(101, 67), std::pair(512, 384), std::pair(1, 1)}) {
    const test::Buffer jpeg = test::make_jpeg(photo(width, height));
    const Plane pixels = decoder.decode(jpeg);
    REQUIRE(pixels.width == width);
    REQUIRE(pixels.height == height);
    CHECK(pixels.stride == width * 3);
    CHECK(difference(pixels, test::read_jpeg(jpeg)) == 0);
    CHECK(decoder.warning().empty());
    CHECK_FALSE(decoder.lost_data());
  }
}

TEST_CASE("grey and progressive files come out as RGB, too") {
  const test::Buffer grey = test::make_jpeg(photo(40, 30, 1));
  RgbDecoder decoder;
  CHECK(difference(decoder.decode(grey), test::read_jpeg(grey)) == 0);
  test::JpegSpec spec;
  spec.progressive = true;
  const test::Buffer progressive = test::make_jpeg(photo(40, 30), spec);
  CHECK(difference(decoder.decode(progressive), test::read_jpeg(progressive)) == 0);
}

TEST_CASE("scaled as far as the short side allows") {
  RgbDecoder decoder(64);
  const auto size = [&](int width, int height) {
    const test::Buffer jpeg = test::make_jpeg(photo(width, height));
    const Plane pixels = decoder.decode(jpeg);
    return std::pair(pixels.width, pixels.height);
  };
  CHECK(size(126, 200) == std::pair(126, 200));
  CHECK(size(127, 200) == std::pair(64, 100));  // rounded up
  CHECK(size(400, 256) == std::pair(100, 64));
  CHECK(size(1024, 1024) == std::pair(128, 128));  // not below an eighth
  CHECK(size(20, 30) == std::pair(20, 30));
}

TEST_CASE("what ends early is decoded, and said") {
  test::Buffer jpeg = test::make_jpeg(photo(200, 200));
  jpeg.resize(jpeg.size() / 2);
  RgbDecoder decoder;
  CHECK(decoder.decode(jpeg).width == 200);
  CHECK(decoder.lost_data());
  CHECK_FALSE(decoder.warning().empty());
  const test::Buffer good = test::make_jpeg(photo(20, 20));
  decoder.decode(good);
  CHECK_FALSE(decoder.lost_data());
}

TEST_CASE("what is no RGB or no JPEG is refused, and the decoder lives on") {
  test::JpegSpec spec;
  spec.color = test::JpegSpec::Color::cmyk;
  const test::Buffer cmyk = test::make_jpeg(photo(16, 16, 4), spec);
  CHECK(code_for(cmyk) == Code::unsupported);
  CHECK(code_for(as_bytes("no JPEG")) == Code::corrupt);
  CHECK(code_for({}) == Code::corrupt);
  RgbDecoder decoder;
  CHECK_THROWS_AS(decoder.decode(cmyk), Error);
  const test::Buffer good = test::make_jpeg(photo(20, 20));
  CHECK(difference(decoder.decode(good), test::read_jpeg(good)) == 0);
}

TEST_CASE("the version names the library") { CHECK(libjpeg_version().starts_with("libjpeg")); }

}  // namespace
}  // namespace prep::image::rgb_decoder_test
