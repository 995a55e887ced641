// From a recording's signal to the array of its spectrogram.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/sample.h"
#include "lib/core/shared_work.h"
#include "lib/signal/array_encoding.h"
#include "lib/signal/epochs.h"
#include "lib/signal/frequency_axis.h"
#include "lib/signal/hms.h"
#include "lib/signal/overview.h"
#include "lib/signal/prepared_signal.h"
#include "lib/signal/spectrogram_settings.h"
#include "lib/signal/statistics.h"

namespace prep::signal {

// What is made of an array besides itself.
struct SpectrogramExtras {
  bool statistics = false;  // and then no array
  bool overview = false;
};

struct Spectrogram {
  std::shared_ptr<const Content> array;  // a .npy file
  ArrayShape shape;
  std::vector<std::string> channels;  // names
  std::vector<std::string> units;     // of each channel's signal; "" if not known
  std::vector<bool> missing;          // channels that were asked for and are not there
  FrequencyAxis axis;
  double rate = 0;                       // Hz, of the signal
  double first_time = 0, time_step = 0;  // seconds: the middle of the first frame; between frames
  std::vector<std::vector<Range>> nan_frames;   // by channel: frames that hold a NaN, in order
  std::vector<std::array<bool, 4>> dead_pairs;  // of the preset hms, by chain
  std::vector<Moments> normalized;  // by what: of each channel, or of all; not with a file's
  std::optional<Uint8Scale> uint8_scale;
  EncodingLosses losses;
  std::optional<Statistics> statistics;
  std::optional<Overview> overview;
  std::vector<std::string> warnings;
};

template <typename T>
struct Transform;

// Any number of threads may use one.
class SpectrogramMaker {
 public:
  // The settings are valid.
  SpectrogramMaker(SpectrogramSettings settings, SpectrogramExtras extras);
  ~SpectrogramMaker();

  const SpectrogramSettings& settings() const { return settings_; }

  // Of a stretch of the signal that may reach outside of it, where `outside` says what is there.
  // The result's content is from `origin`. throws Error as the parts do; unsupported where it is
  // too short for a frame.
  Spectrogram make(PreparedSignal& signal, Range samples, Outside outside, const Crew& crew,
                   const std::string& origin, std::int64_t mtime_ns);

 private:
  template <typename T>
  std::shared_ptr<const Transform<T>> transform_for(double rate);
  template <typename T>
  using Transforms = std::map<double, std::shared_ptr<const Transform<T>>>;

  const SpectrogramSettings settings_;
  const SpectrogramExtras extras_;
  std::mutex mutex_;
  Transforms<float> transforms_float_;
  Transforms<double> transforms_double_;
  std::optional<HmsSpectrogram> hms_;
};

}  // namespace prep::signal
