// Reading a Content from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"

namespace prep::signal {

// Pieces of this many bytes are read at a time: they stay in a core's cache until they are decoded,
// and cost few system calls.
inline constexpr std::uint64_t kReadPiece = 256 << 10;

// Reads pieces of a content instead of mapping a file: it works alike for a member of a tar, the
// memory in use is that of the pieces, and a file that shrinks while it is read is an Error, not a
// SIGBUS.
class RandomAccess {
 public:
  explicit RandomAccess(std::shared_ptr<const Content> content)
      : content_(std::move(content)), size_(content_->size()) {}

  std::uint64_t size() const { return size_; }
  // The bytes [offset, offset + length), which must lie inside. Any thread. throws Error io,
  // truncated.
  Bytes read(std::uint64_t offset, std::uint64_t length) const;

 private:
  std::shared_ptr<const Content> content_;
  std::uint64_t size_;
  mutable std::mutex mutex_;  // one thread at a time uses a Content
};

}  // namespace prep::signal
