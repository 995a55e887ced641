#include "lib/image/filter_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace prep::image {
namespace {

// The Taylor series of sin(pi * t) around 0: exact to the last bit or two for |t| <= 1/2.
constexpr std::array<double, 11> kSine = [] {
  std::array<double, 11> terms{};
  double term = std::numbers::pi;
  for (int n = 0; n < 11; ++n) {
    terms[static_cast<std::size_t>(n)] = term;
    term *= -std::numbers::pi * std::numbers::pi / ((2 * n + 2) * (2 * n + 3));
  }
  return terms;
}();

// sin(pi * x) for 0 <= x <= 3. std::sin may differ in the last bit between C libraries and CPUs.
double sin_pi(double x) {
  const int nearest = static_cast<int>(x + 0.5);
  const double t = x - nearest;
  double sum = 0;
  for (std::size_t n = kSine.size(); n-- > 0;) sum = sum * (t * t) + kSine[n];
  return (nearest & 1) == 0 ? sum * t : -sum * t;
}

double sinc(double x) { return x == 0 ? 1 : sin_pi(x) / (std::numbers::pi * x); }

double radius(Filter filter) {
  switch (filter) {
    case Filter::box:
      return 0.5;
    case Filter::bilinear:
      return 1;
    case Filter::bicubic:
      return 2;
    case Filter::lanczos:
      return 3;
  }
  return 0;
}

// The kernels of Pillow (libImaging/Resample.c) and of everybody else.
double kernel(Filter filter, double x) {
  constexpr double a = -0.5;
  const double d = std::fabs(x);
  switch (filter) {
    case Filter::box:
      return 1;  // everywhere in its window
    case Filter::bilinear:
      return d < 1 ? 1 - d : 0;
    case Filter::bicubic:
      if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
      return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
    case Filter::lanczos:
      return d < 3 ? sinc(d) * sinc(d / 3) : 0;
  }
  return 0;
}

// The inputs [first, first + count) that one output sample takes.
struct Window {
  int first = 0, count = 0;
};

// The windows of all output samples; the weights of output x stand from x * stride on.
template <typename T>
struct Windows {
  std::size_t stride = 0;
  std::vector<Window> of;
  std::vector<T> weight;
};

// The index of the first sample whose centre lies behind `position`. Half open intervals made of
// these share no sample and miss none; a centre that only rounding separates from the position
// counts as on it, or else neighbours could disagree.
int first_behind(double position, int size) {
  const double index = std::clamp(position + 0.5 + 1e-6, 0.0, static_cast<double>(size));
  return static_cast<int>(index);
}

// How much of the last sample lies in the picture.
double last_coverage(const AxisMapping& axis) {
  const double part = axis.picture_end - (axis.in_size - 1);
  return part > 0 && part < 1 ? part : 1;
}

// The window around `centre`, its weights summing to one.
Window weigh(const AxisMapping& axis, double centre, double widening, double* weights) {
  const double support = radius(axis.filter) * widening;
  const double narrowing = 1 / widening;
  Window window;
  window.first = first_behind(centre - support, axis.in_size);
  window.count = first_behind(centre + support, axis.in_size) - window.first;
  double sum = 0;
  for (int i = 0; i < window.count; ++i) {
    weights[i] = kernel(axis.filter, (window.first + i + 0.5 - centre) * narrowing);
  }
  if (window.count > 0 && window.first + window.count == axis.in_size) {
    const double part = last_coverage(axis);
    const double middle = axis.in_size - 1 + part / 2;
    weights[window.count - 1] = part * kernel(axis.filter, (middle - centre) * narrowing);
  }
  for (int i = 0; i < window.count; ++i) sum += weights[i];
  if (sum > 0) {
    const double normalisation = 1 / sum;
    for (int i = 0; i < window.count; ++i) weights[i] *= normalisation;
  } else {  // no sample's centre lies under the filter: the nearest one is taken
    window = {std::min(static_cast<int>(centre), axis.in_size - 1), 1};
    weights[0] = 1;
  }
  return window;
}

Windows<double> exact_windows(const AxisMapping& axis) {
  const double scale = axis.length / axis.out_size;
  const double widening = std::max(scale, 1.0);
  const double most = std::min(2 * radius(axis.filter) * widening + 2, axis.in_size + 0.0);
  Windows<double> all;
  all.stride = static_cast<std::size_t>(most);
  all.of.resize(static_cast<std::size_t>(axis.out_size));
  all.weight.resize(all.of.size() * all.stride);
  for (std::size_t x = 0; x < all.of.size(); ++x) {
    const double centre = axis.start + (static_cast<double>(x) + 0.5) * scale;
    all.of[x] = weigh(axis, std::clamp(centre, 0.0, static_cast<double>(axis.in_size)), widening,
                      &all.weight[x * all.stride]);
  }
  return all;
}

int most_bits(const Windows<double>& exact, int max_bits) {
  double largest = 0;
  for (std::size_t x = 0; x < exact.of.size(); ++x) {
    const double* weights = &exact.weight[x * exact.stride];
    for (int i = 0; i < exact.of[x].count; ++i) largest = std::max(largest, std::fabs(weights[i]));
  }
  int bits = 0;
  while (bits < max_bits && largest * (2 << bits) < 32766) ++bits;
  return bits;
}

// Rounds to integers. What rounding takes from one weight goes to the next, so that the sum stays
// exact however many there are.
void round_weights(const double* exact, int count, double one, std::int16_t* rounded) {
  double carried = 0;
  for (int i = 0; i < count; ++i) {
    const double wanted = exact[i] * one + carried;
    const int whole = static_cast<int>(wanted + (wanted < 0 ? -0.5 : 0.5));
    carried = wanted - whole;
    rounded[i] = static_cast<std::int16_t>(whole);
  }
}

Windows<std::int16_t> round_windows(const Windows<double>& exact, int bits) {
  Windows<std::int16_t> rounded{exact.stride, exact.of, {}};
  rounded.weight.resize(exact.weight.size());
  for (std::size_t x = 0; x < exact.of.size(); ++x) {
    const std::size_t at = x * exact.stride;
    round_weights(&exact.weight[at], exact.of[x].count, 1 << bits, &rounded.weight[at]);
  }
  return rounded;
}

// Leaves out zero weights at both ends: every tap costs time.
Window trimmed(Window window, const std::int16_t*& weights) {
  while (weights[window.count - 1] == 0) --window.count;
  for (; *weights == 0; ++weights, --window.count) ++window.first;
  return window;
}

}  // namespace

FilterWeights make_filter_weights(const AxisMapping& axis, int max_bits, bool even_first) {
  const Windows<double> exact = exact_windows(axis);
  FilterWeights result;
  result.bits = most_bits(exact, max_bits);
  Windows<std::int16_t> rounded = round_windows(exact, result.bits);

  const auto start = [&](const Window& w) { return even_first ? w.first & ~1 : w.first; };
  std::vector<const std::int16_t*> weights(rounded.of.size());
  for (std::size_t x = 0; x < weights.size(); ++x) {
    weights[x] = &rounded.weight[x * rounded.stride];
    Window& w = rounded.of[x];
    w = trimmed(w, weights[x]);
    result.taps = std::max(result.taps, w.first + w.count - start(w));
  }
  result.taps += result.taps & 1;

  // Windows near the end begin earlier, so that none of the equally many taps lies outside.
  const int last_start = std::max(0, axis.in_size + (axis.in_size & 1) - result.taps);
  const auto taps = static_cast<std::size_t>(result.taps);
  result.weight.assign(weights.size() * taps, 0);
  result.first.resize(weights.size());
  for (std::size_t x = 0; x < weights.size(); ++x) {
    const Window& w = rounded.of[x];
    result.first[x] = std::min(start(w), last_start);
    std::copy_n(weights[x], w.count, &result.weight[x * taps] + (w.first - result.first[x]));
  }
  return result;
}

}  // namespace prep::image
