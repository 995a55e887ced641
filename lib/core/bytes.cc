#include "lib/core/bytes.h"

#include <cstdlib>

namespace prep {

Bytes Bytes::take_malloc(std::uint8_t* block, std::size_t size) {
  return Bytes(ByteView(block, size), std::shared_ptr<const void>(block, std::free));
}

}  // namespace prep
