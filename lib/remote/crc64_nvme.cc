#include "lib/remote/crc64_nvme.h"

#include <array>
#include <bit>
#include <cstring>

namespace prep {
namespace {

static_assert(std::endian::native == std::endian::little, "eight bytes are read as one number");

constexpr std::uint64_t kPolynomial = 0x9A6C9329AC4BC9B5;
constexpr int kStep = 16;  // bytes at a time

// [i][b]: what byte b does to the CRC when i further bytes follow it.
using Tables = std::array<std::array<std::uint64_t, 256>, kStep>;

constexpr Tables make_tables() {
  Tables tables{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::uint64_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) * kPolynomial);
    tables[0][byte] = crc;
  }
  for (int i = 1; i < kStep; ++i) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint64_t crc = tables[i - 1][byte];
      tables[i][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// Eight bytes, of which the last is followed by `behind` more.
std::uint64_t eight(std::uint64_t word, int behind) {
  std::uint64_t crc = 0;
  for (int i = 0; i < 8; ++i) crc ^= kTables[behind + 7 - i][(word >> (8 * i)) & 0xff];
  return crc;
}

std::uint64_t load(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

std::uint64_t crc64_nvme(std::uint64_t crc, ByteView bytes) {
  crc = ~crc;
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; at += kStep, left -= kStep) {
    crc = eight(load(at) ^ crc, 8) ^ eight(load(at + 8), 0);
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 0xff];
  return ~crc;
}

}  // namespace prep
