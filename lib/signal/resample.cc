#include "lib/signal/resample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/core/error.h"
#include "lib/signal/unit_circle.h"

namespace prep::signal {
namespace {

constexpr long double kRatioErrors[] = {1e-9L, 1e-8L, 1e-7L, 1e-6L};
constexpr std::int64_t kZeroCrossings = 10;
constexpr long double kKaiserBeta = 5;

// The modified Bessel function of order 0, by its power series; x is at most 5.
long double bessel_i0(long double x) {
  long double sum = 1, term = 1;
  for (int k = 1; k < 60; ++k) {
    term *= x / (2 * k) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// h[n + half] for n = -half to half at the upsampled rate; they sum to `up`.
std::vector<double> lowpass(std::int64_t up, std::int64_t down) {
  const std::int64_t slowest = std::max(up, down), half = kZeroCrossings * slowest;
  std::vector<long double> right(static_cast<std::size_t>(half) + 1);  // n = 0 to half
  long double sum = 0;
  for (std::int64_t n = half; n >= 0; --n) {
    const long double share = static_cast<long double>(n) / half;
    const long double kaiser = bessel_i0(kKaiserBeta * std::sqrt((1 - share) * (1 + share)));
    const auto k = static_cast<std::uint64_t>(n), period = static_cast<std::uint64_t>(2 * slowest);
    const long double sinc = n == 0 ? 1 : unit_point(k % period, period).sine / (kPi * n / slowest);
    right[static_cast<std::size_t>(n)] = kaiser * sinc;
    sum += (n == 0 ? 1 : 2) * kaiser * sinc;
  }
  std::vector<double> taps(2 * static_cast<std::size_t>(half) + 1);
  for (std::size_t n = 0; n < right.size(); ++n) {
    const auto value = static_cast<double>(right[n] * up / sum);
    taps[right.size() - 1 - n] = taps[right.size() - 1 + n] = value;
  }
  return taps;
}

// The fraction of least terms in [low, high], where 0 < low < high: the terms of the limits'
// continued fractions as long as they agree.
Ratio simplest_within(long double low, long double high) {
  const long double whole = std::ceil(low);
  if (whole <= high) return {static_cast<std::int64_t>(whole), 1};
  const long double common = whole - 1;
  const Ratio rest = simplest_within(1 / (high - common), 1 / (low - common));
  return {static_cast<std::int64_t>(common) * rest.up + rest.down, rest.up};
}

// Four sums, so that the compiler can use vectors.
template <typename T>
double dot_product(const double* taps, const T* samples, std::size_t count) {
  double sum[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t s = 0; s < 4; ++s) {
      sum[s] += taps[i + s] * static_cast<double>(samples[i + s]);
    }
  }
  for (; i < count; ++i) sum[i % 4] += taps[i] * static_cast<double>(samples[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The samples from `first` on, with what is thought to be beyond the ends.
template <typename T>
void copy_edge(const ChannelPart<T>& part, ResampleEdge edge, std::int64_t first,
               std::vector<T>& samples) {
  for (T& sample : samples) {
    const std::int64_t index = std::clamp<std::int64_t>(first, 0, part.total - 1);
    const bool there = index == first || edge == ResampleEdge::repeat;
    sample = there ? part.samples[static_cast<std::size_t>(index - part.first)] : T{0};
    ++first;
  }
}

}  // namespace

// Output m takes, of the inputs from floor(m down / up) + first on, `count` ones with the taps of
// phase (m down) mod up.
struct Resampler::Taps {
  Taps(Ratio reduced, ResampleEdge at_edge);

  std::int64_t up, down, first, count;
  ResampleEdge edge;
  std::vector<double> of_phase;  // [phase][count]

  const double* phase(std::int64_t output) const {
    return of_phase.data() + static_cast<std::size_t>(output * down % up * count);
  }
  std::int64_t first_input(std::int64_t output) const { return output * down / up + first; }
};

Resampler::Taps::Taps(Ratio reduced, ResampleEdge at_edge)
    : up(reduced.up), down(reduced.down), edge(at_edge) {
  const std::vector<double> taps = lowpass(up, down);
  const std::int64_t half = kZeroCrossings * std::max(up, down);
  // Input t after the floor meets tap half + phase - t up.
  first = -(half / up);
  count = (half + up - 1) / up - first + 1;
  of_phase.assign(static_cast<std::size_t>(up * count), 0.0);
  for (std::int64_t phase = 0; phase < up; ++phase) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t tap = half + phase - (first + i) * up;
      if (tap < 0 || tap > 2 * half) continue;
      of_phase[static_cast<std::size_t>(phase * count + i)] = taps[static_cast<std::size_t>(tap)];
    }
  }
}

Ratio rate_ratio(double from, double to) {
  if (!(from > 0 && to > 0 && std::isfinite(from) && std::isfinite(to))) {
    fail(Code::usage, "{} Hz to {} Hz: rates have to be above 0", from, to);
  }
  const long double wanted = static_cast<long double>(to) / from;
  const auto most = static_cast<long double>(kMaxRatio);
  const bool possible = wanted <= most && wanted >= 1 / most;
  for (const long double error : kRatioErrors) {
    if (!possible) break;
    const Ratio ratio = simplest_within(wanted * (1 - error), wanted * (1 + error));
    if (std::max(ratio.up, ratio.down) <= kMaxRatio) return ratio;
  }
  fail(Code::unsupported, "{} Hz to {} Hz: no ratio of integers up to {} comes near enough", from,
       to, kMaxRatio);
}

double ratio_error(const Ratio& ratio, double from, double to) {
  const long double reached = static_cast<long double>(ratio.up) / ratio.down;
  return static_cast<double>(reached * from / to - 1);
}

Resampler::Resampler(Ratio ratio, ResampleEdge edge) {
  const auto [up, down] = ratio;
  if (up < 1 || down < 1 || up > kMaxRatio || down > kMaxRatio) {
    fail(Code::usage, "resampling by {} / {}: both have to be 1 to {}", up, down, kMaxRatio);
  }
  const std::int64_t common = std::gcd(up, down);
  taps_ = std::make_shared<const Taps>(Ratio{up / common, down / common}, edge);
}

std::int64_t Resampler::output_length(std::int64_t samples) const {
  return (samples * taps_->up + taps_->down - 1) / taps_->down;
}

Range Resampler::samples_for(Range outputs, std::int64_t total) const {
  if (outputs.size() <= 0) return {};
  const std::int64_t first = taps_->first_input(outputs.first);
  const std::int64_t last = taps_->first_input(outputs.last - 1) + taps_->count;
  return {std::clamp<std::int64_t>(first, 0, total), std::clamp<std::int64_t>(last, 0, total)};
}

template <typename T>
void Resampler::run(const ChannelPart<T>& part, Range outputs, T* out) const {
  const Taps& taps = *taps_;
  const Range needed = samples_for(outputs, part.total);
  const std::int64_t end = part.first + static_cast<std::int64_t>(part.samples.size());
  if (outputs.first < 0 || outputs.last > output_length(part.total) || part.first > needed.first ||
      end < needed.last) {
    fail(Code::internal, "resample: no such outputs");
  }
  const auto count = static_cast<std::size_t>(taps.count);
  std::vector<T> edge(count);
  for (std::int64_t output = outputs.first; output < outputs.last; ++output) {
    const std::int64_t first = taps.first_input(output);
    const bool inside = first >= 0 && first + taps.count <= part.total;
    if (!inside) copy_edge(part, taps.edge, first, edge);
    const T* const samples = inside ? part.samples.data() + (first - part.first) : edge.data();
    const double sum = dot_product(taps.phase(output), samples, count);
    *out++ = std::isfinite(sum) ? static_cast<T>(sum) : std::numeric_limits<T>::quiet_NaN();
  }
}

template void Resampler::run(const ChannelPart<float>&, Range, float*) const;
template void Resampler::run(const ChannelPart<double>&, Range, double*) const;

}  // namespace prep::signal
