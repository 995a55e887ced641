// The framing of TFRecords (tensorflow/core/lib/io/record_writer.h), bytes in and out, no I/O:
//
//   u64 length | u32 masked CRC-32C of these 8 bytes | data | u32 masked CRC-32C of the data
//
// Little endian; one record after the other, and nothing before, between or behind them. So a file
// that was cut between two records looks complete.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/core/bytes.h"

namespace prep {

inline constexpr std::size_t kTfRecordHeader = 12;
inline constexpr std::size_t kTfRecordFooter = 4;
inline constexpr std::uint64_t kTfRecordOverhead = kTfRecordHeader + kTfRecordFooter;
// A protobuf message, which is what every record holds, is smaller than 2 GiB.
inline constexpr std::uint64_t kMaxTfRecord = (std::uint64_t{1} << 31) - 1;

// CRC-32C (Castagnoli), computed over pieces.
class Crc32c {
 public:
  void update(ByteView data);
  std::uint32_t value() const { return ~state_; }
  // As it stands in a TFRecord: rotated and moved, so that the CRC of data which holds CRCs is no
  // special case.
  std::uint32_t masked() const { return (value() >> 15 | value() << 17) + 0xA282EAD8u; }

 private:
  std::uint32_t state_ = ~0u;
};

std::array<std::uint8_t, kTfRecordHeader> tfrecord_header(std::uint64_t length);
std::array<std::uint8_t, kTfRecordFooter> tfrecord_footer(const Crc32c& data);

// The length that a record's first kTfRecordHeader bytes give; nullopt if there are fewer bytes, or
// if their checksum does not fit.
std::optional<std::uint64_t> parse_tfrecord_header(ByteView head);
bool tfrecord_footer_fits(ByteView footer, const Crc32c& data);

// Where in `bytes` the first header of a record of at most kMaxTfRecord bytes stands; nullopt if
// there is none. By chance, 12 random bytes look like one with a probability of 2^-65.
std::optional<std::size_t> find_tfrecord_header(ByteView bytes);

}  // namespace prep
