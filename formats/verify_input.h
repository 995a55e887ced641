// The bytes of a shard on their way through a check: read once, hashed on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "formats/compression.h"
#include "lib/core/bytes.h"
#include "lib/core/digest.h"
#include "lib/core/file_io.h"

namespace prep {

// A file or pipe as it lies there, whose digests are taken while somebody reads it.
class DigestedFile {
 public:
  struct Wanted {
    bool sha256 = false, md5 = false;
  };
  DigestedFile(std::unique_ptr<ByteReader> file, Wanted wanted);

  std::size_t read(std::span<std::uint8_t> out);
  // Reads what nobody has read, so that the digests are those of the whole. throws Error io.
  void drain();

  std::uint64_t bytes() const { return bytes_; }
  // After drain(); "" if it is not wanted.
  std::string sha256() { return sha256_ ? sha256_->hex() : ""; }
  std::string md5() { return md5_ ? md5_->hex() : ""; }

 private:
  std::unique_ptr<ByteReader> file_;
  std::unique_ptr<Digest> sha256_, md5_;
  std::uint64_t bytes_ = 0;
};

// A stream over a DigestedFile that others hold on to.
class DigestedReader final : public ByteReader {
 public:
  explicit DigestedReader(std::shared_ptr<DigestedFile> file) : file_(std::move(file)) {}
  std::size_t read(std::span<std::uint8_t> out) override { return file_->read(out); }
  std::uint64_t consumed() const override { return file_->bytes(); }

 private:
  std::shared_ptr<DigestedFile> file_;
};

// What a walk sees of a shard: a window that moves forward. In a file it can jump over bytes, and
// go back.
class VerifyInput {
 public:
  // The most that peek() can be asked for; a picture is mostly smaller.
  static constexpr std::size_t kWindow = 1 << 20;

  // A stream, decompressed already: every byte is read. `end` is where it will end, if that is
  // known.
  explicit VerifyInput(std::unique_ptr<ByteReader> stream, std::uint64_t end = UINT64_MAX);
  // A regular file that is not compressed, of which only what is looked at is read.
  VerifyInput(std::shared_ptr<const Fd> file, std::string name, std::uint64_t size);

  // The next `size` bytes, fewer only at the end; valid until the next call of anything. throws
  // Error io, and what decompressing throws.
  ByteView peek(std::size_t size);
  // All that is in the window: at least `size` bytes, fewer only at the end.
  ByteView peek_window(std::size_t size);
  // Moves on over what was peeked at.
  void consume(std::size_t size);
  // Moves on, as far as there are bytes; returns how far.
  std::uint64_t skip(std::uint64_t size);
  // The next `size` bytes, fewer only at the end, in memory of their own, which is taken as they
  // come.
  Bytes take(std::uint64_t size);

  std::uint64_t position() const { return position_; }
  // UINT64_MAX if it is not known.
  std::uint64_t end() const { return end_; }
  // How many bytes there are from here on; UINT64_MAX if it is not known.
  std::uint64_t left() const { return end_ == UINT64_MAX ? end_ : end_ - position_; }

  bool can_seek() const { return file_ != nullptr; }
  // For can_seek() only.
  void seek(std::uint64_t position);

 private:
  ByteView window() const { return {buffer_.get() + begin_, window_end_ - begin_}; }
  bool fill();

  std::unique_ptr<ByteReader> stream_;  // or else
  std::shared_ptr<const Fd> file_;
  std::string name_;
  std::uint64_t end_;
  std::uint64_t position_ = 0;
  std::size_t capacity_;
  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t begin_ = 0, window_end_ = 0;
  std::size_t read_ahead_;
};

}  // namespace prep
