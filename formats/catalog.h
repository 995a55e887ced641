// Every sample of inputs that can be read again, by reference: what shuffling, splitting and equal
// shards need to know before the first byte is written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"

namespace prep {

// Takes its key and about 10 bytes a sample, and 6 bytes more for each part beyond the first. Not
// for several threads while add() is called; afterwards it may be read by any number.
class Catalog {
 public:
  static constexpr std::uint32_t kNoLabel = 0;

  Catalog();
  ~Catalog();
  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;

  // Remembers a sample; asks each part for its size and time. `label` is whatever the caller wants
  // to remember of it. throws Error usage where a part's bytes can be had only once: the message
  // says why, and what to do.
  void add(const Sample& sample, std::uint32_t label = kNoLabel);
  // Joins samples of the same key: the parts of all, in the order in which they came, under the
  // first one's label and place.
  void regroup();

  std::uint64_t size() const { return samples_.size(); }
  std::string_view key(std::uint64_t index) const;
  std::uint32_t label(std::uint64_t index) const;
  // The sizes of a sample's parts.
  struct PartSize {
    std::string_view name;
    std::uint64_t size;
  };
  std::vector<PartSize> part_sizes(std::uint64_t index) const;
  // The sample again. Reading a file whose size is not what it was is an Error io.
  Sample sample(std::uint64_t index) const;

  // XXH3-128 over all names, sizes and times, in the order of add(); 32 hex digits.
  std::string digest() const;
  // The memory that it takes.
  std::uint64_t memory() const;

 private:
  struct Names;  // strings that many samples share, by number
  struct Digest;
  class Cursor;  // reads an entry

  std::uint8_t* allocate(std::size_t size);
  void append_part(const Sample& sample, const Part& part, std::string& entry);
  std::uint64_t file_number(const FileRange& range, std::int64_t mtime_ns);
  Part read_part(Cursor& cursor, std::string_view key) const;

  std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
  std::size_t block_used_ = 0, block_size_ = 0;
  std::uint64_t allocated_ = 0;
  std::vector<const std::uint8_t*> samples_;

  std::unique_ptr<Names> names_;
  struct OpenFile {
    std::shared_ptr<const Fd> file;
    std::int64_t mtime_ns;
  };
  std::vector<OpenFile> files_;
  std::unordered_map<const Fd*, std::uint64_t> file_numbers_;
  std::unique_ptr<Digest> digest_;
};

}  // namespace prep
