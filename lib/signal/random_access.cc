#include "lib/signal/random_access.h"

#include "lib/core/error.h"

namespace prep::signal {

Bytes RandomAccess::read(std::uint64_t offset, std::uint64_t length) const {
  const std::lock_guard lock(mutex_);
  Bytes bytes = content_->read(offset, length);
  if (bytes.size() != length) {
    fail(Code::truncated, "ends at byte {}, where {} were expected", offset + bytes.size(),
         offset + length);
  }
  return bytes;
}

}  // namespace prep::signal
