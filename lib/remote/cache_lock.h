// Locks between processes, on ranges of a file: any number of things can be locked by name, and no
// file is ever removed from under a lock.
//
// They are open file description locks (fcntl(2)), so they also work between threads, and end with
// their process. Where a file system has none, nothing is locked: what is protected by them must be
// right without, if slower.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/file_io.h"

namespace prep {

class CacheLock {
 public:
  enum class Kind { shared, exclusive };

  // `place`: which one of the file's. Nothing if another holds it.
  static std::optional<CacheLock> try_lock(const std::string& path, std::uint64_t place, Kind kind);
  // Waits. throws Error interrupted, io.
  static CacheLock lock(const std::string& path, std::uint64_t place, Kind kind);
  // Whether what is locked here cannot be locked again.
  static bool works(const std::string& path);

 private:
  explicit CacheLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace prep
