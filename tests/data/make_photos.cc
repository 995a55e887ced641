// make_photos DIR [COUNT]: writes a small data set of pictures with a photograph's kind of content
// in the mixture that real ones have: sizes, subsamplings, qualities, orientations; and a few bad
// files. The same bytes every time.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include "tests/data/jpeg_writer.h"
#include "tests/data/metadata.h"
#include "tests/data/picture.h"

namespace {

using namespace prep::testdata;

constexpr int kDefaultCount = 240;
constexpr int kClasses = 8;

constexpr std::pair<int, int> kSizes[] = {
    {500, 375}, {375, 500},   {640, 480}, {333, 500},  {500, 333}, {1024, 768},
    {400, 400}, {1600, 1067}, {259, 800}, {1280, 720}, {200, 150}, {768, 1024},
};
const Sampling kSamplings[] = {k420, k444, k420, k422, k444, k420, k440, k411};
constexpr int kQualities[] = {96, 90, 85, 96, 75, 92};

template <typename T, std::size_t N>
const T& pick(const T (&values)[N], Random& random) {
  return values[random.below(N)];
}

std::string make_photo(int index) {
  Random random(1000 + static_cast<std::uint64_t>(index));
  const auto [width, height] = pick(kSizes, random);
  JpegOptions options{.quality = pick(kQualities, random), .sampling = pick(kSamplings, random)};
  options.progressive = random.below(10) == 0;
  const int orientation = random.below(4) == 0 ? 1 + random.below(8) : 1;
  if (orientation != 1) {
    options.markers.push_back({JPEG_APP0 + 1, exif_payload(exif_tiff(orientation))});
  }
  Picture picture = stored_as(photo(width, height, static_cast<std::uint64_t>(index)), orientation);
  if (random.below(12) == 0) {
    picture = grey(picture);
    options.sampling.clear();
  }
  return encode_jpeg(picture, options);
}

void write(const std::filesystem::path& path, const std::string& data) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << data;
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category(), path.string());
}

void make_good(const std::filesystem::path& root, int count) {
  for (int i = 0; i < count; ++i) {
    char name[40];
    std::snprintf(name, sizeof(name), "class-%d/%05d.jpg", i % kClasses, i);
    write(root / name, make_photo(i));
  }
}

// What a download leaves behind when things go wrong.
void make_bad(const std::filesystem::path& root) {
  const std::string jpeg = make_photo(0);
  write(root / "class-0/cut-off.jpg", jpeg.substr(0, jpeg.size() * 6 / 10));
  write(root / "class-1/empty.jpg", "");
  write(root / "class-2/not-found.jpg", "<!DOCTYPE html>\n<title>404 Not Found</title>\n");
  write(root / "class-3/bomb.jpg", with_size(jpeg, 60000, 60000));
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc == 3 ? std::atoi(argv[2]) : kDefaultCount;
  if (argc < 2 || argc > 3 || count < 1) {
    std::fprintf(stderr, "usage: make_photos DIR [COUNT]\n");
    return 2;
  }
  try {
    make_good(argv[1], count);
    make_bad(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_photos: %s\n", error.what());
    return 1;
  }
  return 0;
}
