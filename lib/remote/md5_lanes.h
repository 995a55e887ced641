// MD5 of many messages of one length at once: one a SIMD lane, with Highway.
// Source: RFC 1321.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace prep {

// MD5 is a single chain of dependent steps: a processor that works on sixteen of them at a time is
// several times faster than with one after the other.
class Md5Lanes {
 public:
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kBlock = 64;  // bytes

  Md5Lanes();
  // The next `bytes` (a multiple of kBlock) of each message: lane i's begin at data + i * stride.
  // `stride` is a multiple of 4, data is aligned to it, and there are kLanes * stride bytes,
  // whether or not all lanes are wanted.
  void update(const std::uint8_t* data, std::size_t stride, std::size_t bytes);
  // The rest of each message, less than a block; 16-byte digests. Ready for others afterwards.
  std::array<std::string, kLanes> finish(const std::uint8_t* data, std::size_t stride,
                                         std::size_t bytes);

 private:
  std::array<std::uint32_t, 4 * kLanes> state_;  // A of all lanes, then B, C, D
  std::uint64_t length_ = 0;
};

}  // namespace prep
