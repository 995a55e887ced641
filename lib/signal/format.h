// Formats of recordings, told by their first bytes, and which parts of a sample make up one.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

enum class Format {
  none,  // no recording: a label, a picture, …
  edf,
  bdf,
  brainvision,          // the header
  brainvision_markers,  // belongs to a header
  npy,
  csv,
  // From here on recognised only to be refused by name.
  gdf,
  cnt,
  parquet,
};

// By what the bytes are, never by a name. `head` is what a file begins with: kSniffBytes are
// enough; `whole`: all of it.
inline constexpr std::size_t kSniffBytes = 64 << 10;
Format sniff(ByteView head, bool whole);
// For messages: "EDF", "BrainVision", ….
std::string_view name(Format format);

// The parts of a sample that make up one recording, by their places in it.
struct RecordingParts {
  Format format = Format::none;
  std::size_t main = 0;
  std::optional<std::size_t> data, markers;  // of BrainVision
  std::vector<std::string> warnings;         // which the recording will have
};

// All recordings of a sample, in the order of their parts; empty if there are none. Parts of a
// BrainVision recording are found among the sample's by the names that its header has for them, and
// never elsewhere; if only the ending fits, with a warning. throws Error io, not_found when a
// header names data that the sample doesn't have.
std::vector<RecordingParts> find_recordings(const Sample& sample);

// throws Error as the formats' own functions do; unsupported for formats that are not read.
std::unique_ptr<Recording> open_recording(const Sample& sample, const RecordingParts& parts,
                                          const OpenOptions& options);

}  // namespace prep::signal
