// An object's bytes as they arrive, in a file that other processes can read meanwhile and that a
// later run continues.
//
// PATH holds the bytes at their places. PATH.state says what is there: a header, then for each part
// the number of its bytes that have arrived, as 64-bit counters in a shared mapping. A counter
// grows only after its bytes were written, so that a reader in another process, or a run after kill
// -9, never sees bytes that are not there. After a crash of the machine (another boot id) nothing
// of it counts: the disk may have kept the counters and lost the bytes.
//
// PATH.state, native byte order, at multiples of 8: magic "prepprt1", boot id (40 bytes, NULs
// behind), digest of the identity (8), size (8), part size (8), a word that waiters sleep on (8),
// counters (8 each).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"
#include "lib/core/file_io.h"

namespace prep {

class PartialObject {
 public:
  // For writing: goes on with what is there if identity, size, part size and boot id are the same,
  // else begins anew. Room for all of it is taken first. throws Error io, with how much is missing.
  // The caller holds whatever makes it the only writer; should two write all the same, they write
  // the same bytes to the same places, and counters never go back.
  static PartialObject create(const std::string& path, std::string_view identity,
                              std::uint64_t size, std::uint64_t part_size);
  // For reading along; nothing if there is none, or it is of another identity or boot.
  static std::optional<PartialObject> open(const std::string& path, std::string_view identity);

  PartialObject(PartialObject&&) noexcept;
  PartialObject& operator=(PartialObject&&) noexcept;
  ~PartialObject();

  std::uint64_t size() const;
  std::uint64_t parts() const;  // at least 1
  std::uint64_t part_offset(std::uint64_t part) const;
  std::uint64_t part_bytes(std::uint64_t part) const;
  std::uint64_t received(std::uint64_t part) const;
  const std::string& path() const;
  int fd() const;

  // The bytes of a part from `offset` (within it) on; one thread a part. They count if those before
  // them do. throws Error io.
  void write(std::uint64_t part, std::uint64_t offset, ByteView bytes);
  // How many bytes from the beginning are all there.
  std::uint64_t available() const;
  bool is_complete() const { return available() == size(); }
  // Waits until more than `known` bytes are available, or `seconds` are over: who writes may die at
  // any time. Returns available().
  std::uint64_t wait(std::uint64_t known, double seconds) const;
  // The bytes are not what they should be: none counts.
  void reset();
  // Gives the file, and no other that may have its name by now, the final name, and removes the
  // state; with `sync`, when it is on the disk. throws Error io.
  void publish(const std::string& final_path, bool sync);
  void remove();

 private:
  struct State;
  explicit PartialObject(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace prep
