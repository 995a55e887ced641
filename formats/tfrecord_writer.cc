#include "formats/tfrecord_writer.h"

#include "lib/core/error.h"

namespace prep {

TfRecordWriter::Place TfRecordWriter::add(std::span<const ByteView> pieces,
                                          std::shared_ptr<const void> owner) {
  std::uint64_t length = 0;
  Crc32c crc;
  for (const ByteView piece : pieces) length += piece.size();
  if (length > kMaxTfRecord) {
    fail(Code::limit, "a record of {} bytes; protobuf messages must be smaller than 2 GiB", length);
  }
  finish();
  out_.write(tfrecord_header(length));
  for (const ByteView piece : pieces) {
    crc.update(piece);
    owner ? out_.write_shared(Bytes(piece, owner)) : out_.write(piece);
  }
  footer_ = tfrecord_footer(crc);
  const Place place{offset_, length + kTfRecordOverhead};
  offset_ += place.size;
  return place;
}

void TfRecordWriter::finish() {
  if (footer_) out_.write(*footer_);
  footer_.reset();
}

}  // namespace prep
