// The ETag of a multipart upload, computed from a file: MD5 of the parts' MD5s.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/remote/object.h"

namespace prep {

// The parts' digests do not depend on each other: many are computed at once.
class MultipartEtag {
 public:
  // With the likeliest size of parts. Nothing where there is no such ETag, a checksum says more, or
  // too few parts fit into `most_bytes` to make it worth it.
  static std::optional<MultipartEtag> of(const ObjectInfo& object, std::uint64_t most_bytes);
  // With another size: `part_size` fits the object's size and the ETag's number of parts, or there
  // is nothing.
  std::optional<MultipartEtag> with_part_size(std::uint64_t part_size) const;
  std::uint64_t part_size() const { return part_size_; }

  // How many bytes the next digest() reads, and where; 0 when all is done.
  std::uint64_t next_offset() const { return done_ * part_size_; }
  std::uint64_t next_bytes() const;
  // Of the next parts. `name` is for messages. throws Error io.
  void digest(int fd, const std::string& name);

  // With the next likeliest size; nothing if there is none.
  std::optional<MultipartEtag> with_next_guess() const;

  std::string value() const;  // when all is done
  bool is_right() const { return value() == expected_; }
  std::string method() const;  // "multipart ETag of 8 MiB parts"

 private:
  MultipartEtag(const ObjectInfo& object, std::uint64_t parts,
                const std::vector<std::uint64_t>& sizes, std::uint64_t group);
  void digest_side_by_side(int fd, const std::string& name, std::uint64_t parts);
  void digest_one(int fd, const std::string& name);

  std::uint64_t size_, parts_, part_size_, group_;
  std::string expected_;
  std::vector<std::uint64_t> guesses_;  // less likely sizes, the least likely first
  std::uint64_t done_ = 0;              // parts
  std::string digests_;
};

}  // namespace prep
