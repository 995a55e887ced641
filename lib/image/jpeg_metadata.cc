#include "lib/image/jpeg_metadata.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "lib/image/exif.h"

namespace prep::image {
namespace {

constexpr int kApp0 = 0xE0, kApp1 = 0xE1, kApp2 = 0xE2;
constexpr std::size_t kSegmentHeader = 4;  // marker and length
constexpr std::string_view kJfif("JFIF\0", 5), kExif("Exif\0\0", 6), kIcc("ICC_PROFILE\0", 12);
// JFIF 1.02: identifier, version, units, densities, and then the size of a thumbnail.
constexpr std::size_t kJfifVersion = 5, kJfifDensity = 7, kJfifThumbnail = 12, kJfifSize = 14;
constexpr std::string_view kPlainJfif("JFIF\0\1\1\0\0\1\0\1\0\0", kJfifSize);

bool starts_with(ByteView data, std::string_view text) {
  return as_text(data).substr(0, text.size()) == text;
}

bool is_jfif(const JpegSegment& segment) {
  return segment.marker == kApp0 && segment.payload.size() >= kJfifSize &&
         starts_with(segment.payload, kJfif);
}

bool is_icc(const JpegSegment& segment) {
  return segment.marker == kApp2 && segment.payload.size() >= kIcc.size() + 2 &&
         starts_with(segment.payload, kIcc);
}

void append(std::vector<std::uint8_t>& out, int marker, ByteView payload, ByteView more = {}) {
  const std::size_t length = payload.size() + more.size() + 2;
  out.insert(out.end(),
             {0xFF, static_cast<std::uint8_t>(marker), static_cast<std::uint8_t>(length >> 8),
              static_cast<std::uint8_t>(length)});
  out.insert(out.end(), payload.begin(), payload.end());
  out.insert(out.end(), more.begin(), more.end());
}

// With the source's pixel density.
void append_jfif(std::vector<std::uint8_t>& out, const JpegInfo& info) {
  std::vector<std::uint8_t> fields(kPlainJfif.begin(), kPlainJfif.end());
  const auto found = std::find_if(info.metadata.begin(), info.metadata.end(), is_jfif);
  if (found != info.metadata.end()) {
    std::copy(found->payload.begin() + kJfifDensity, found->payload.begin() + kJfifThumbnail,
              fields.begin() + kJfifDensity);
  }
  append(out, kApp0, fields);
}

// A segment as it was, but for a JFIF version that doesn't exist, which decoders warn about.
void append_copy(std::vector<std::uint8_t>& out, const JpegSegment& segment) {
  append(out, segment.marker, segment.payload);
  std::uint8_t* const payload = out.data() + out.size() - segment.payload.size();
  if (is_jfif(segment)) payload[kJfifVersion] = 1;
}

std::size_t size_of(const JpegInfo& info) {
  std::size_t size = 0;
  for (const JpegSegment& segment : info.metadata) size += kSegmentHeader + segment.payload.size();
  return size;
}

std::size_t trailing(const JpegInfo& info, std::size_t file_size) {
  return file_size - std::min(file_size, info.end_offset);
}

}  // namespace

KeptMetadata essential_metadata(const JpegInfo& info, std::size_t file_size) {
  KeptMetadata kept;
  append_jfif(kept.segments, info);
  if (info.orientation != 1) {
    append(kept.segments, kApp1, as_bytes(kExif), orientation_exif(info.orientation).view());
  }
  for (const JpegSegment& segment : info.metadata) {
    if (!info.icc.empty() && is_icc(segment)) append(kept.segments, kApp2, segment.payload);
  }
  const std::size_t had = size_of(info), keeps = kept.segments.size();
  kept.dropped = had - std::min(had, keeps) + trailing(info, file_size);
  return kept;
}

KeptMetadata all_metadata(const JpegInfo& info, std::size_t file_size) {
  KeptMetadata kept;
  const bool has_jfif = std::any_of(info.metadata.begin(), info.metadata.end(), is_jfif);
  if (!has_jfif) append_jfif(kept.segments, info);
  for (const JpegSegment& segment : info.metadata) {
    append_copy(kept.segments, segment);
  }
  kept.dropped = trailing(info, file_size);
  return kept;
}

}  // namespace prep::image
