// Writes members to a tar and knows where each of them lies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/compression.h"
#include "lib/core/sample.h"

namespace prep {

class TarWriter {
 public:
  // `out` must outlive the writer.
  explicit TarWriter(ByteWriter& out) : out_(out) {}

  // Where a member lies, in the archive before compression. Its end is the next one's header.
  struct Place {
    std::uint64_t header_offset, data_offset, size;
    bool pax;  // the name or the size needed a PAX header, which some readers don't know
  };
  // Adds a regular file, with fixed metadata; `content` is read piece by piece. throws Error: name
  // or limit before anything was written; what the content throws, and io, afterwards.
  Place add(std::string_view name, const Content& content);

  // Writes the end mark, two zero blocks. Without it, readers take the archive for cut short.
  void finish();

  std::uint64_t offset() const { return offset_; }

 private:
  void write(ByteView data);

  ByteWriter& out_;
  std::uint64_t offset_ = 0;
  std::string header_;
};

}  // namespace prep
