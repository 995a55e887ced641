// The spectrograms that the public recipes for Kaggle's "HMS - Harmful Brain Activity
// Classification" make of the raw EEG (librosa's melspectrogram and power_to_db), but for dead
// channels.
//
// A chain of five electrodes (left temporal: Fp1 F7 T3 T5 O1) gives four differences of neighbours.
// Of each, in microvolts, 10,000 samples at 200 Hz: NaNs become the mean of the rest; mel power
// spectrogram (frames of 1024 samples with a Hann window of 128 in the middle, hop 39, zeros at the
// edges, 128 Slaney mels from 0 to 20 Hz); decibels below the maximum, at most 80; (dB + 40) / 40,
// from -1 to 1; the first 256 frames. The four are averaged.
//
// A difference that is flat, or nothing but NaN, has no maximum to be below. The recipes give it
// the value +1, the brightest there is. Here it is marked, and left out of the average; where all
// four are dead the image is -1, the darkest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/signal/filter_bank.h"
#include "lib/signal/stft.h"

namespace prep::signal {

inline constexpr double kHmsRate = 200;  // Hz
inline constexpr std::int64_t kHmsSamples = 10'000;
inline constexpr std::size_t kHmsMels = 128, kHmsFrames = 256;
inline constexpr std::int64_t kHmsHop = kHmsSamples / static_cast<std::int64_t>(kHmsFrames);

// Of the four chains LL, LP, RP and RL, in this order: five electrodes each, front to back.
struct HmsChain {
  std::string_view name;
  std::array<std::string_view, 5> electrodes;
};
inline constexpr std::array<HmsChain, 4> kHmsChains{{{"LL", {"Fp1", "F7", "T3", "T5", "O1"}},
                                                     {"LP", {"Fp1", "F3", "C3", "P3", "O1"}},
                                                     {"RP", {"Fp2", "F4", "C4", "P4", "O2"}},
                                                     {"RL", {"Fp2", "F8", "T4", "T6", "O2"}}}};
// All that are in a chain, each once.
std::vector<std::string_view> hms_electrodes();

struct HmsImage {
  std::vector<float> values;   // [kHmsMels][kHmsFrames], lowest mel first
  std::array<bool, 4> dead{};  // by difference
  bool all_dead() const { return dead[0] && dead[1] && dead[2] && dead[3]; }
};

// The middle kHmsSamples of a recording of `total`, at kHmsRate.
// throws Error(unsupported) for a shorter one.
Range hms_middle(std::int64_t total);

// Made once; any number of threads may use it.
class HmsSpectrogram {
 public:
  HmsSpectrogram();

  // Five electrodes in the order of the chain, kHmsSamples each, in microvolts.
  HmsImage chain(const std::array<std::span<const double>, 5>& electrodes) const;
  const FilterBank& mels() const { return mels_; }

 private:
  bool add_difference(std::span<const double> a, std::span<const double> b,
                      std::vector<double>& sum) const;

  Stft<double> stft_;
  FilterBank mels_;
};

}  // namespace prep::signal
