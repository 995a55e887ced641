// The .spec.json that stands beside an array and says what its axes and values are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/recording.h"
#include "lib/signal/spectrogram.h"
#include "lib/signal/spectrogram_settings.h"

namespace prep::signal {

inline constexpr std::string_view kSpectrogramFormat = "prep-spectrogram";

// Where an array comes from.
struct SpectrogramSource {
  std::string name;  // of the recording's file or part, as people see it
  const RecordingInfo* info = nullptr;
  std::optional<std::size_t> number;  // of the epoch or segment, from 0
  double start = 0, duration = 0;     // seconds: the stretch that the array was made of
  const Annotation* event = nullptr;
};

// One line of JSON, the same on every machine; docs/prep-spectrogram.md has what is in it.
// `warnings` are those of the recording, of its channels and of the array.
std::string spectrogram_json(const Spectrogram& spectrogram, const SpectrogramSettings& settings,
                             const SpectrogramSource& source,
                             const std::vector<std::string>& warnings);

}  // namespace prep::signal
