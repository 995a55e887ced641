#include "lib/image/plane.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace prep::image {
namespace {

constexpr std::size_t kAlign = 64;

std::size_t row_bytes(int width, int channels) {
  const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  std::size_t stride = (bytes + kAlign - 1) / kAlign * kAlign + kAlign;
  // Rows a large power of two apart would all fall into the same few cache sets, and whoever walks
  // down a column would evict what it is about to need.
  if (stride % 1024 == 0) stride += kAlign;
  return stride;
}

}  // namespace

void clear(const Plane& plane) {
  const std::size_t bytes =
      static_cast<std::size_t>(plane.width) * static_cast<std::size_t>(plane.channels);
  for (int y = 0; y < plane.height; ++y) std::memset(plane.row(y), 0, bytes);
}

void PlaneBuffer::Free::operator()(std::uint8_t* p) const { std::free(p); }

Plane PlaneBuffer::shape(int width, int height, int channels) {
  const std::size_t stride = row_bytes(width, channels);
  const std::size_t size = stride * static_cast<std::size_t>(height);
  if (size > capacity_) {
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<std::uint8_t*>(std::aligned_alloc(kAlign, size)));
    if (!memory_) throw std::bad_alloc();
    capacity_ = size;
  }
  return {memory_.get(), width, height, static_cast<std::ptrdiff_t>(stride), channels};
}

void PlaneBuffer::trim(std::size_t keep) {
  if (capacity_ <= keep) return;
  memory_.reset();
  capacity_ = 0;
}

}  // namespace prep::image
