// Tar's 512-byte headers and the extension payloads that go before them: bytes in, structs out, and
// back. Nothing here reads or writes a file.
//
// Read: v7, ustar, PAX (POSIX.1-2001, pax "ustar Interchange Format" and "pax Extended Header"),
// and GNU's long names, base-256 numbers and sparse headers. Written: ustar, PAX where ustar can't.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"

namespace prep {

inline constexpr std::size_t kTarBlock = 512;
// Guards against hostile input.
inline constexpr std::uint64_t kMaxTarSize = std::uint64_t{1} << 62;
inline constexpr std::size_t kMaxTarName = 64 << 10;
inline constexpr std::size_t kMaxTarExtension = 1 << 20;

// The zeros that follow `size` bytes of data, up to a whole block.
constexpr std::uint64_t tar_padding(std::uint64_t size) {
  return (kTarBlock - size % kTarBlock) % kTarBlock;
}

// One header as it stands, without what extensions before it say.
struct TarHeader {
  char type = '0';   // the type flag; '\0' is given as '0'
  std::string name;  // the prefix and the name, joined
  std::string link;  // what a link points to
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;        // 0 where the field makes no sense
  bool more_sparse_blocks = false;  // type 'S': a block of the sparse map follows
};

// Whether every byte is 0.
bool is_zero(ByteView bytes);
// Whether a block's checksum is right, which tells a header from anything else.
bool has_tar_checksum(ByteView block);
// `block` holds kTarBlock bytes. throws Error corrupt, or limit for an absurd size.
TarHeader parse_tar_header(ByteView block);
// GNU: whether another block of the sparse map follows this one.
bool more_sparse_blocks(ByteView sparse_block);
// Links, devices, directories and FIFOs have no data, whatever their size field says.
bool tar_type_has_data(char type);

// What extension headers say about the member that follows them.
struct TarExtension {
  std::optional<std::string> path, link;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> mtime_ns;
  bool sparse = false;  // the data is GNU's condensed form of a file with holes
};

// Adds the records of a PAX payload ("LENGTH key=value\n"); an empty value undoes a key. Keys that
// don't matter here are checked for their form only. throws Error corrupt or limit.
void parse_pax(ByteView payload, TarExtension& extension);
// The name in the payload of GNU's types 'L' and 'K'. throws Error limit.
std::string parse_gnu_name(ByteView payload);

// Appends the header of a regular file with fixed metadata (time 0, owner 0, mode 0644): ustar, or
// where the name or the size doesn't fit, with a PAX header before it. Returns whether that was so.
// throws Error name for a name that is empty, over kMaxTarName or holds a NUL; limit for the size.
bool append_tar_header(std::string_view name, std::uint64_t size, std::string& out);
// How many bytes that would append.
std::uint64_t tar_header_size(std::string_view name, std::uint64_t size);
// throws Error as append_tar_header() does for the name.
void check_tar_name(std::string_view name);

}  // namespace prep
