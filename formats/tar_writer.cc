#include "formats/tar_writer.h"

#include <algorithm>
#include <array>

#include "formats/tar_header.h"
#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::array<std::uint8_t, 2 * kTarBlock> kZeros{};

}  // namespace

TarWriter::Place TarWriter::add(std::string_view name, const Content& content) {
  Place place{};
  place.header_offset = offset_;
  place.size = content.size();
  header_.clear();
  place.pax = append_tar_header(name, place.size, header_);
  write(as_bytes(header_));
  place.data_offset = offset_;
  for (std::uint64_t done = 0; done < place.size;) {
    const Bytes piece = content.read(done, std::min(kPiece, place.size - done));
    // The header has promised so many bytes: less of them would put every later member out of
    // place.
    if (piece.empty() || piece.size() > place.size - done) {
      fail(Code::truncated, "{}: ends after {} of {} bytes", printable(content.origin()), done,
           place.size);
    }
    out_.write_shared(piece);
    offset_ += piece.size();
    done += piece.size();
  }
  write(ByteView(kZeros).first(static_cast<std::size_t>(tar_padding(place.size))));
  return place;
}

void TarWriter::finish() { write(kZeros); }

void TarWriter::write(ByteView data) {
  out_.write(data);
  offset_ += data.size();
}

}  // namespace prep
