// Writes the records of a TFRecord and tells where they lie.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "formats/compression.h"
#include "formats/tfrecord_record.h"
#include "lib/core/bytes.h"

namespace prep {

// The format has no end mark: a stream that breaks off between two records looks complete. So the
// last record's checksum is held back until the next record comes, or finish(): whatever ends the
// writer in between, readers find the last record cut short.
class TfRecordWriter {
 public:
  // `out` must outlive the writer.
  explicit TfRecordWriter(ByteWriter& out) : out_(out) {}

  // Where a record lies before compression; `size` counts the framing, as DALI's index does.
  struct Place {
    std::uint64_t offset, size;
  };
  // Writes the pieces as one record. With an `owner`, which keeps them alive, the writer underneath
  // need not copy them. throws Error limit before anything was written; io.
  Place add(std::span<const ByteView> pieces, std::shared_ptr<const void> owner = nullptr);

  // Writes what was held back.
  void finish();

  // Of the next record.
  std::uint64_t offset() const { return offset_; }

 private:
  ByteWriter& out_;
  std::uint64_t offset_ = 0;
  std::optional<std::array<std::uint8_t, kTfRecordFooter>> footer_;  // held back
};

}  // namespace prep
