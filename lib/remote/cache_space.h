// How much room a cache takes: the bytes of all objects, known without looking at each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "lib/remote/cache_lock.h"

namespace prep {

// While it lives, this process alone changes what is stored. The sum stands in a file beside a mark
// that says whether somebody was ended in the middle of a change; then all is counted again.
class CacheSpace {
 public:
  // `count` adds up what is there. throws Error interrupted, io.
  CacheSpace(const std::string& directory, const std::function<std::uint64_t()>& count);
  ~CacheSpace();

  std::uint64_t bytes() const { return bytes_; }
  void set_bytes(std::uint64_t bytes) { bytes_ = bytes; }
  // When that was last used which is to go next; 0: not known. As of the last eviction.
  std::int64_t oldest_used() const { return oldest_used_; }
  void set_oldest_used(std::int64_t when_ns) { oldest_used_ = when_ns; }
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  void subtract(std::uint64_t bytes) { bytes_ -= bytes < bytes_ ? bytes : bytes_; }

 private:
  void write(bool is_changing) const;

  CacheLock lock_;
  Fd file_;
  std::uint64_t bytes_ = 0;
  std::int64_t oldest_used_ = 0;
};

}  // namespace prep
