// Writes whole samples to a tar: what loaders would misread is refused.
#pragma once

#include <cstdint>

#include "formats/compression.h"
#include "formats/shard_index.h"
#include "formats/tar_writer.h"
#include "lib/core/sample.h"

namespace prep {

class TarSampleWriter {
 public:
  // `out` must outlive the writer.
  explicit TarSampleWriter(ByteWriter& out) : tar_(out) {}

  // Refuses what would not come back from a reader as the same sample: parts without a name, hidden
  // names, two parts that are equal without case (loaders lower it), names over 64 KiB.
  // throws Error name or duplicate.
  static void check(const Sample& sample);
  // What a part of this path and size takes in the archive, in bytes.
  static std::uint64_t member_size(std::string_view path, std::uint64_t size);

  // throws BadSample when a part can't be read and nothing of the sample was written yet; else
  // Error.
  PlacedSample add(const Sample& sample);
  // Writes the end mark.
  void finish() { tar_.finish(); }

  std::uint64_t offset() const { return tar_.offset(); }
  std::uint64_t pax_members() const { return pax_members_; }

 private:
  TarWriter tar_;
  std::uint64_t pax_members_ = 0;
};

inline constexpr char kPaxWarning[] =
    "long names or sizes in PAX headers, which some loaders (wids, old DALI) cannot read";

}  // namespace prep
