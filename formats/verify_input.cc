#include "formats/verify_input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

// What is read at once: small enough to be in the cache still when it is hashed and looked at.
constexpr std::size_t kPiece = 256 << 10;
// For what is left behind a walk, which is mostly nothing.
constexpr std::size_t kDrainPiece = 32 << 10;
// Behind a jump over a large member only the next header is wanted.
constexpr std::size_t kSmallPiece = 4 << 10;
constexpr std::uint64_t kLargeJump = 16 << 10;

}  // namespace

DigestedFile::DigestedFile(std::unique_ptr<ByteReader> file, Wanted wanted)
    : file_(std::move(file)) {
  if (wanted.sha256) sha256_ = std::make_unique<Digest>(Digest::Kind::sha256);
  if (wanted.md5) md5_ = std::make_unique<Digest>(Digest::Kind::md5);
}

std::size_t DigestedFile::read(std::span<std::uint8_t> out) {
  const std::size_t count = file_->read(out.first(std::min(out.size(), kPiece)));
  const ByteView piece = out.first(count);
  if (sha256_) sha256_->update(piece);
  if (md5_) md5_->update(piece);
  bytes_ += count;
  return count;
}

void DigestedFile::drain() {
  std::vector<std::uint8_t> piece(kDrainPiece);
  while (read(piece) > 0) {
  }
}

namespace {

// No more than a small file has; a byte more, so that there always is room to find its end.
std::size_t window_for(std::uint64_t size) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(size, VerifyInput::kWindow - 1)) + 1;
}

}  // namespace

VerifyInput::VerifyInput(std::unique_ptr<ByteReader> stream, std::uint64_t end)
    : stream_(std::move(stream)),
      end_(end),
      capacity_(window_for(end)),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(capacity_)),
      read_ahead_(kPiece) {}

VerifyInput::VerifyInput(std::shared_ptr<const Fd> file, std::string name, std::uint64_t size)
    : file_(std::move(file)),
      name_(std::move(name)),
      end_(size),
      capacity_(window_for(size)),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(capacity_)),
      read_ahead_(kPiece) {}

// Reads once more behind the window; false at the end.
bool VerifyInput::fill() {
  if (window_end_ == capacity_ || begin_ == window_end_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, window_end_ - begin_);
    window_end_ -= begin_;
    begin_ = 0;
  }
  const std::span<std::uint8_t> room(buffer_.get() + window_end_,
                                     std::min(capacity_ - window_end_, read_ahead_));
  if (room.empty()) return false;
  std::size_t count = 0;
  if (stream_) {
    count = stream_->read(room);
  } else {
    check_interrupt();
    const std::uint64_t at = position_ + (window_end_ - begin_);
    const std::uint64_t wanted = at < end_ ? std::min<std::uint64_t>(room.size(), end_ - at) : 0;
    count = pread_fully(file_->get(), room.data(), static_cast<std::size_t>(wanted), at, name_);
    read_ahead_ = kPiece;
  }
  window_end_ += count;
  return count > 0;
}

ByteView VerifyInput::peek_window(std::size_t size) {
  if (size > capacity_ - begin_) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, window_end_ - begin_);
    window_end_ -= begin_;
    begin_ = 0;
  }
  while (window_end_ - begin_ < size && fill()) {
  }
  return window();
}

ByteView VerifyInput::peek(std::size_t size) {
  const ByteView bytes = peek_window(size);
  return bytes.first(std::min(size, bytes.size()));
}

void VerifyInput::consume(std::size_t size) {
  begin_ += size;
  position_ += size;
}

std::uint64_t VerifyInput::skip(std::uint64_t size) {
  if (file_) {
    const std::uint64_t count = std::min(size, left());
    seek(position_ + count);
    return count;
  }
  std::uint64_t done = 0;
  while (done < size && (begin_ < window_end_ || fill())) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(size - done, window_end_ - begin_));
    consume(count);
    done += count;
  }
  return done;
}

Bytes VerifyInput::take(std::uint64_t size) {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(std::min({size, left(), std::uint64_t{64} << 20})));
  while (bytes.size() < size) {
    const ByteView some = peek_window(1);
    if (some.empty()) break;
    const ByteView piece = some.first(
        static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), size - bytes.size())));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    consume(piece.size());
  }
  return Bytes::take(std::move(bytes));
}

void VerifyInput::seek(std::uint64_t position) {
  if (position >= position_ && position - position_ <= window_end_ - begin_) {
    consume(static_cast<std::size_t>(position - position_));
    return;
  }
  const bool far = position > position_ + kLargeJump;
  read_ahead_ = far ? kSmallPiece : kPiece;
  position_ = position;
  begin_ = window_end_ = 0;
}

}  // namespace prep
