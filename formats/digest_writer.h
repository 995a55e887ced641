// Writes to a file, and has what was written digested by another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "lib/core/bytes.h"
#include "lib/core/digest.h"

namespace prep {

// One thread writes; meanwhile another may call digest(). What waits to be digested is bounded:
// beyond that the writing thread digests, too.
class DigestWriter final : public ByteWriter {
 public:
  // `fd` must stay open as long as the writer; `name` is for messages.
  DigestWriter(int fd, std::string name, bool with_md5);

  void write(ByteView data) override;
  void write_shared(const Bytes& data) override;
  void finish() override { flush(); }
  std::uint64_t written() const override { return written_; }

  // Digests some of what waits; false if nothing does.
  bool digest();

  // After finish(): of all that was written, in lower-case hex. MD5: "" without it.
  struct Digests {
    std::string sha256, md5;
  };
  Digests digests();

 private:
  void flush();
  void out(Bytes data);
  Bytes next_waiting();

  const int fd_;
  const std::string name_;
  std::vector<std::uint8_t> buffer_;  // small writes
  std::uint64_t written_ = 0;

  std::mutex waiting_mutex_;
  std::deque<Bytes> waiting_;  // in order
  std::uint64_t waiting_bytes_ = 0;

  std::mutex digest_mutex_;  // taken before waiting_mutex_
  Digest sha256_{Digest::Kind::sha256};
  std::optional<Digest> md5_;
};

}  // namespace prep
