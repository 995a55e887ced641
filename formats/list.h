// Lists of files as sources of samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/compression.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep {

// A path as somebody wrote it, as it stands in a key: without "./", a leading "/" or leading "../",
// which say where the data lies, not what it is called. throws Error name as clean_path() does.
std::string key_path(std::string_view path);

// Reads the paths of files, one an entry, as they come; nothing grows with their number. The
// entries are opaque bytes; keys are made of key_path(). Paths that follow each other and share a
// key are one sample, so sort the list. Empty entries and hidden files are left out. Whether a file
// exists shows when it is read.
class ListSource final : public Source {
 public:
  enum class Separator { newline, nul };

  // throws Error not_found, io; usage for a directory.
  ListSource(const std::string& path, Separator separator);
  // `name` is for messages: "standard input". throws Error usage for a terminal.
  ListSource(Fd input, std::string name, Separator separator);

  // throws Error usage for a NUL in a list of lines; limit for an entry over 64 KiB; io.
  bool next(Sample& sample) override;
  bool is_rereadable() const override { return true; }
  Tally left_out() const override { return left_out_; }
  // Of the list, not of the files in it.
  std::uint64_t expected_bytes() const override { return expected_bytes_; }
  std::uint64_t consumed_bytes() const override {
    return consumed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  bool next_entry(std::string& entry);
  bool fill();
  std::optional<Sample> take(const std::string& entry);

  std::string name_;
  char separator_;
  std::unique_ptr<FdReader> input_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t entries_ = 0;
  Grouper grouper_;
  std::optional<Sample> faulty_;  // waits behind the sample before it
  bool ended_ = false;
  Tally left_out_;
  std::uint64_t expected_bytes_ = 0;
  std::atomic<std::uint64_t> consumed_bytes_{0};
};

// Files named one by one; a key is the base name up to its first dot, a sample the files that
// follow each other and share a key. Hidden files are taken: somebody asked for them by name.
class FilesSource final : public Source {
 public:
  explicit FilesSource(std::vector<std::string> paths) : paths_(std::move(paths)) {}
  bool next(Sample& sample) override;
  bool is_rereadable() const override { return true; }

 private:
  std::vector<std::string> paths_;
  std::size_t next_path_ = 0;
  Grouper grouper_;
};

}  // namespace prep
