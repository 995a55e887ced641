// make_odd_images DIR: writes the odd files below DIR/ok and DIR/bad, and on standard output a
// line for each of them: path, verdict, WIDTHxHEIGHT of the output, the colours of its quarters
// (top left, top right, bottom left, bottom right, as rrggbb), and "warns" or "-", with tabs
// between them; "-" stands for what there is nothing to say about. In the path, a backslash and
// what is no printable ASCII are escaped as \\ and \xHH, which printf %b understands.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/data/odd_image.h"

namespace {

using prep::testdata::OddImage;
using prep::testdata::OddImages;

constexpr OddImages (*kGroups[])() = {
    prep::testdata::jpeg_colours,
    prep::testdata::jpeg_samplings,
    prep::testdata::jpeg_profiles,
    prep::testdata::jpeg_codings,
    prep::testdata::jpeg_framings,
    prep::testdata::jpeg_damages,
    prep::testdata::jpeg_orientations,
    prep::testdata::pngs,
    prep::testdata::other_rasters,
    prep::testdata::masks,
    prep::testdata::sizes,
    prep::testdata::names,
    prep::testdata::not_pictures,
};

std::string escaped(std::string_view path) {
  std::string result;
  for (const char c : path) {
    if (c == '\\') {
      result += "\\\\";
    } else if (c < 0x20 || c > 0x7e) {
      char hex[5];
      std::snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned char>(c));
      result += hex;
    } else {
      result += c;
    }
  }
  return result;
}

std::string size_field(const OddImage& image) {
  if (image.width == 0) return "-";
  return std::to_string(image.width) + "x" + std::to_string(image.height);
}

std::string corners_field(const OddImage& image) {
  if (!image.corners) return "-";
  std::string result;
  for (const prep::testdata::Colour& colour : *image.corners) {
    char hex[8];
    std::snprintf(hex, sizeof(hex), "%s%02x%02x%02x", result.empty() ? "" : " ", colour[0],
                  colour[1], colour[2]);
    result += hex;
  }
  return result;
}

void write(const std::filesystem::path& root, const OddImage& image) {
  const std::filesystem::path path = root / image.path;
  std::filesystem::create_directories(path.parent_path());
  if (!image.link_target.empty()) {
    std::filesystem::create_symlink(image.link_target, path);
    return;
  }
  std::ofstream file(path, std::ios::binary);
  file << image.data;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), path.string());
}

void print(const OddImage& image) {
  std::printf("%s\t%s\t%s\t%s\t%s\n", escaped(image.path).c_str(), image.verdict.c_str(),
              size_field(image).c_str(), corners_field(image).c_str(), image.warns ? "warns" : "-");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_odd_images DIR\n");
    return 2;
  }
  try {
    for (const auto& group : kGroups) {
      for (const OddImage& image : group()) {
        write(argv[1], image);
        print(image);
      }
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_odd_images: %s\n", error.what());
    return 1;
  }
  return 0;
}
