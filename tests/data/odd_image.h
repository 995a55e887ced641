// The odd files that real data sets hold, one for each kind of trouble.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/picture.h"

namespace prep::testdata {

struct OddImage {
  std::string path;  // below the tree's root; any bytes
  // What `prep-resize --short 256 --nearest mask.png` has to make of it:
  //   ok            a JPEG of `width` x `height`
  //   passed        the same bytes, under the same name
  //   mask          a PNG of that size with the same depth and colour type, no new values
  //   left-out      nothing, and it isn't a sample
  //   failed:CODE   nothing, and it is a bad sample
  std::string verdict;
  std::string data{};
  int width = 0, height = 0;         // of the output; 0 for a file that isn't a picture
  std::optional<Corners> corners{};  // what the output's four quarters look like, sRGB
  bool warns = false;                // something about it has to be said
  std::string link_target{};         // not empty: a symbolic link instead of a file
};

using OddImages = std::vector<OddImage>;

// The size of the output for an upright picture: torchvision's Resize(256), never enlarging.
std::pair<int, int> resized(int width, int height);

// What most files show: kRgbCorners, 360 x 300 when upright.
inline constexpr int kWidth = 360, kHeight = 300;
Picture rgb_quarters();
OddImage ok(std::string path, std::string data);
OddImage ok(std::string path, std::string data, const Corners& corners);
OddImage ok(std::string path, std::string data, int upright_width, int upright_height);
OddImage passed(std::string path, std::string data, int width = 0, int height = 0);
OddImage failed(std::string path, const std::string& code, std::string data);
OddImage warning(OddImage image);

OddImages jpeg_colours();  // odd_jpeg_colours.cc: colour models, ICC profiles
OddImages jpeg_samplings();
OddImages jpeg_profiles();
OddImages jpeg_codings();   // odd_jpegs.cc: scans, coders, precisions, tables
OddImages jpeg_framings();  // bytes between and behind the segments
OddImages jpeg_damages();
OddImages jpeg_orientations();
OddImages pngs();  // odd_rasters.cc
OddImages other_rasters();
OddImages masks();
OddImages sizes();  // odd_files.cc
OddImages names();
OddImages not_pictures();

}  // namespace prep::testdata
