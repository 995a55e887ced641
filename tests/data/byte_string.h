// Numbers as bytes of a file.
#pragma once

#include <cstdint>
#include <string>

namespace prep::testdata {

inline std::string little_endian(std::uint64_t value, int bytes) {
  std::string result;
  for (; bytes > 0; --bytes, value >>= 8) result += static_cast<char>(value & 0xff);
  return result;
}

inline std::string big_endian(std::uint64_t value, int bytes) {
  const std::string reversed = little_endian(value, bytes);
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace prep::testdata
