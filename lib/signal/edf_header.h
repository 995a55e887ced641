// The header of EDF, EDF+, BDF and BDF+ files (edfplus.info, biosemi.com/faq/file_format.htm).
//
//   0:8 version · 8:80 patient · 88:80 recording · 168:8 date · 176:8 time · 184:8 header bytes ·
//   192:44 reserved · 236:8 records · 244:8 duration of a record · 252:4 ns (number of signals),
//   then one array after the other, of ns fields each: label 16 · transducer 80 · unit 8 ·
//   physical minimum 8 · maximum 8 · digital minimum 8 · maximum 8 · prefilter 80 · samples a
//   record 8 · reserved 32. Text, padded with spaces. Then the records: the samples of all signals
//   in turn, int16 (EDF) or int24 (BDF), little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/signal/recording.h"
#include "lib/signal/sample_decoder.h"

namespace prep::signal {

inline constexpr std::size_t kEdfFixedHeader = 256;  // and as much again a signal

struct EdfSignal {
  std::string label;  // UTF-8
  std::string unit;   // raw
  ChannelKind kind = ChannelKind::signal;
  std::string fault;          // see Channel
  Calibration calibration;    // to physical values in `unit`
  std::uint64_t samples = 0;  // a record
  std::uint64_t offset = 0;   // of its samples in a record, in bytes
};

struct EdfHeader {
  bool bdf = false;
  enum class Kind { plain, continuous, discontinuous } kind = Kind::plain;
  std::uint64_t bytes = 0;  // of the header
  std::uint64_t record_bytes = 0;
  double duration = 0;                  // of a record, seconds; > 0
  std::optional<std::int64_t> records;  // as the header says; -1: not known
  std::optional<std::string> start;     // see RecordingInfo
  std::vector<EdfSignal> signals;
  std::vector<std::string> warnings;

  std::size_t sample_bytes() const { return bdf ? 3 : 2; }
  std::string_view format_name() const;
};

// Whether these first bytes of a file (256 are enough) are such a header, or were one before a
// program took them for text.
bool looks_like_edf(ByteView head);
bool looks_like_bdf(ByteView head);

// The length of the header that starts with these kEdfFixedHeader bytes. throws Error corrupt.
std::uint64_t edf_header_bytes(ByteView head);

// throws Error corrupt: a program took the file for text and replaced bytes by U+FFFD.
[[noreturn]] void fail_mangled_edf();

// `header` holds edf_header_bytes(). throws Error corrupt, unsupported, limit.
EdfHeader parse_edf_header(ByteView header);

}  // namespace prep::signal
