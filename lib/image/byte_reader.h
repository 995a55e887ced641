// Fixed-width integers out of untrusted bytes, every access checked.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/core/bytes.h"

namespace prep::image {

enum class ByteOrder { little, big };

// Reads at offsets of `data`; nullopt wherever the bytes are not there.
class ByteReader {
 public:
  ByteReader(ByteView data, ByteOrder order) : data_(data), order_(order) {}

  std::optional<std::uint32_t> u16(std::uint64_t at) const { return read(at, 2); }
  std::optional<std::uint32_t> u24(std::uint64_t at) const { return read(at, 3); }
  std::optional<std::uint32_t> u32(std::uint64_t at) const { return read(at, 4); }
  // The bytes [at, at + size).
  std::optional<ByteView> bytes(std::uint64_t at, std::uint64_t size) const {
    if (at > data_.size() || size > data_.size() - at) return std::nullopt;
    return data_.subspan(at, size);
  }
  std::size_t size() const { return data_.size(); }

 private:
  std::optional<std::uint32_t> read(std::uint64_t at, int count) const {
    const auto view = bytes(at, static_cast<std::uint64_t>(count));
    if (!view) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) {
      value = value << 8 |
              (*view)[static_cast<std::size_t>(order_ == ByteOrder::big ? i : count - 1 - i)];
    }
    return value;
  }

  ByteView data_;
  ByteOrder order_;
};

}  // namespace prep::image
