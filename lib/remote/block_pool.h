// Buffers between the network and those that write: never more than agreed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/core/bytes.h"

namespace prep {

// A piece of an object on its way to the disk.
struct Block {
  std::unique_ptr<std::uint8_t[]> data;
  std::size_t size = 0;
  std::uint64_t offset = 0;  // in the object
  ByteView view() const { return {data.get(), size}; }
};

// Thread-safe.
class BlockPool {
 public:
  // More than libcurl delivers at once, so that one fresh block is always enough for it.
  static constexpr std::size_t kBlockSize = 256 << 10;

  explicit BlockPool(std::size_t blocks) : left_(blocks) {}

  // Null if all are in use: then `wake` is called once when one may be had.
  std::unique_ptr<std::uint8_t[]> take(const std::function<void()>& wake);
  void give_back(std::unique_ptr<std::uint8_t[]> data);

 private:
  std::mutex mutex_;
  std::size_t left_;  // that may still be made
  std::vector<std::unique_ptr<std::uint8_t[]>> free_;
  std::deque<std::function<void()>> waiting_;
};

}  // namespace prep
