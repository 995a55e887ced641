#include "lib/signal/filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/core/error.h"
#include "lib/signal/unit_circle.h"

namespace prep::signal {
namespace {

enum class Pass { low, high };

void check_corner(std::string_view name, double hz, double rate) {
  if (!(hz > 0 && hz < rate / 2)) {
    fail(Code::usage, "{} {} Hz: at {} samples a second it has to lie between 0 and {} Hz", name,
         hz, rate, rate / 2);
  }
}

// The bilinear transform of 1 / (s^2 + 2 damping s + 1), or with s^2 above, at warp = tan(pi f /
// fs).
Biquad second_order(Pass pass, long double warp, long double damping) {
  const long double k2 = warp * warp, divisor = 1 + 2 * damping * warp + k2;
  const double gain = static_cast<double>((pass == Pass::low ? k2 : 1.0L) / divisor);
  return {gain, pass == Pass::low ? 2 * gain : -2 * gain, gain,
          static_cast<double>(2 * (k2 - 1) / divisor),
          static_cast<double>((1 - 2 * damping * warp + k2) / divisor)};
}

// The same of 1 / (s + 1) or s / (s + 1).
Biquad first_order(Pass pass, long double warp) {
  const double gain = static_cast<double>((pass == Pass::low ? warp : 1.0L) / (1 + warp));
  return {gain, pass == Pass::low ? gain : -gain, 0, static_cast<double>((warp - 1) / (warp + 1)),
          0};
}

Filter make_butterworth(Pass pass, double hz, double rate, int order) {
  check_corner(pass == Pass::low ? "low-pass" : "high-pass", hz, rate);
  if (order < 1 || order > kMaxFilterOrder) {
    fail(Code::usage, "a filter of order {}: 1 to {} are possible", order, kMaxFilterOrder);
  }
  const long double warp = std::tan(kPi * hz / rate);
  Filter filter;
  if (order % 2 == 1) filter.sections.push_back(first_order(pass, warp));
  // The poles lie evenly on the unit circle's left half; the flattest section comes first.
  for (int m = order % 2 == 1 ? 2 : 1; m < order; m += 2) {
    filter.sections.push_back(second_order(pass, warp, std::cos(kPi * m / (2 * order))));
  }
  filter.padding = 3 * (static_cast<std::size_t>(order) + 1);
  return filter;
}

struct State {
  double z1 = 0, z2 = 0;
};

// Runs `kSections` sections over the samples from `first` on in steps of `step` (1 or -1), in
// transposed direct form II. Sections side by side hide each other's latency.
template <std::size_t kSections>
void run_sections(const Biquad* sections, State* states, double* first, std::ptrdiff_t step,
                  std::size_t count) {
  Biquad section[kSections];
  State state[kSections];
  std::copy_n(sections, kSections, section);
  std::copy_n(states, kSections, state);
  for (double* at = first; count > 0; --count, at += step) {
    double x = *at;
    for (std::size_t s = 0; s < kSections; ++s) {
      const Biquad& c = section[s];
      const double y = c.b0 * x + state[s].z1;
      state[s].z1 = (c.b1 * x + state[s].z2) - c.a1 * y;
      state[s].z2 = c.b2 * x - c.a2 * y;
      x = y;
    }
    *at = x;
  }
  std::copy_n(state, kSections, states);
}

// One direction's run over any number of sections and calls.
class Runner {
 public:
  // Settled on a signal that has always been `level`.
  Runner(const std::vector<Biquad>& sections, double level)
      : sections_(sections), states_(sections.size()) {
    for (std::size_t s = 0; s < sections.size(); ++s) {
      const Biquad& c = sections[s];
      const double out = level * ((c.b0 + c.b1 + c.b2) / (1 + c.a1 + c.a2));
      states_[s].z2 = c.b2 * level - c.a2 * out;
      states_[s].z1 = c.b1 * level - c.a1 * out + states_[s].z2;
      level = out;
    }
  }

  void run(double* first, std::ptrdiff_t step, std::size_t count) {
    while (count > 0) {  // in blocks that stay in the cache while all sections go over them
      const std::size_t block = std::min(count, kBlock);
      run_block(first, step, block);
      first += step * static_cast<std::ptrdiff_t>(block);
      count -= block;
    }
  }

 private:
  static constexpr std::size_t kBlock = 2048;

  void run_block(double* first, std::ptrdiff_t step, std::size_t count) {
    std::size_t s = 0;
    for (; s + 2 < sections_.size(); s += 3) {
      run_sections<3>(&sections_[s], &states_[s], first, step, count);
    }
    if (s + 2 == sections_.size()) {
      run_sections<2>(&sections_[s], &states_[s], first, step, count);
    } else if (s + 1 == sections_.size()) {
      run_sections<1>(&sections_[s], &states_[s], first, step, count);
    }
  }

  const std::vector<Biquad>& sections_;
  std::vector<State> states_;
};

using Passed = std::function<void(std::span<const double>)>;

constexpr std::size_t kStretch = std::size_t{1} << 20;  // of samples, between calls of Passed

void run_forwards(Runner& runner, std::span<double> signal, const Passed& passed) {
  for (std::size_t at = 0; at < signal.size(); at += kStretch) {
    const auto stretch = signal.subspan(at, std::min(kStretch, signal.size() - at));
    runner.run(stretch.data(), 1, stretch.size());
    if (passed) passed(stretch);
  }
}

void run_backwards(Runner& runner, std::span<double> signal, const Passed& passed) {
  for (std::size_t left = signal.size(); left > 0;) {
    const std::size_t count = std::min(kStretch, left);
    left -= count;
    const auto stretch = signal.subspan(left, count);
    runner.run(&stretch.back(), -1, count);
    if (passed) passed(stretch);
  }
}

// `signal` is finite and longer than the padding.
void filter_run(const Filter& filter, std::span<double> signal, const Passed& passed) {
  const std::size_t n = signal.size(), padding = filter.padding;
  std::vector<double> before(padding), after(padding);
  for (std::size_t i = 0; i < padding; ++i) {
    before[i] = 2 * signal[0] - signal[padding - i];
    after[i] = 2 * signal[n - 1] - signal[n - 2 - i];
  }
  Runner forwards(filter.sections, padding > 0 ? before[0] : signal[0]);
  forwards.run(before.data(), 1, padding);
  run_forwards(forwards, signal, passed);
  forwards.run(after.data(), 1, padding);
  Runner backwards(filter.sections, padding > 0 ? after[padding - 1] : signal[n - 1]);
  if (padding > 0) backwards.run(&after[padding - 1], -1, padding);
  run_backwards(backwards, signal, passed);
}

}  // namespace

Filter make_highpass(double hz, double rate, int order) {
  return make_butterworth(Pass::high, hz, rate, order);
}

Filter make_lowpass(double hz, double rate, int order) {
  return make_butterworth(Pass::low, hz, rate, order);
}

Filter make_notch(double hz, double rate, double quality) {
  check_corner("notch", hz, rate);
  if (!(quality > 0 && std::isfinite(quality))) {
    fail(Code::usage, "a notch of quality {}: it has to be above 0", quality);
  }
  const long double centre = 2 * kPi * hz / rate;
  const long double gain = 1 / (1 + std::tan(centre / quality / 2));
  const auto side = static_cast<double>(-2 * gain * std::cos(centre));
  const auto ends = static_cast<double>(gain);
  return {{{ends, side, ends, side, static_cast<double>(2 * gain - 1)}}, 9};
}

FilterGaps filter_zero_phase(const Filter& filter, std::span<double> signal, const Passed& passed) {
  const auto finite = [](double x) { return std::isfinite(x); };
  FilterGaps gaps;
  for (auto at = signal.begin(); at != signal.end();) {
    const auto first = std::find_if(at, signal.end(), finite);
    const auto last = std::find_if_not(first, signal.end(), finite);
    const auto length = static_cast<std::size_t>(last - first);
    if (length > filter.padding) {
      filter_run(filter, {first, last}, passed);
    } else if (length > 0) {
      std::fill(first, last, std::numeric_limits<double>::quiet_NaN());
      ++gaps.runs;
      gaps.lost += length;
    }
    at = last;
  }
  return gaps;
}

}  // namespace prep::signal
