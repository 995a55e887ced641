// What a mirror of a prefix knows of its files: which version of which object each is.
//
// A file of records in the order of keys, which is the order of listings: a listing and the state
// are gone through side by side, in little memory, however many there are. The new state is written
// as a run goes on. What a killed run has left of it counts, and behind its end the old one.
//
//     "prep-stage mirror 1\n", then for each: key, NUL, ETag, NUL, size, NUL, the file's
//     modification time in ns, "\n"; keys are as they are, the numbers decimal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/core/file_io.h"

namespace prep {

struct MirrorRecord {
  std::string key;  // below the prefix
  std::string etag;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};

// Records in order, out of PATH and what the run before has left beside it (PATH.new).
class MirrorReader {
 public:
  // Files that are not there are empty; one that is damaged ends where it is.
  explicit MirrorReader(const std::string& path);
  ~MirrorReader();
  // The next record; nothing at the end. throws Error io.
  std::optional<MirrorRecord> next();

 private:
  class File;
  std::unique_ptr<File> newer_, older_;
  std::optional<MirrorRecord> pending_;  // of the older file
  std::string last_;                     // key of the newer one
};

// Holds the state for one run, and writes its successor as PATH.next.
class MirrorWriter {
 public:
  // throws Error io: another run is at work on it.
  explicit MirrorWriter(const std::string& path);
  // From what was there, and from now on.
  MirrorReader& old() { return *old_; }
  ~MirrorWriter();
  // In the order of keys. throws Error io.
  void add(const MirrorRecord& record);
  void commit();

 private:
  void flush();
  const std::string path_;
  Fd lock_, file_;
  std::unique_ptr<MirrorReader> old_;
  std::string buffer_;
};

}  // namespace prep
