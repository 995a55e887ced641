// Streams of bytes over file descriptors, plain, gzip or zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"
#include "lib/core/file_io.h"

namespace prep {

enum class Compression { none, gzip, zstd };

// What the first bytes of a file say (4 are enough). Inputs are told by this, never by name.
Compression detect_compression(ByteView head);
// Whether a path names a regular file that is not compressed, whose bytes can be read in any order.
bool is_plain_file(const std::string& path);
// What an output of this name should be: ".gz" and ".tgz" gzip, ".zst" and ".tzst" zstd, in upper
// or lower case.
Compression compression_for_name(std::string_view path);

// A stream of bytes to pull from.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  // Gives at least one byte and at most out.size(), which must not be 0; returns 0 only at the end.
  // throws Error io, interrupted; and, when decompressing, truncated, corrupt or limit.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  // How many bytes were taken from the file underneath, for progress.
  virtual std::uint64_t consumed() const = 0;
};

// Bytes in memory.
class MemoryReader final : public ByteReader {
 public:
  explicit MemoryReader(Bytes bytes) : bytes_(std::move(bytes)) {}
  std::size_t read(std::span<std::uint8_t> out) override;
  std::uint64_t consumed() const override { return position_; }

 private:
  Bytes bytes_;
  std::size_t position_ = 0;
};

// A file, from where it stands, or a pipe.
class FdReader final : public ByteReader {
 public:
  // `name` is for messages, not escaped.
  FdReader(std::shared_ptr<const Fd> fd, std::string name);
  std::size_t read(std::span<std::uint8_t> out) override;
  std::uint64_t consumed() const override { return consumed_; }

 private:
  std::shared_ptr<const Fd> fd_;
  std::string name_;
  std::uint64_t consumed_ = 0;
};

// What `input` holds: itself, or decompressed if it starts as gzip or zstd. Concatenated members
// and frames are one stream. A zstd window over 128 MiB is refused (Error limit), so memory is
// bounded.
std::unique_ptr<ByteReader> decompress(std::unique_ptr<ByteReader> input, std::string name);

// A stream of bytes to push into. The destructor writes nothing: without finish() a compressed
// stream has no end, and its readers notice.
class ByteWriter {
 public:
  virtual ~ByteWriter() = default;
  // throws Error io.
  virtual void write(ByteView data) = 0;
  // The same, for a writer that may want to keep the bytes for a while.
  virtual void write_shared(const Bytes& data) { write(data.view()); }
  // Writes what is still held back, and the end of a compressed stream; does not sync or close.
  virtual void finish() = 0;
  // How many bytes went to the descriptor.
  virtual std::uint64_t written() const = 0;
};

// What is written goes, compressed, to `out`; the output depends on nothing but the data.
std::unique_ptr<ByteWriter> compress(std::unique_ptr<ByteWriter> out, Compression compression);
// The same into a file, which must stay open as long as the writer.
std::unique_ptr<ByteWriter> make_writer(int fd, Compression compression, std::string name);

}  // namespace prep
