// An array [channels, frequencies, times] while it is made: in memory, or in a temporary file where
// it is large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/signal/array_encoding.h"
#include "lib/signal/npy.h"

namespace prep::signal {

// Arrays up to this size are in memory.
inline constexpr std::uint64_t kLargestArrayInMemory = std::uint64_t{160} << 20;

class ArrayStore {
 public:
  // What it holds is undefined until it is put. throws Error io, limit.
  ArrayStore(NpyType type, const ArrayShape& shape, Layout layout);

  // Whether one of that shape will be in memory.
  static bool is_in_memory(NpyType type, const ArrayShape& shape);

  const ArrayShape& shape() const { return shape_; }

  // Takes a block [channels, frequencies, block_times] in C order, whose T is that of the type.
  // Different threads may put different times.
  template <typename T>
  void put(const T* block, std::size_t block_times, std::size_t first_time);

  // For float32 in layout cft only. Where the array is in memory: where the row of a channel and a
  // frequency is. Else null.
  float* row_in_memory(std::size_t channel, std::size_t frequency);
  // Goes over a row piece by piece; what f() changes is kept if `write`. Different threads may do
  // different rows.
  void visit_row(std::size_t channel, std::size_t frequency, bool write,
                 const std::function<void(std::span<float>)>& f);
  // Copies the times from `first_time` on into a block as put() takes it.
  void get(float* block, std::size_t block_times, std::size_t first_time);

  // The .npy file. The store is empty afterwards.
  std::shared_ptr<const Content> take(std::string origin, std::int64_t mtime_ns);

 private:
  struct FreeMemory {
    void operator()(std::uint8_t* memory) const;
  };

  template <typename T>
  T* elements() {
    return reinterpret_cast<T*>(memory_.get() + header_.size());
  }
  std::uint64_t offset_of(std::size_t channel, std::size_t frequency, std::size_t time) const;
  void write_at(const void* data, std::size_t bytes, std::uint64_t offset) const;

  const ArrayShape shape_;
  const Layout layout_;
  const std::size_t item_bytes_;
  const std::string header_;
  std::uint64_t bytes_ = 0;  // with the header
  std::unique_ptr<std::uint8_t, FreeMemory> memory_;
  std::shared_ptr<const Fd> file_;
};

}  // namespace prep::signal
