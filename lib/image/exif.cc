#include "lib/image/exif.h"

#include <cstdint>
#include <vector>

#include "lib/image/byte_reader.h"

namespace prep::image {
namespace {

constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;

struct Entry {
  std::uint64_t value_at = 0;  // offset of the value
  int value_bytes = 0;
  std::uint32_t value = 0;
};

// What IFD0 says about the orientation.
struct Lookup {
  bool readable = false;
  ByteOrder order = ByteOrder::little;
  std::optional<Entry> entry;
};

// An IFD is a count and then 12 bytes an entry: tag, type, number of values, value.
Lookup look_up(ByteView tiff) {
  Lookup found;
  if (tiff.size() < 8 || tiff[0] != tiff[1] || (tiff[0] != 'I' && tiff[0] != 'M')) return found;
  found.order = tiff[0] == 'I' ? ByteOrder::little : ByteOrder::big;
  const ByteReader reader(tiff, found.order);
  if (reader.u16(2) != 42u) return found;
  const std::uint64_t ifd = *reader.u32(4);
  const auto count = reader.u16(ifd);
  if (!count) return found;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::uint64_t at = ifd + 2 + std::uint64_t{12} * i;
    if (!reader.bytes(at, 12)) return found;
    if (*reader.u16(at) != kOrientation) continue;
    const std::uint32_t type = *reader.u16(at + 2);
    if (type == kShort) found.entry = Entry{at + 8, 2, *reader.u16(at + 8)};
    if (type == kLong) found.entry = Entry{at + 8, 4, *reader.u32(at + 8)};
    break;
  }
  found.readable = true;
  return found;
}

}  // namespace

int exif_orientation(ByteView tiff) {
  const Lookup found = look_up(tiff);
  if (!found.entry || found.entry->value < 1 || found.entry->value > 8) return 1;
  return static_cast<int>(found.entry->value);
}

std::optional<Bytes> with_upright_orientation(ByteView tiff) {
  const Lookup found = look_up(tiff);
  if (!found.readable) return std::nullopt;
  std::vector<std::uint8_t> copy(tiff.begin(), tiff.end());
  if (found.entry) {
    const auto at = static_cast<std::size_t>(found.entry->value_at);
    const auto bytes = static_cast<std::size_t>(found.entry->value_bytes);
    for (std::size_t i = 0; i < bytes; ++i) copy[at + i] = 0;
    copy[found.order == ByteOrder::little ? at : at + bytes - 1] = 1;
  }
  return Bytes::take(std::move(copy));
}

Bytes orientation_exif(int orientation) {
  // Byte order and offset of IFD0; its one entry, and no further IFD.
  std::vector<std::uint8_t> tiff = {'I',
                                    'I',
                                    42,
                                    0,
                                    8,
                                    0,
                                    0,
                                    0,
                                    1,
                                    0,
                                    0x12,
                                    0x01,
                                    kShort,
                                    0,
                                    1,
                                    0,
                                    0,
                                    0,
                                    static_cast<std::uint8_t>(orientation),
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0};
  return Bytes::take(std::move(tiff));
}

}  // namespace prep::image
