#include "lib/signal/frequency_axis.h"

namespace prep::signal {
namespace {

void use_bank(FrequencyAxis& axis, FilterBank bank) {
  axis.bins = bank.bins();
  // Mels can lie between all bins; the transform still has to look for NaNs.
  if (axis.bins.size() == 0) axis.bins = {0, 1};
  axis.bank = std::move(bank);
}

}  // namespace

// Mels are evenly spaced on a scale that is not Hz, but next neighbours share their corners: the
// peak of one is where the next one starts.
std::vector<double> mel_peaks(const FilterBank& bank) {
  std::vector<double> peaks;
  for (std::size_t i = 0; i < bank.rows.size(); ++i) {
    const bool is_last = i + 1 == bank.rows.size();
    if (!is_last) {
      peaks.push_back(bank.rows[i + 1].low);
    } else {
      peaks.push_back(i > 0 ? bank.rows[i - 1].high : (bank.rows[i].low + bank.rows[i].high) / 2);
    }
  }
  return peaks;
}

FrequencyAxis make_frequency_axis(const SpectrogramSettings& settings, double rate) {
  const std::size_t nfft = settings.stft.nfft;
  FrequencyAxis axis;
  if (settings.mels > 0) {
    use_bank(axis, make_mel_bank(settings.mels, settings.fmin.value_or(0),
                                 settings.fmax.value_or(rate / 2), rate, nfft));
    axis.centres = mel_peaks(*axis.bank);
  } else if (!settings.bands.empty()) {
    use_bank(axis, make_band_bank(settings.bands, rate, nfft));
    for (const auto& row : axis.bank->rows) axis.centres.push_back((row.low + row.high) / 2);
  } else {
    axis.bins = bins_between(rate, nfft, settings.fmin.value_or(0), settings.fmax.value_or(rate));
    for (std::int64_t bin = axis.bins.first; bin < axis.bins.last; ++bin) {
      axis.centres.push_back(static_cast<double>(bin) * rate / static_cast<double>(nfft));
    }
  }
  return axis;
}

}  // namespace prep::signal
