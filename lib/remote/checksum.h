// What a server says of an object's bytes, and whether those that came are these.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/remote/object.h"

namespace prep {

// Which check an object allows, the surest that needs least: an x-amz-checksum-* (CRC-32, CRC-32C,
// CRC-64/NVME, SHA-1, SHA-256; composite "-N" ones too), else an ETag that looks like an MD5, or
// "md5-N" of a multipart upload for each part size that could have been used. Only this one is
// computed. Bytes are fed in order; many part sizes are tried at the cost of one digest each, at
// most four.
class ObjectChecker {
 public:
  // An ETag or a composite checksum of parts that matches none of the sizes tried proves nothing:
  // unverified.
  enum class Verdict { verified, unverified, wrong };
  explicit ObjectChecker(const ObjectInfo& object);
  ~ObjectChecker();
  ObjectChecker(ObjectChecker&&) noexcept;
  ObjectChecker& operator=(ObjectChecker&&) noexcept;

  // What an answer's headers said later than the listing: the object is encrypted with keys of KMS
  // or the customer's, so that its ETag is something else.
  void etag_is_no_md5();
  void update(ByteView bytes);
  // Once. Bytes that are more or fewer than the object has are wrong.
  Verdict finish();
  // By what it was verified, or against what it is wrong: "MD5 ETag", "multipart ETag of 8 MiB
  // parts"; or why it is unverified. After finish().
  const std::string& method() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The part sizes with which `size` bytes give exactly `parts` parts, likeliest first (8 MiB of
// awscli and boto3, 5 MiB, 15/16 MiB, 64 MiB, …, the smallest MiB multiple).
std::vector<std::uint64_t> likely_part_sizes(std::uint64_t size, std::uint64_t parts);

}  // namespace prep
