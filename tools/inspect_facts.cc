#include "tools/inspect_facts.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "formats/foreign.h"
#include "lib/core/key_hash.h"
#include "lib/image/planar_jpeg.h"
#include "lib/image/png_codec.h"
#include "lib/image/raster.h"
#include "tools/picture_stage.h"

namespace prep {
namespace {

using image::JpegColor;
using image::JpegInfo;

// One page, which is what a read costs anyhow; then ever more of those few whose headers are longer
// (profiles, thumbnails), or lie behind the pixels (TIFF).
constexpr std::uint64_t kHead = 4096, kGrowth = 16;
constexpr std::uint64_t kLongestHead = 256 << 20;
constexpr std::uint64_t kLongestLabel = 256;
constexpr std::size_t kMostTables = 4096;

// Estimating compares with a hundred tables, while a data set has few different ones.
int quality_of(const JpegInfo& info) {
  thread_local std::unordered_map<std::uint64_t, int> known;
  const auto& table = info.quant[info.components[0].quant_table];
  const std::string_view text(reinterpret_cast<const char*>(table.data()), sizeof table);
  if (known.size() > kMostTables) known.clear();
  const auto [place, is_new] = known.try_emplace(key_hash(text), 0);
  if (is_new) place->second = image::estimate_quality(info);
  return place->second;
}

std::string_view subsampling_of(const JpegInfo& info) {
  const auto& c = info.components;
  if (c.size() == 1) return "grey";
  if (c.size() < 3 || c[1].h != c[2].h || c[1].v != c[2].v || c[1].h == 0 || c[1].v == 0) {
    return "other";
  }
  if (c[0].h % c[1].h != 0 || c[0].v % c[1].v != 0) return "other";
  switch (c[0].h / c[1].h * 10 + c[0].v / c[1].v) {
    case 11:
      return "4:4:4";
    case 21:
      return "4:2:2";
    case 22:
      return "4:2:0";
    case 12:
      return "4:4:0";
    case 41:
      return "4:1:1";
    default:
      return "other";
  }
}

bool is_decoded_to_rgb(const JpegInfo& info) {
  const bool has_colour =
      info.color == JpegColor::grey || info.color == JpegColor::ycc || info.color == JpegColor::rgb;
  return has_colour && info.precision == 8 && !info.lossless;
}

void set_size(PictureFacts& facts, int width, int height, int orientation) {
  constexpr int kFirstTransposed = 5;
  facts.is_rotated = orientation != 1;
  const bool is_transposed = orientation >= kFirstTransposed;
  facts.width = is_transposed ? height : width;
  facts.height = is_transposed ? width : height;
}

PictureFacts describe_jpeg(const Bytes& head, const PictureLimits& limits) {
  const JpegInfo info = image::read_jpeg_info(head, limits.max_scans, /*header_only=*/true);
  PictureFacts facts;
  facts.format = image::Format::jpeg;
  set_size(facts, info.width, info.height, info.orientation);
  facts.quality = info.lossless ? 0 : quality_of(info);
  facts.subsampling = subsampling_of(info);
  facts.color = info.color;
  facts.is_progressive = info.progressive;
  facts.has_icc = !info.icc.empty();
  facts.is_grey = info.color == JpegColor::grey;
  facts.is_plain = is_decoded_to_rgb(info);
  return facts;
}

PictureFacts describe_raster(const Bytes& head, image::Format format) {
  PictureFacts facts;
  facts.format = format;
  if (format == image::Format::png) {
    constexpr int kColour = 2, kPalette = 3;  // colour types of IHDR: a bit, and a value
    const image::PngInfo info = image::read_png_info(head);
    set_size(facts, info.width, info.height, info.orientation);
    facts.is_deep = info.bit_depth == 16;
    facts.has_palette = info.color_type == kPalette;
    facts.is_grey = (info.color_type & kColour) == 0;
  } else {
    const image::RasterInfo info = image::read_raster_info(head, format);
    set_size(facts, info.width, info.height, info.orientation);
  }
  return facts;
}

bool is_read(image::Format format) {
  constexpr std::array kRead{image::Format::jpeg, image::Format::png, image::Format::webp,
                             image::Format::tiff, image::Format::bmp, image::Format::gif};
  return std::find(kRead.begin(), kRead.end(), format) != kRead.end();
}

class Describer {
 public:
  Describer(const Part& part, const PictureLimits& limits) : part_(part), limits_(limits) {}

  PartFacts describe() {
    facts_.bytes = part_.content->size();
    is_in_memory_ = part_.content->resident_bytes() > 0;
    read_head(kHead);
    const image::Format format = image::sniff(head_.view());
    try {
      if (format != image::Format::unknown) {
        facts_.kind = PartFacts::Kind::picture;
        facts_.picture.format = format;
        facts_.fingerprint = fingerprint();
        if (is_read(format)) describe_picture(format);
      } else if (is_picture_name(part_.name)) {
        facts_.kind = PartFacts::Kind::picture;
        fail_as_picture();
      } else {
        describe_other();
      }
    } catch (const Error& error) {
      facts_.fault = Error(error.code(), printable(part_.content->origin()) + ": " + error.what());
    }
    return std::move(facts_);
  }

 private:
  void read_head(std::uint64_t length) { head_ = part_.content->read(0, length); }
  bool has_all() const { return head_.size() == facts_.bytes; }

  // What is in memory already costs nothing to hash whole.
  std::uint64_t fingerprint() {
    const Bytes bytes = is_in_memory_ ? part_.content->load() : head_.slice(0, head_.size());
    facts_.is_fingerprint_of_all = is_in_memory_ || has_all();
    return key_hash(fmt::format("{}:{}", facts_.bytes, key_hash(bytes.text())));
  }

  // A header that ends too early, or seems broken, may only be longer than what was read of it.
  void describe_picture(image::Format format) {
    for (std::uint64_t length = kHead * kGrowth;; length *= kGrowth) {
      try {
        facts_.picture = format == image::Format::jpeg ? describe_jpeg(head_, limits_)
                                                       : describe_raster(head_, format);
        check_pixels();
        return;
      } catch (const Error& error) {
        const bool may_be_longer = error.code() == Code::truncated || error.code() == Code::corrupt;
        if (!may_be_longer || has_all() || length / kGrowth >= kLongestHead) throw;
      }
      read_head(std::min(length, kLongestHead));
    }
  }

  void check_pixels() {
    if (facts_.picture.pixels() <= limits_.max_pixels) return;
    const int width = std::exchange(facts_.picture.width, 0);
    fail(Code::limit, "{} x {} pixels are more than --max-pixels {}", width, facts_.picture.height,
         limits_.max_pixels);
  }

  void fail_as_picture() const {
    if (facts_.bytes == 0) fail(Code::empty, "is empty");
    const std::string_view what = describe_foreign(head_.view());
    fail(Code::corrupt, "is not a picture{}{}", what.empty() ? "" : ", but ", what);
  }

  void describe_other() {
    if (part_.name == "cls" && facts_.bytes <= kLongestLabel) {
      constexpr const char* kSpace = " \t\r\n";
      std::string_view text = head_.text();
      text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
      facts_.label = std::string(text.substr(0, text.find_last_not_of(kSpace) + 1));
      facts_.kind = PartFacts::Kind::label;
      return;
    }
    facts_.recording = signal::sniff(head_.view(), has_all());
    if (facts_.recording == signal::Format::none) return;
    facts_.kind = PartFacts::Kind::recording;
    facts_.fingerprint = fingerprint();
  }

  const Part& part_;
  const PictureLimits& limits_;
  PartFacts facts_;
  Bytes head_;
  bool is_in_memory_ = false;
};

}  // namespace

PartFacts describe_part(const Part& part, const PictureLimits& limits) {
  return Describer(part, limits).describe();
}

}  // namespace prep
