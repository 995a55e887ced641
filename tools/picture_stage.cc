#include "tools/picture_stage.h"

#include <algorithm>
#include <array>

#include "formats/foreign.h"

namespace prep {
namespace {

using image::Format;

constexpr std::size_t kHead = 32;  // enough to tell a format, and a PNG's colour type
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
constexpr std::array kFormats{Format::jpeg, Format::png, Format::webp,
                              Format::tiff, Format::bmp, Format::gif};

}  // namespace

void PictureStage::apply(Sample& sample, Notes& notes) const {
  for (Part& part : sample.parts) {
    try {
      visit(part, sample.key, notes);
    } catch (const Error& error) {
      // What reading says names the file already.
      const std::string origin = printable(part.content->origin());
      const std::string what = error.what();
      throw Error(error.code(), what.starts_with(origin) ? what : origin + ": " + what);
    }
    if (!notes.skip_reason.empty()) return;
  }
}

void PictureStage::visit(Part& part, std::string_view key, Notes& notes) const {
  const Bytes head = part.content->read(0, kHead);
  const bool expected = must_be_picture(part) || is_picture_name(part.name);
  if (head.empty() && expected) fail(Code::empty, "the file is empty");
  const Format format = image::sniff(head.view());
  if (format == Format::unknown && expected) {
    fail(Code::corrupt, "is not a picture, though it should be one{}",
         resemblance(part.content->read(0, kForeignHead).view()));
  }
  if (format == Format::unknown || !takes(format)) {
    notes.counts.push_back("other parts, unchanged");
    return;
  }
  if (part.content->size() > kLargestFile) {
    fail(Code::limit, "has {} bytes, more than a picture file may have (1 GiB)",
         part.content->size());
  }
  treat(part, key, head.view(), notes);
}

std::pair<std::string_view, std::string_view> split_extension(std::string_view part) {
  const std::size_t dot = part.find_last_of('.') + 1;  // npos + 1 == 0
  return {part.substr(0, dot), part.substr(dot)};
}

bool is_picture_name(std::string_view part) {
  const std::string_view extension = split_extension(part).second;
  return std::any_of(kFormats.begin(), kFormats.end(),
                     [&](Format format) { return image::has_extension(format, extension); });
}

std::string name_for_format(std::string_view part, Format format) {
  const auto [stem, extension] = split_extension(part);
  const bool of_its_own = !part.empty() && !is_picture_name(part);
  if (of_its_own || image::has_extension(format, extension)) return std::string(part);
  return std::string(stem).append(image::extension(format));
}

}  // namespace prep
