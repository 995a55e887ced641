// Sizes, names, and files that are no pictures.
#include <string>

#include "tests/data/jpeg_writer.h"
#include "tests/data/odd_image.h"
#include "tests/data/png_writer.h"

namespace prep::testdata {
namespace {

using namespace std::string_literals;

std::string flat_jpeg(int width, int height, const JpegOptions& options = {}) {
  return encode_jpeg(quarters(width, height, 3, kRgbCorners), options);
}

OddImage passed_jpeg(const std::string& name, int width, int height) {
  return passed(name + ".jpg", flat_jpeg(width, height), width, height);
}

OddImage resized_jpeg(const std::string& name, int width, int height) {
  return ok(name + ".jpg", flat_jpeg(width, height), width, height);
}

// Grey, with a white border of one pixel.
Picture bordered(int width, int height) {
  Picture picture(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
      for (int c = 0; c < 3; ++c) picture.at(x, y)[c] = border ? 255 : 60;
    }
  }
  return picture;
}

// All of its 900 million pixels are there, in a hundred kilobytes.
std::string huge_png() {
  const std::string row(30000 / 8, '\0');
  return encode_png(30000, 30000, {PngColour::grey, 1, ""}, [&](int) { return row; });
}

}  // namespace

OddImages sizes() {
  const std::string small_progressive = flat_jpeg(64, 64, {.progressive = true});
  return {
      passed_jpeg("size-1x1", 1, 1),
      passed_jpeg("size-1000x1", 1000, 1),
      passed_jpeg("size-1x3000", 1, 3000),
      passed_jpeg("size-256x256", 256, 256),
      passed_jpeg("size-256x700", 256, 700),
      resized_jpeg("size-257x257", 257, 257),
      ok("size-257x257-border.jpg",
         encode_jpeg(bordered(257, 257), {.quality = 100, .sampling = k444}), 257, 257),
      resized_jpeg("size-258x511", 258, 511),
      resized_jpeg("size-3001x259", 3001, 259),
      // Sizes at which int(w * (256 / w)) is 255.
      resized_jpeg("size-322x322", 322, 322),
      resized_jpeg("size-347x500", 347, 500),
      resized_jpeg("size-374x999", 374, 999),
      failed("size-30000x30000.jpg", "limit", with_size(small_progressive, 30000, 30000)),
      failed("size-65500x65500.jpg", "limit", with_size(flat_jpeg(64, 64), 65500, 65500)),
      failed("size-30000x30000-complete.png", "limit", huge_png()),
  };
}

OddImages names() {
  const std::string jpeg = flat_jpeg(kWidth, kHeight);
  OddImages images;
  for (const std::string& name :
       {"quote\"double"s, "quote'single"s, "new\nline"s, "tab\tand space"s, "percent%s%n%20"s,
        "back\\slash"s, "-o"s, "$(touch x); `touch y` & *?[a-z]"s, "not-utf-8-\xff\xfe\x80"s,
        "na\xc3\xafve \xe6\x97\xa5\xe6\x9c\xac"s, "{a,b} {x,y}"s, std::string(251, 'n')}) {
    images.push_back(ok("names/" + name + ".jpg", jpeg));
  }
  images.push_back(ok("names/directory.jpg/inside.jpg", jpeg));
  images.push_back({"ok/names/.hidden.jpg", "left-out", jpeg});
  images.push_back({"ok/names/._resource-fork.jpg", "left-out", "\0\5\x16\7\0\2\0\0Mac OS X"s});
  return images;
}

OddImages not_pictures() {
  OddImage dangling = failed("dangling-link.jpg", "not-found", "");
  dangling.link_target = "nowhere.jpg";
  const std::string jpeg = flat_jpeg(kWidth, kHeight);
  return {
      passed("label.cls", "7\n"),
      passed("caption.txt", "No picture, and never mistaken for one.\n"),
      failed("empty.jpg", "empty", ""),
      failed("empty-png.png", "empty", ""),
      failed("html.jpg", "corrupt", "<!DOCTYPE html>\n<title>404 Not Found</title>\n"),
      failed("zeros.jpg", "corrupt", std::string(5000, '\0')),
      // Both would become both-become.jpg.
      failed("both-become.jpg", "duplicate", jpeg),
      failed("both-become.png", "duplicate", encode_png(quarters(kWidth, kHeight, 3, kRgbCorners))),
      dangling,
  };
}

}  // namespace prep::testdata
