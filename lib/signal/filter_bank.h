// From the bins of a transform to fewer rows: a cut, bands, mels. Every row is a weighted sum of
// neighbouring bins.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/stft.h"

namespace prep::signal {

// A frequency counts as on a limit where it is within a millionth of a bin of it.

// The bins with low <= f <= high (Hz). throws Error(usage) where there are none.
Range bins_between(double rate, std::size_t nfft, double low, double high);

struct Band {
  std::string name;
  double low = 0, high = 0;  // Hz: low <= f < high
};

// A list like "delta,theta,8-13": names as below, or limits in Hz. throws Error(usage).
//   delta 0.5-4 · theta 4-8 · alpha 8-13 · beta 13-30 · gamma 30-100
std::vector<Band> parse_bands(std::string_view list);

struct FilterBank {
  struct Row {
    std::string name;
    double low = 0, high = 0;  // Hz
    std::size_t first_bin = 0;
    std::vector<double> weights;
  };
  std::vector<Row> rows;

  Range bins() const;  // all that any row looks at
};

// The mean over a band's bins. A band that reaches over half the rate ends there.
// throws Error(usage) for a band without a bin.
FilterBank make_band_bank(const std::vector<Band>& bands, double rate, std::size_t nfft);

// librosa.filters.mel (htk=False, norm="slaney"): triangles between mels + 2 points that are evenly
// spaced on Slaney's scale (linear up to 1 kHz, then logarithmic), each of area 1 over Hz. A
// triangle between two bins may hold none, and is zero. throws Error(usage).
FilterBank make_mel_bank(std::size_t mels, double low, double high, double rate, std::size_t nfft);

// Row r of `out` from the rows of `in`, which are the bins from `first_bin` on. Both have `columns`
// values in a row and their rows `stride` apart. Sums are made in double. T is float or double.
template <typename T>
void apply_bank(const FilterBank& bank, std::size_t first_bin, const T* in, std::size_t in_stride,
                std::size_t columns, T* out, std::size_t out_stride);

}  // namespace prep::signal
