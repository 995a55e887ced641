// A picture of a spectrogram, for people.
#pragma once

#include <string>

#include "lib/core/bytes.h"
#include "lib/signal/spectrogram.h"
#include "lib/signal/spectrogram_settings.h"

namespace prep {

// A PNG: channels below each other, time to the right, frequency upwards, a scale of colours. Needs
// the overview.
Bytes draw_preview(const signal::Spectrogram& spectrogram,
                   const signal::SpectrogramSettings& settings, const std::string& title);

}  // namespace prep
