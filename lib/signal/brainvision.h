// BrainVision Core Data Format: a header (.vhdr), the samples (.eeg) and markers (.vmrk).
#pragma once

#include <memory>
#include <string>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

bool looks_like_brainvision_header(ByteView head);
bool looks_like_brainvision_markers(ByteView head);

// The names of the other two files as the header has them, without folders; "" where it names none.
struct BrainVisionFiles {
  std::string data, markers;
};
// `header_name` is the header's own file name: "$b" in a name stands for it, without its extension.
// throws Error limit for a header of absurd size.
BrainVisionFiles brainvision_files(const Content& header, std::string_view header_name);

// `markers` may be null: then there are no annotations, and a warning if the header names a file.
// Markers become annotations "Type/Description" ("Stimulus/S  1"); a "New Segment" marker starts a
// segment, at the time that it carries. Binary files of int16, int32 and float32 are read, both
// orientations and byte orders. A unit left blank is µV, as the format has it.
// throws Error truncated, corrupt, unsupported, limit.
std::unique_ptr<Recording> open_brainvision(const Content& header,
                                            std::shared_ptr<const Content> data,
                                            const Content* markers, const OpenOptions& options);

}  // namespace prep::signal
