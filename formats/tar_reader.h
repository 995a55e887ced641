// Walks the members of a tar: a pull parser over any input, with the end-of-archive contract.
//
// An archive ends with two zero blocks. Without them it was cut short, even where the cut lies
// between two members. After them may come zeros, or another archive (cat a.tar b.tar).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "formats/tar_header.h"
#include "lib/core/bytes.h"
#include "lib/core/file_io.h"

namespace prep {

// An archive's bytes in order.
class TarInput {
 public:
  virtual ~TarInput() = default;
  // The next `size` (at most kTarBlock) bytes, fewer only at the end; valid until the next call.
  virtual ByteView peek(std::size_t size) = 0;
  // Both move on and return by how much, less than asked for only at the end.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  virtual std::uint64_t skip(std::uint64_t size) = 0;
  // Where peek() looks, from the beginning of the file or stream.
  virtual std::uint64_t position() const = 0;
  // Where the input ends; UINT64_MAX as long as that is not known.
  virtual std::uint64_t end() const { return UINT64_MAX; }
  // How much of the file underneath was used, for progress.
  virtual std::uint64_t consumed() const = 0;
};

// A regular file that is not compressed: skipped data is not read.
class TarFileInput final : public TarInput {
 public:
  TarFileInput(std::shared_ptr<const Fd> file, std::string name, std::uint64_t begin,
               std::uint64_t end);
  ByteView peek(std::size_t size) override;
  std::size_t read(std::span<std::uint8_t> out) override;
  std::uint64_t skip(std::uint64_t size) override;
  std::uint64_t position() const override { return position_; }
  std::uint64_t end() const override { return end_; }
  std::uint64_t consumed() const override { return position_; }

 private:
  std::shared_ptr<const Fd> file_;
  std::string name_;
  std::uint64_t position_, end_;
  std::vector<std::uint8_t> window_;
  std::uint64_t window_begin_ = 0;
  std::size_t window_size_ = 0;
  std::uint64_t last_skip_ = 0;
};

class TarStreamInput final : public TarInput {
 public:
  explicit TarStreamInput(std::unique_ptr<ByteReader> stream);
  ByteView peek(std::size_t size) override;
  std::size_t read(std::span<std::uint8_t> out) override;
  std::uint64_t skip(std::uint64_t size) override;
  std::uint64_t position() const override { return position_; }
  std::uint64_t consumed() const override { return stream_->consumed(); }

 private:
  bool fill();

  std::unique_ptr<ByteReader> stream_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t position_ = 0;
};

struct TarMember {
  char type = '0';   // as in TarHeader
  std::string name;  // as it stands in the archive
  std::string link;
  std::uint64_t size = 0;  // of the data in the archive
  std::int64_t mtime_ns = 0;
  bool sparse = false;              // the data is a condensed form of the file's
  std::uint64_t header_offset = 0;  // of the first block, extensions included
  std::uint64_t data_offset = 0;
};

class TarReader {
 public:
  // `name` is the archive's, for messages. `input` must outlive the reader.
  TarReader(TarInput& input, std::string name);

  // The next member; false when everything was read and the end is as it should be. What was not
  // read of the member before is skipped.
  // throws Error: empty (no bytes at all), truncated, corrupt, unsupported (not a tar: the message
  // says what it is, if that can be told), limit. Each names the archive and the offset.
  bool next(TarMember& member);

  // Reads on in the member's data; returns out.size() or what is left. throws Error truncated.
  std::size_t read(std::span<std::uint8_t> out);

  // How many archives followed the first one's end.
  std::uint64_t more_archives() const { return more_archives_; }

 private:
  [[noreturn]] void fail_at(Code code, std::uint64_t offset, std::string_view what) const;
  [[noreturn]] void fail_no_header(ByteView block, const Error& why) const;
  [[noreturn]] void fail_in_data() const;
  void finish_member();
  bool next_archive();
  TarHeader read_header();
  Bytes read_payload(const TarHeader& header);
  bool take_extension(const TarHeader& header, TarExtension& extension);
  void begin_member(TarHeader header, TarExtension extension, TarMember& member);
  void skip_sparse_map(const TarHeader& header);

  TarInput& input_;
  std::string name_;
  std::uint64_t start_;
  std::string member_;  // for messages
  std::uint64_t data_left_ = 0, padding_ = 0;
  std::uint64_t more_archives_ = 0;
};

}  // namespace prep
