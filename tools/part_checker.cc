#include "tools/part_checker.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "formats/foreign.h"
#include "lib/image/jpeg_info.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/raster.h"
#include "tools/npy_check.h"
#include "tools/picture_stage.h"

namespace prep {
namespace {

constexpr std::size_t kHead = 512;
// Held from picture to picture; a huge picture's memory is given back.
constexpr std::size_t kKeptMemory = 32 << 20;

bool can_decode(image::Format format) {
  constexpr std::array kFormats{image::Format::jpeg, image::Format::png, image::Format::webp,
                                image::Format::tiff, image::Format::bmp, image::Format::gif};
  return std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end();
}

std::string lower_extension(std::string_view part) {
  std::string out(split_extension(part).second);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Loaders read it with Python's int().
void check_label(std::string_view text) {
  constexpr const char* kSpace = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  text = text.substr(0, text.find_last_not_of(kSpace) + 1);  // npos + 1 == 0
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    fail(Code::corrupt, "a class must be a whole number");
  }
}

void check_json(std::string_view text) {
  if (!nlohmann::json::accept(text)) fail(Code::corrupt, "is not JSON");
}

}  // namespace

struct PartChecker::Scratch {
  image::PlanarScratch planar;
  image::PlaneBuffer pixels;

  void trim() {
    for (image::PlaneBuffer& plane : planar.planes) plane.trim(kKeptMemory);
    pixels.trim(kKeptMemory);
  }
};

PartChecker::PartChecker(const PictureLimits& limits) : limits_(limits) {}

PartChecker::~PartChecker() = default;

void PartChecker::check(std::string_view part, const Bytes& bytes,
                        std::vector<Fault>& faults) const {
  try {
    check_part(part, bytes, faults);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    // What nobody here can decode may well be sound.
    faults.push_back({error.code() != Code::unsupported, error.code(), error.what()});
  } catch (const std::bad_alloc&) {
    faults.push_back({true, Code::limit, "there is not enough memory to decode it"});
  }
}

void PartChecker::check_part(std::string_view part, const Bytes& bytes,
                             std::vector<Fault>& faults) const {
  const ByteView head = bytes.view().first(std::min(bytes.size(), kHead));
  const image::Format format = image::sniff(head);
  const std::string extension = lower_extension(part);
  const bool named_picture = is_picture_name(part);
  if (named_picture && bytes.empty()) fail(Code::empty, "is empty");
  if (format != image::Format::unknown) {
    if (named_picture && !image::has_extension(format, extension)) {
      faults.push_back({false, Code::corrupt,
                        fmt::format("is {}, whatever its name says", image::name(format))});
    }
    return check_picture(format, bytes, faults);
  }
  if (named_picture) {
    const std::string_view what = describe_foreign(head);
    fail(Code::corrupt, "is not a picture{}{}", what.empty() ? "" : ", but ", what);
  }
  if (extension == "npy") return check_npy(bytes.view());
  if (extension == "json") return check_json(bytes.text());
  if (extension == "cls") return check_label(bytes.text());
}

void PartChecker::check_picture(image::Format format, const Bytes& bytes,
                                std::vector<Fault>& faults) const {
  if (!can_decode(format)) fail(Code::unsupported, "{}: was not decoded", image::name(format));
  std::vector<std::string> warnings;
  const auto scratch = scratches_.borrow();
  try {
    if (format == image::Format::jpeg) {
      decode_jpeg(bytes, *scratch, warnings);
    } else {
      decode_raster(format, bytes, *scratch, warnings);
    }
  } catch (const Error& error) {
    scratch->trim();
    throw Error(error.code(), fmt::format("{}: {}", image::name(format), error.what()));
  }
  scratch->trim();
  for (const std::string& warning : warnings) {
    faults.push_back({false, Code::corrupt, fmt::format("{}: {}", image::name(format), warning)});
  }
}

void PartChecker::decode_jpeg(const Bytes& bytes, Scratch& scratch,
                              std::vector<std::string>& warnings) const {
  const image::JpegInfo info = image::read_jpeg_info(bytes, limits_.max_scans,
                                                     /*header_only=*/true);
  check_pixels(info.width, info.height);
  warnings = info.warnings;
  if (image::is_planar(info)) {
    image::decode_planes(bytes, info, {}, scratch.planar, warnings);
  } else {
    image::decode_interleaved(bytes, info, {}, scratch.pixels, warnings);
  }
}

void PartChecker::decode_raster(image::Format format, const Bytes& bytes, Scratch& scratch,
                                std::vector<std::string>& warnings) const {
  const image::RasterInfo info = image::read_raster_info(bytes, format);
  check_pixels(info.width, info.height);
  warnings =
      image::decode_raster(bytes, format, /*allow_truncated=*/false, scratch.pixels).warnings;
}

void PartChecker::check_pixels(int width, int height) const {
  if (std::int64_t{width} * height <= limits_.max_pixels) return;
  fail(Code::limit, "{} x {} pixels are more than --max-pixels {}", width, height,
       limits_.max_pixels);
}

}  // namespace prep
