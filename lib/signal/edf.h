// EDF, EDF+C, EDF+D, BDF, BDF+: the reader.
#pragma once

#include <memory>

#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

// Real files are often wrong about themselves. What is believed: the number of signals and their
// samples a record; from these follow the header's length and, with the file's size, the number of
// records. A last record that is not whole is left out. Segments come from the times that the
// records carry, not from the label "EDF+D". Each channel keeps its own rate.
//
// Channels are all signals of the file in its order, annotations too (not readable). Those that
// have an empty range or the like have a fault. throws Error empty, truncated, corrupt,
// unsupported, limit.
std::unique_ptr<Recording> open_edf(std::shared_ptr<const Content> content,
                                    const OpenOptions& options);

}  // namespace prep::signal
