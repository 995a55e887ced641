// Immutable, shared runs of bytes. Copying a Bytes copies a pointer, never the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace prep {

using ByteView = std::span<const std::uint8_t>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Bytes {
 public:
  Bytes() = default;

  // A view of memory that `owner` keeps alive (a mapping, a malloc block, a larger Bytes).
  Bytes(ByteView view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}

  static Bytes copy(ByteView data) {
    return take(std::vector<std::uint8_t>(data.begin(), data.end()));
  }
  static Bytes take(std::vector<std::uint8_t> data) {
    auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(data));
    return Bytes(ByteView(*owner), owner);
  }
  static Bytes take(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    return Bytes(as_bytes(*owner), owner);
  }
  // Takes over a block from malloc(); freed with free().
  static Bytes take_malloc(std::uint8_t* block, std::size_t size);

  const std::uint8_t* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  ByteView view() const { return view_; }
  std::string_view text() const { return as_text(view_); }

  // [offset, offset + length), sharing ownership; the range must lie inside.
  Bytes slice(std::size_t offset, std::size_t length) const {
    return Bytes(view_.subspan(offset, length), owner_);
  }

 private:
  ByteView view_;
  std::shared_ptr<const void> owner_;
};

}  // namespace prep
