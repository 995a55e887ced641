// The frequencies of an array: bins of the transform, bands, or mels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lib/signal/filter_bank.h"
#include "lib/signal/spectrogram_settings.h"

namespace prep::signal {

struct FrequencyAxis {
  Range bins;                      // of the transform, that are needed
  std::optional<FilterBank> bank;  // what makes rows of them; none: each bin is a row
  std::vector<double> centres;     // Hz, of each row: the middle of a band, the peak of a mel

  std::size_t rows() const { return centres.size(); }
};

// The peak of each mel, in Hz.
std::vector<double> mel_peaks(const FilterBank& mels);

// For a signal of that rate. throws Error(usage) where a band, or the range from --fmin to --fmax,
// has no bin.
FrequencyAxis make_frequency_axis(const SpectrogramSettings& settings, double rate);

}  // namespace prep::signal
