#include "lib/signal/filter_bank.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

constexpr double kOnLimit = 1e-6;             // of a bin
constexpr std::size_t kColumnsAtOnce = 1024;  // their sums stay in the first-level cache

struct NamedBand {
  std::string_view name;
  double low, high;
};
constexpr NamedBand kBands[] = {
    {"delta", 0.5, 4}, {"theta", 4, 8}, {"alpha", 8, 13}, {"beta", 13, 30}, {"gamma", 30, 100}};

// The first bin at or above `frequency`; may be past the last bin.
std::int64_t first_bin_from(double frequency, double rate, std::size_t nfft) {
  const double bin = frequency * static_cast<double>(nfft) / rate - kOnLimit;
  return static_cast<std::int64_t>(std::ceil(std::clamp(bin, 0.0, static_cast<double>(nfft))));
}

std::int64_t bin_count(std::size_t nfft) { return static_cast<std::int64_t>(nfft / 2 + 1); }

void check_limits(double low, double high, std::string_view what) {
  if (!(std::isfinite(low) && std::isfinite(high) && low >= 0 && low < high)) {
    fail(Code::usage, "{}: {} to {} Hz is no range of frequencies", what, low, high);
  }
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

Band parse_band(std::string_view text) {
  for (const NamedBand& band : kBands) {
    if (band.name == text) return {std::string(text), band.low, band.high};
  }
  Band band{std::string(text), 0, 0};
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos || !parse_number(text.substr(0, dash), band.low) ||
      !parse_number(text.substr(dash + 1), band.high)) {
    fail(Code::usage,
         "no band is called '{}'; there are delta, theta, alpha, beta and gamma, and limits in Hz "
         "like 8-13",
         text);
  }
  check_limits(band.low, band.high, text);
  return band;
}

// Slaney's scale: 3 mels for 200 Hz up to 1 kHz, then 27 for each factor of 6.4.
constexpr long double kHzPerMel = 200.0L / 3;
constexpr long double kBreak = 1000;

long double log_step() { return std::log(6.4L) / 27; }

long double mel_of(long double hz) {
  if (hz < kBreak) return hz / kHzPerMel;
  return kBreak / kHzPerMel + std::log(hz / kBreak) / log_step();
}

long double hz_of(long double mel) {
  if (mel < kBreak / kHzPerMel) return mel * kHzPerMel;
  return kBreak * std::exp(log_step() * (mel - kBreak / kHzPerMel));
}

std::vector<long double> mel_points(std::size_t mels, double low, double high) {
  const long double first = mel_of(low), last = mel_of(high);
  std::vector<long double> points(mels + 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i] = hz_of(first + (last - first) * i / (mels + 1));
  }
  return points;
}

FilterBank::Row mel_row(const long double* corner, double rate, std::size_t nfft) {
  FilterBank::Row row;
  row.low = static_cast<double>(corner[0]);
  row.high = static_cast<double>(corner[2]);
  const long double area = 2 / (corner[2] - corner[0]);
  const std::int64_t first = first_bin_from(row.low, rate, nfft);
  for (std::int64_t bin = first; bin < bin_count(nfft); ++bin) {
    const long double f = static_cast<long double>(bin) * rate / nfft;
    const long double rising = (f - corner[0]) / (corner[1] - corner[0]);
    const long double falling = (corner[2] - f) / (corner[2] - corner[1]);
    const long double weight = std::min(rising, falling) * area;
    if (weight > 0) {
      if (row.weights.empty()) row.first_bin = static_cast<std::size_t>(bin);
      row.weights.push_back(static_cast<double>(weight));
    } else if (!row.weights.empty()) {
      break;
    }
  }
  return row;
}

}  // namespace

Range bins_between(double rate, std::size_t nfft, double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low >= 0 && low <= high)) {
    fail(Code::usage, "{} to {} Hz is no range of frequencies", low, high);
  }
  const double last = std::floor(std::clamp(high * static_cast<double>(nfft) / rate + kOnLimit, 0.0,
                                            static_cast<double>(nfft)));
  const Range bins{first_bin_from(low, rate, nfft),
                   std::min(bin_count(nfft), static_cast<std::int64_t>(last) + 1)};
  if (bins.size() > 0) return bins;
  fail(Code::usage, "no bin lies between {} and {} Hz: they are {} Hz apart, up to {} Hz", low,
       high, rate / static_cast<double>(nfft), rate / 2);
}

std::vector<Band> parse_bands(std::string_view list) {
  std::vector<Band> bands;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    bands.push_back(parse_band(list.substr(at, comma - at)));
    at = comma + 1;
  }
  return bands;
}

Range FilterBank::bins() const {
  Range range;
  for (const Row& row : rows) {
    if (row.weights.empty()) continue;
    const auto first = static_cast<std::int64_t>(row.first_bin);
    const auto last = first + static_cast<std::int64_t>(row.weights.size());
    range = range.size() == 0 ? Range{first, last}
                              : Range{std::min(range.first, first), std::max(range.last, last)};
  }
  return range;
}

FilterBank make_band_bank(const std::vector<Band>& bands, double rate, std::size_t nfft) {
  FilterBank bank;
  for (const Band& band : bands) {
    check_limits(band.low, band.high, band.name);
    const std::int64_t first = first_bin_from(band.low, rate, nfft);
    const std::int64_t last = std::min(first_bin_from(band.high, rate, nfft), bin_count(nfft));
    if (last <= first) {
      fail(Code::usage,
           "band {}: no bin lies between {} and {} Hz; they are {} Hz apart, up to {} Hz",
           band.name, band.low, band.high, rate / static_cast<double>(nfft), rate / 2);
    }
    const auto count = static_cast<std::size_t>(last - first);
    bank.rows.push_back({band.name, band.low, band.high, static_cast<std::size_t>(first),
                         std::vector<double>(count, 1.0 / static_cast<double>(count))});
  }
  return bank;
}

FilterBank make_mel_bank(std::size_t mels, double low, double high, double rate, std::size_t nfft) {
  check_limits(low, high, "mel bank");
  if (mels < 1 || mels > kMaxTransform) fail(Code::usage, "a mel bank cannot have {} rows", mels);
  if (high > rate / 2) {
    fail(Code::usage, "mel bank: {} Hz is above half of the rate, {} Hz", high, rate / 2);
  }
  const std::vector<long double> points = mel_points(mels, low, high);
  FilterBank bank;
  for (std::size_t i = 0; i < mels; ++i) {
    bank.rows.push_back(mel_row(&points[i], rate, nfft));
    bank.rows.back().name = fmt::format("mel{}", i);
  }
  return bank;
}

template <typename T>
void apply_bank(const FilterBank& bank, std::size_t first_bin, const T* in, std::size_t in_stride,
                std::size_t columns, T* out, std::size_t out_stride) {
  double sums[kColumnsAtOnce];
  for (std::size_t column = 0; column < columns; column += kColumnsAtOnce) {
    const std::size_t width = std::min(kColumnsAtOnce, columns - column);
    for (std::size_t r = 0; r < bank.rows.size(); ++r) {
      const FilterBank::Row& row = bank.rows[r];
      std::fill_n(sums, width, 0.0);
      for (std::size_t k = 0; k < row.weights.size(); ++k) {
        const T* const from = in + (row.first_bin - first_bin + k) * in_stride + column;
        for (std::size_t i = 0; i < width; ++i) {
          sums[i] += row.weights[k] * static_cast<double>(from[i]);
        }
      }
      T* const to = out + r * out_stride + column;
      for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<T>(sums[i]);
    }
  }
}

template void apply_bank(const FilterBank&, std::size_t, const float*, std::size_t, std::size_t,
                         float*, std::size_t);
template void apply_bank(const FilterBank&, std::size_t, const double*, std::size_t, std::size_t,
                         double*, std::size_t);

}  // namespace prep::signal
