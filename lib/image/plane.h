// The planes that decoder, resampler and encoder pass to each other: 8-bit samples, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace prep::image {

// A view of one plane; nothing is owned. `stride` is in bytes, from row to row. A plane with
// `channels` > 1 holds them interleaved (RGBRGB…); width and height count pixels.
template <typename T>
struct BasicPlane {
  T* data = nullptr;
  int width = 0;
  int height = 0;
  std::ptrdiff_t stride = 0;
  int channels = 1;

  T* row(int y) const { return data + y * stride; }
};
using Plane = BasicPlane<std::uint8_t>;
using ConstPlane = BasicPlane<const std::uint8_t>;

inline ConstPlane as_const(const Plane& p) {
  return {p.data, p.width, p.height, p.stride, p.channels};
}

// Sets every sample to 0.
void clear(const Plane& plane);

// Memory for planes, grown but never shrunk, so that a worker thread reuses it from image to
// image. 64-byte aligned; what it holds is undefined after a call.
class PlaneBuffer {
 public:
  // A plane of the given size. Rows start at multiples of 64 bytes, and at least 64 readable and
  // writable bytes follow each row, so that vector code may run past its end. Invalidates earlier
  // planes from this buffer.
  Plane shape(int width, int height, int channels = 1);
  // Gives memory back when more than `keep` bytes are held (after one huge picture).
  void trim(std::size_t keep);

 private:
  struct Free {
    void operator()(std::uint8_t* p) const;
  };
  std::unique_ptr<std::uint8_t[], Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace prep::image
