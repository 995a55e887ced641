// What the beginning of a part's bytes says about it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/sample.h"
#include "lib/image/format.h"
#include "lib/image/jpeg_info.h"
#include "lib/signal/format.h"
#include "tools/part_checker.h"

namespace prep {

struct PictureFacts {
  image::Format format = image::Format::unknown;
  int width = 0, height = 0;  // upright; 0 where only the format is known
  bool is_rotated = false;    // an orientation says so
  bool is_deep = false;       // PNG: 16 bits a channel
  bool has_palette = false;   // PNG
  bool is_grey = false;       // PNG, JPEG
  // Of JPEGs.
  int quality = 0;               // estimated
  std::string_view subsampling;  // "4:2:0", "grey", …
  image::JpegColor color = image::JpegColor::unknown;
  bool is_progressive = false, has_icc = false;
  bool is_plain = false;  // that a loader decodes with libjpeg to RGB, as it is

  bool is_readable() const { return width > 0; }
  std::int64_t pixels() const { return std::int64_t{width} * height; }
};

struct PartFacts {
  enum class Kind { other, picture, recording, label } kind = Kind::other;
  std::uint64_t bytes = 0;
  PictureFacts picture;
  signal::Format recording = signal::Format::none;
  std::string label;           // the text of a "cls"
  std::optional<Error> fault;  // why it cannot be used; names the part
  // Equal for equal contents, rarely for others: of the size and the first bytes of pictures and
  // recordings, or of all bytes where they were in memory.
  std::uint64_t fingerprint = 0;
  bool is_fingerprint_of_all = false;
};

// Reads a few KB, or as much as headers take. throws Error io, not_found, truncated where the bytes
// cannot be read.
PartFacts describe_part(const Part& part, const PictureLimits& limits);

// A content, and what was found out about it: from the threads that look to the one that counts.
class DescribedContent final : public Content {
 public:
  DescribedContent(std::shared_ptr<const Content> content, PartFacts facts)
      : content_(std::move(content)), facts_(std::move(facts)) {}

  const std::shared_ptr<const Content>& content() const { return content_; }
  const PartFacts& facts() const { return facts_; }

  std::uint64_t size() const override { return facts_.bytes; }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override {
    return content_->read(offset, length);
  }
  std::int64_t mtime_ns() const override { return content_->mtime_ns(); }
  std::uint64_t resident_bytes() const override { return content_->resident_bytes(); }
  std::optional<FileRange> range() const override { return content_->range(); }
  std::string origin() const override { return content_->origin(); }

 private:
  const std::shared_ptr<const Content> content_;
  const PartFacts facts_;
};

}  // namespace prep
