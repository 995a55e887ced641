#include "lib/signal/hms.h"

#include <algorithm>
#include <cmath>

#include "lib/core/error.h"
#include "lib/signal/log_scale.h"

namespace prep::signal {
namespace {

constexpr double kTopDecibels = 80;

StftSettings hms_settings() {
  StftSettings settings;
  settings.rate = kHmsRate;
  settings.nperseg = 128;
  settings.hop = static_cast<std::size_t>(kHmsHop);
  settings.nfft = 1024;
  settings.detrend = Detrend::none;
  settings.window_centred = true;
  settings.center = Center::zero;
  settings.scaling = Scaling::none;
  settings.mode = Mode::psd;
  return settings;
}

// a - b with NaNs (and infinities) replaced by the mean of the others. Empty if it is dead.
std::vector<double> live_difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> difference(a.size());
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference[i] = a[i] - b[i];
    if (!std::isfinite(difference[i])) continue;
    sum += difference[i];
    ++count;
  }
  const double mean = count > 0 ? sum / static_cast<double>(count) : 0;
  double low = mean, high = mean;
  for (double& value : difference) {
    if (!std::isfinite(value)) value = mean;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // The mean of a constant may be off in its last digits.
  const double rounding = 1e-12 * std::max(std::fabs(low), std::fabs(high));
  if (high - low <= rounding) difference.clear();
  return difference;
}

}  // namespace

std::vector<std::string_view> hms_electrodes() {
  std::vector<std::string_view> names;
  for (const HmsChain& chain : kHmsChains) {
    for (const std::string_view name : chain.electrodes) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

Range hms_middle(std::int64_t total) {
  if (total < kHmsSamples) {
    fail(Code::unsupported, "{} samples at {} Hz are too few: the preset hms takes {} s", total,
         kHmsRate, kHmsSamples / kHmsRate);
  }
  const std::int64_t first = (total - kHmsSamples) / 2;
  return {first, first + kHmsSamples};
}

HmsSpectrogram::HmsSpectrogram()
    : stft_(hms_settings()), mels_(make_mel_bank(kHmsMels, 0, 20, kHmsRate, 1024)) {}

// Adds the difference's picture to `sum`; false if it is dead.
bool HmsSpectrogram::add_difference(std::span<const double> a, std::span<const double> b,
                                    std::vector<double>& sum) const {
  const std::vector<double> signal = live_difference(a, b);
  if (signal.empty()) return false;
  // One frame more than is kept: the maximum may lie in it.
  const std::int64_t frames = stft_.frames(kHmsSamples);
  const auto columns = static_cast<std::size_t>(frames);
  const Range bins = mels_.bins();
  std::vector<double> power(static_cast<std::size_t>(bins.size()) * columns);
  stft_.run({signal, 0, kHmsSamples}, {0, frames}, bins, power.data(), columns, nullptr);
  std::vector<double> mel(kHmsMels * columns);
  apply_bank(mels_, static_cast<std::size_t>(bins.first), power.data(), columns, columns,
             mel.data(), columns);
  Decibels decibels;
  decibels.reference = largest<double>(mel);
  if (decibels.reference <= decibels.least) return false;
  decibels.floor = -kTopDecibels;
  to_decibels<double>(mel, decibels);
  for (std::size_t m = 0; m < kHmsMels; ++m) {
    for (std::size_t t = 0; t < kHmsFrames; ++t) {
      sum[m * kHmsFrames + t] += (mel[m * columns + t] + 40) / 40;
    }
  }
  return true;
}

HmsImage HmsSpectrogram::chain(const std::array<std::span<const double>, 5>& electrodes) const {
  for (const auto& electrode : electrodes) {
    if (electrode.size() != static_cast<std::size_t>(kHmsSamples)) {
      fail(Code::internal, "hms: {} samples", electrode.size());
    }
  }
  std::vector<double> sum(kHmsMels * kHmsFrames);
  HmsImage image;
  int live = 0;
  for (std::size_t i = 0; i < image.dead.size(); ++i) {
    image.dead[i] = !add_difference(electrodes[i], electrodes[i + 1], sum);
    live += image.dead[i] ? 0 : 1;
  }
  image.values.resize(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    image.values[i] = live > 0 ? static_cast<float>(sum[i] / live) : -1.0f;
  }
  return image;
}

}  // namespace prep::signal
