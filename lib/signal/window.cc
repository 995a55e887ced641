#include "lib/signal/window.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/signal/unit_circle.h"

namespace prep::signal {
namespace {

using Values = std::vector<double>;

constexpr std::pair<std::string_view, Window::Kind> kNames[] = {
    {"boxcar", Window::Kind::boxcar},   {"hann", Window::Kind::hann},
    {"hamming", Window::Kind::hamming}, {"tukey", Window::Kind::tukey},
    {"dpss", Window::Kind::dpss},
};

bool has_parameter(Window::Kind kind) {
  return kind == Window::Kind::tukey || kind == Window::Kind::dpss;
}

std::string_view name_of(Window::Kind kind) {
  return std::find_if(std::begin(kNames), std::end(kNames),
                      [kind](const auto& entry) { return entry.second == kind; })
      ->first;
}

double parse_parameter(std::string_view window, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    fail(Code::usage, "window {}: '{}' is not a number; write it like {}", window, text,
         window == "dpss" ? "dpss:2.5" : "tukey:0.25");
  }
  return value;
}

// a - (1 - a) cos(2 pi n / length)
Values raised_cosine(long double a, std::size_t length) {
  Values window(length);
  for (std::size_t n = 0; n < length; ++n) {
    window[n] = static_cast<double>(a - (1 - a) * unit_point(n, length).cosine);
  }
  return window;
}

Values tukey(double tapered, std::size_t length) {
  if (!(tapered >= 0 && tapered <= 1)) {
    fail(Code::usage, "window tukey:{}: the tapered share lies between 0 and 1", tapered);
  }
  Values window(length, 1.0);
  if (tapered == 0) return window;
  if (tapered == 1) return raised_cosine(0.5L, length);
  const auto width =
      static_cast<std::size_t>(std::floor(tapered * static_cast<double>(length) / 2.0));
  for (std::size_t n = 0; n <= width && n < length; ++n) {
    const long double turn = 2.0L * n / (static_cast<long double>(tapered) * length);
    window[n] = static_cast<double>(0.5L * (1 - std::cos(kPi * turn)));
    if (n > 0 && length - n > width) window[length - n] = window[n];
  }
  return window;
}

// The symmetric tridiagonal matrix whose eigenvector for the largest eigenvalue is the window.
// Its off-diagonal is t (size - t) / 2.
struct SlepianMatrix {
  Values diagonal, off;
};

SlepianMatrix slepian_matrix(double half_bandwidth, std::size_t size) {
  const auto n = static_cast<long double>(size);
  const long double cosine = std::cos(2 * kPi * half_bandwidth / n);
  SlepianMatrix matrix{Values(size), Values(size)};
  for (std::size_t t = 0; t < size; ++t) {
    const long double centred = (n - 1 - 2.0L * t) / 2;
    matrix.diagonal[t] = static_cast<double>(centred * centred * cosine);
    matrix.off[t] = static_cast<double>(t * (n - t) / 2);
  }
  return matrix;
}

// Whether every eigenvalue lies below `shift`: whether shift I - A has a Cholesky factor.
bool bounds_spectrum(const SlepianMatrix& matrix, double shift) {
  double pivot = shift - matrix.diagonal[0];
  for (std::size_t t = 1; t < matrix.diagonal.size() && pivot > 0; ++t) {
    pivot = shift - matrix.diagonal[t] - matrix.off[t] * matrix.off[t] / pivot;
  }
  return pivot > 0;
}

// The least number, to rounding, that bounds_spectrum().
double largest_eigenvalue(const SlepianMatrix& matrix) {
  double high = 0;
  for (std::size_t t = 0; t < matrix.diagonal.size(); ++t) {  // Gershgorin's discs
    const double next = t + 1 < matrix.off.size() ? matrix.off[t + 1] : 0;
    high = std::max(high, matrix.diagonal[t] + matrix.off[t] + next);
  }
  double low = *std::max_element(matrix.diagonal.begin(), matrix.diagonal.end());
  low = std::min(low, high);
  high += 1 + std::fabs(high) * 1e-12;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (bounds_spectrum(matrix, middle) ? high : low) = middle;
  }
  return high;
}

// Solves (shift I - A) x = x in place; the matrix is positive definite, so nothing is pivoted.
void solve(const SlepianMatrix& matrix, double shift, Values& x, Values& ratio) {
  const std::size_t size = x.size();
  double pivot = shift - matrix.diagonal[0];
  x[0] /= pivot;
  for (std::size_t t = 1; t < size; ++t) {
    ratio[t] = matrix.off[t] / pivot;
    pivot = shift - matrix.diagonal[t] - matrix.off[t] * ratio[t];
    x[t] = (x[t] + matrix.off[t] * x[t - 1]) / pivot;
  }
  for (std::size_t t = size - 1; t > 0; --t) x[t - 1] += ratio[t] * x[t];
}

void scale_to_maximum(Values& x, double maximum) {
  const double factor = maximum / *std::max_element(x.begin(), x.end());
  for (double& value : x) value *= factor;
}

Values dpss(double half_bandwidth, std::size_t length) {
  if (!(half_bandwidth > 0 && half_bandwidth < static_cast<double>(length) / 2)) {
    fail(Code::usage, "window dpss:{}: NW lies above 0 and below half of the {} samples",
         half_bandwidth, length);
  }
  const std::size_t size = length + 1;
  const SlepianMatrix matrix = slepian_matrix(half_bandwidth, size);
  const double shift = largest_eigenvalue(matrix);
  Values window(size, 1.0), ratio(size);
  // Each step wins many digits, as the shift is all but the eigenvalue.
  for (int step = 0; step < 6; ++step) {
    solve(matrix, shift, window, ratio);
    for (std::size_t t = 0; t < size / 2; ++t) {  // the window is symmetric
      window[t] = window[size - 1 - t] = (window[t] + window[size - 1 - t]) / 2;
    }
    scale_to_maximum(window, 1);
  }
  // An even number of samples has none on the peak.
  const double squared = static_cast<double>(size) * static_cast<double>(size);
  if (size % 2 == 0) scale_to_maximum(window, squared / (squared + half_bandwidth));
  window.pop_back();
  return window;
}

}  // namespace

Window parse_window(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (const auto& [known, kind] : kNames) {
    if (name != known) continue;
    if (!has_parameter(kind)) {
      if (name.size() != text.size()) fail(Code::usage, "window {} has no parameter", name);
      return {kind, 0};
    }
    const std::string_view parameter = text.substr(std::min(text.size(), name.size() + 1));
    return {kind, parse_parameter(name, parameter)};
  }
  fail(Code::usage,
       "no window is called '{}'; there are boxcar, hann, hamming, tukey:A and dpss:NW", name);
}

std::string window_name(const Window& window) {
  const std::string_view name = name_of(window.kind);
  if (!has_parameter(window.kind)) return std::string(name);
  return fmt::format("{}:{}", name, window.parameter);
}

std::vector<double> make_window(const Window& window, std::size_t length) {
  if (length == 0) fail(Code::usage, "a window needs a sample at least");
  if (length == 1) return {1.0};
  switch (window.kind) {
    case Window::Kind::boxcar:
      return Values(length, 1.0);
    case Window::Kind::hann:
      return raised_cosine(0.5L, length);
    case Window::Kind::hamming:
      return raised_cosine(0.54L, length);
    case Window::Kind::tukey:
      return tukey(window.parameter, length);
    case Window::Kind::dpss:
      return dpss(window.parameter, length);
  }
  fail(Code::internal, "no such window");
}

}  // namespace prep::signal
