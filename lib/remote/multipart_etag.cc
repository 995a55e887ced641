#include "lib/remote/multipart_etag.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <vector>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/remote/ascii.h"
#include "lib/remote/checksum.h"
#include "lib/remote/md5_lanes.h"

namespace prep {
namespace {

constexpr std::size_t kMd5Hex = 32;
constexpr std::uint64_t kFewest = 4;  // parts, for which the lanes are faster than one digest

// What is read of each part in turn, and how far apart it lies: not a power of two, or all would
// want the same lines of the processor's cache.
constexpr std::size_t kSlice = 32 << 10;
constexpr std::size_t kStride = kSlice + Md5Lanes::kBlock;

std::uint64_t parts_of(const std::string& etag) {
  if (etag.size() < kMd5Hex + 2 || etag[kMd5Hex] != '-') return 0;
  std::uint64_t parts = 0;
  const char* const end = etag.data() + etag.size();
  const auto [stop, error] = std::from_chars(etag.data() + kMd5Hex + 1, end, parts);
  return error == std::errc() && stop == end ? parts : 0;
}

void read_exactly(int fd, std::uint8_t* out, std::size_t size, std::uint64_t offset,
                  const std::string& name) {
  if (pread_fully(fd, out, size, offset, name) == size) return;
  fail(Code::io, "{}: became shorter while it was read", printable(name));
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

MultipartEtag::MultipartEtag(const ObjectInfo& object, std::uint64_t parts,
                             const std::vector<std::uint64_t>& sizes, std::uint64_t group)
    : size_(object.size),
      parts_(parts),
      part_size_(sizes[0]),
      group_(group),
      expected_(ascii_lower(object.etag)),
      guesses_(sizes.rbegin(), sizes.rend() - 1) {}

std::optional<MultipartEtag> MultipartEtag::of(const ObjectInfo& object, std::uint64_t most_bytes) {
  const std::uint64_t parts = parts_of(object.etag);
  const bool has_checksum = !object.checksum.empty() && !object.checksum.ends_with(":");
  if (!object.etag_is_md5 || has_checksum || parts < kFewest) return std::nullopt;
  const std::vector<std::uint64_t> sizes = likely_part_sizes(object.size, parts);
  if (sizes.empty()) return std::nullopt;
  const std::uint64_t group = std::min<std::uint64_t>(most_bytes / sizes[0], Md5Lanes::kLanes);
  if (group < kFewest) return std::nullopt;
  return MultipartEtag(object, parts, sizes, group);
}

std::optional<MultipartEtag> MultipartEtag::with_part_size(std::uint64_t part_size) const {
  if (part_size == 0 || (size_ + part_size - 1) / part_size != parts_) return std::nullopt;
  MultipartEtag other = *this;
  other.part_size_ = part_size;
  other.group_ = std::max<std::uint64_t>(
      1, std::min<std::uint64_t>(group_ * part_size_ / part_size, Md5Lanes::kLanes));
  other.done_ = 0;
  other.digests_.clear();
  return other;
}

std::uint64_t MultipartEtag::next_bytes() const {
  return std::min(size_ - std::min(next_offset(), size_), group_ * part_size_);
}

void MultipartEtag::digest(int fd, const std::string& name) {
  std::uint64_t whole = next_bytes() / part_size_;
  if (whole >= kFewest) {
    digest_side_by_side(fd, name, whole);
    whole = 0;
  }
  while (whole-- > 0) digest_one(fd, name);
  if (next_offset() < size_ && size_ - next_offset() < part_size_) digest_one(fd, name);
}

void MultipartEtag::digest_side_by_side(int fd, const std::string& name, std::uint64_t parts) {
  // Four spare bytes for the alignment that the lanes ask for come with the allocation.
  thread_local const auto buffer =
      std::make_unique<std::uint32_t[]>(kStride * Md5Lanes::kLanes / sizeof(std::uint32_t));
  auto* const data = reinterpret_cast<std::uint8_t*>(buffer.get());
  Md5Lanes lanes;
  std::array<std::string, Md5Lanes::kLanes> digests;
  for (std::uint64_t at = 0; at <= part_size_; at += kSlice) {
    const std::size_t size =
        static_cast<std::size_t>(std::min<std::uint64_t>(kSlice, part_size_ - at));
    for (std::uint64_t i = 0; i < parts; ++i) {
      read_exactly(fd, data + i * kStride, size, next_offset() + i * part_size_ + at, name);
    }
    const std::size_t blocks = size / Md5Lanes::kBlock * Md5Lanes::kBlock;
    lanes.update(data, kStride, blocks);
    if (at + kSlice > part_size_) digests = lanes.finish(data + blocks, kStride, size - blocks);
  }
  for (std::uint64_t i = 0; i < parts; ++i) digests_ += digests[i];
  done_ += parts;
}

void MultipartEtag::digest_one(int fd, const std::string& name) {
  thread_local const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(kSlice);
  Digest md5(Digest::Kind::md5);
  const std::uint64_t end = std::min(next_offset() + part_size_, size_);
  for (std::uint64_t at = next_offset(); at < end;) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(kSlice, end - at));
    read_exactly(fd, buffer.get(), size, at, name);
    md5.update({buffer.get(), size});
    at += size;
  }
  digests_ += bytes_of_hex(md5.hex());
  ++done_;
}

std::optional<MultipartEtag> MultipartEtag::with_next_guess() const {
  if (guesses_.empty()) return std::nullopt;
  std::optional<MultipartEtag> other = with_part_size(guesses_.back());
  if (other) other->guesses_.pop_back();
  return other;
}

std::string MultipartEtag::value() const {
  return fmt::format("{}-{}", hex_digest(Digest::Kind::md5, as_bytes(digests_)), done_);
}

std::string MultipartEtag::method() const {
  constexpr std::uint64_t kMiB = 1 << 20;
  return part_size_ % kMiB == 0 ? fmt::format("multipart ETag of {} MiB parts", part_size_ / kMiB)
                                : fmt::format("multipart ETag of {} bytes parts", part_size_);
}

}  // namespace prep
