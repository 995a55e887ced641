// What spectrograms that are made once would gain: tried on some recordings, projected to all.
#pragma once

#include <cstdint>
#include <string>

#include "lib/core/tool.h"
#include "lib/measure/statistics.h"
#include "tools/inspect_survey.h"

namespace prep {

struct RecordingTrial {
  std::uint64_t tried = 0;  // samples
  std::uint64_t bad = 0;
  bool is_limited = false;  // fewer than were chosen: kMostTriedBytes

  // Of those tried.
  std::uint64_t least_channels = 0, most_channels = 0;
  double least_rate = 0, most_rate = 0;  // Hz
  double shortest = 0, longest = 0;      // seconds

  // Of the whole set.
  measure::Interval hours;         // of signal
  measure::Interval array_bytes;   // of all spectrograms
  measure::Interval array_ratio;   // to the recordings' bytes
  measure::Interval make_seconds;  // of CPU: reading and transforming, each time or once
  measure::Interval load_seconds;  // of CPU: reading the arrays instead
};

inline constexpr std::uint64_t kMostTriedBytes = 2'000'000'000;

// With prep-spectrogram's defaults. Bad samples are given to the reporter, as try_pictures() does.
RecordingTrial try_recordings(const RunContext& run, const Survey& survey,
                              const SurveyOptions& options);

}  // namespace prep
