#include "formats/digest_writer.h"

#include <fcntl.h>

#include <utility>

#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

// Small writes are gathered up to this; larger ones go out as they are.
constexpr std::size_t kDigestBuffer = 128 << 10, kLarge = 32 << 10;
// What digest() does in one go, and what may wait for it.
constexpr std::uint64_t kStep = 1 << 20, kMostWaiting = 8 << 20;
// So much is sent on its way to the disk in one go: little is left for the sync at the end then.
constexpr std::uint64_t kWriteBack = 16 << 20;

}  // namespace

DigestWriter::DigestWriter(int fd, std::string name, bool with_md5)
    : fd_(fd), name_(std::move(name)) {
  if (with_md5) md5_.emplace(Digest::Kind::md5);
  buffer_.reserve(kDigestBuffer);
}

void DigestWriter::write(ByteView data) {
  if (data.size() >= kLarge) return write_shared(Bytes::copy(data));
  if (buffer_.size() + data.size() > kDigestBuffer) flush();
  buffer_.insert(buffer_.end(), data.begin(), data.end());
}

void DigestWriter::write_shared(const Bytes& data) {
  if (data.size() < kLarge) return write(data.view());
  flush();
  out(data);
}

void DigestWriter::flush() {
  if (buffer_.empty()) return;
  std::vector<std::uint8_t> next;
  next.reserve(kDigestBuffer);
  std::swap(next, buffer_);
  out(Bytes::take(std::move(next)));
}

void DigestWriter::out(Bytes data) {
  check_interrupt();
  write_fully(fd_, data.view(), name_);
  const std::uint64_t before = written_;
  written_ += data.size();
  if (before / kWriteBack != written_ / kWriteBack) {
    // Only a hint: what fails here will fail again in the sync, which is not ignored.
    const std::uint64_t begin = before / kWriteBack * kWriteBack;
    (void)sync_file_range(fd_, static_cast<off_t>(begin), static_cast<off_t>(kWriteBack),
                          SYNC_FILE_RANGE_WRITE);
  }
  std::unique_lock lock(waiting_mutex_);
  waiting_bytes_ += data.size();
  waiting_.push_back(std::move(data));
  const bool too_much = waiting_bytes_ > kMostWaiting;
  lock.unlock();
  if (too_much) digest();
}

Bytes DigestWriter::next_waiting() {
  const std::lock_guard lock(waiting_mutex_);
  if (waiting_.empty()) return {};
  Bytes next = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= next.size();
  return next;
}

bool DigestWriter::digest() {
  const std::lock_guard lock(digest_mutex_);
  std::uint64_t done = 0;
  while (done < kStep) {
    const Bytes next = next_waiting();
    if (next.empty()) break;
    sha256_.update(next.view());
    if (md5_) md5_->update(next.view());
    done += next.size();
  }
  return done > 0;
}

DigestWriter::Digests DigestWriter::digests() {
  while (digest()) {
  }
  return {sha256_.hex(), md5_ ? md5_->hex() : ""};
}

}  // namespace prep
