// All that decides what becomes of a recording, from its channels to the elements of the array.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "lib/signal/array_encoding.h"
#include "lib/signal/channels.h"
#include "lib/signal/filter_bank.h"
#include "lib/signal/montage.h"
#include "lib/signal/npy.h"
#include "lib/signal/stft.h"

namespace prep::signal {

class StatisticsFile;

// What is done to the samples before they are transformed.
struct SignalSettings {
  ChannelSelection channels;
  Montage montage;
  MissingPolicy missing = MissingPolicy::error;
  // Hz. Filters come first, at the channel's own rate: high-pass, low-pass, notches.
  std::optional<double> highpass, lowpass;
  std::vector<double> notches;
  std::optional<double> rate;  // resample to it

  bool has_filters() const { return highpass || lowpass || !notches.empty(); }
};

enum class LogScale { none, natural, decibels };
enum class Normalize { none, channel, recording, file };
enum class Precision { single, twofold };

// Powers below this are taken for it in logarithms, and magnitudes below its root for that.
inline constexpr double kLeastPower = 1e-10;

struct SpectrogramSettings {
  SignalSettings signal;

  // The recipe of Kaggle's HMS competition (hms.h) in place of everything up to `normalize`.
  bool hms = false;

  StftSettings stft;  // the rate is that of the signal, whatever stands here
  Precision precision = Precision::single;

  std::optional<double> fmin, fmax;  // Hz: the bins that are kept, or the limits of the mels
  std::vector<Band> bands;           // in place of bins
  std::size_t mels = 0;              // in place of bins

  LogScale log = LogScale::none;
  std::optional<double> top;  // dB below the array's maximum, where values end

  Normalize normalize = Normalize::none;
  std::shared_ptr<const StatisticsFile> statistics;  // of Normalize::file

  NpyType type = NpyType::float32;        // float32, float16, uint8; complex64 with Mode::complex
  std::optional<Uint8Scale> uint8_scale;  // without one: each array's own minimum and maximum
  Layout layout = Layout::cft;

  // throws Error(usage) where settings don't go together.
  void validate() const;
};

// What decides the meaning of the values, for people and for telling whether statistics fit.
// Nothing about how they are stored.
nlohmann::ordered_json settings_json(const SpectrogramSettings& settings);

}  // namespace prep::signal
