// Sums without rounding, so that it does not matter in which order they are made.
#pragma once

#include <array>
#include <cstdint>

namespace prep::signal {

// The unevaluated sum of two doubles, |low| at most half a unit in the last place of `high`.
struct DoubleDouble {
  double high = 0, low = 0;
};

// a + b exactly (Knuth's two-sum).
inline DoubleDouble two_sum(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  return {sum, (a - (sum - b_part)) + (b - b_part)};
}

DoubleDouble add(const DoubleDouble& a, const DoubleDouble& b);
DoubleDouble subtract(const DoubleDouble& a, const DoubleDouble& b);
DoubleDouble multiply(const DoubleDouble& a, const DoubleDouble& b);
DoubleDouble divide(const DoubleDouble& a, double b);

// A fixed-point number wide enough for sums of floats and of their squares, with room for 2^63 of
// them: from 2^-320 up to 2^352.
class ExactSum {
 public:
  // `value` is finite and a multiple of 2^-320, as every product of two floats and every sum of
  // such products is, and below 2^320.
  void add(double value);
  void add(const ExactSum& other);
  DoubleDouble value() const;  // to 100 bits and more

 private:
  static constexpr int kDigits = 21, kLowest = -320;

  void carry();

  // In base 2^32, lowest first. Digits wait with their carries: only after carry() are all but the
  // top one within 0 to 2^32 - 1.
  std::array<std::int64_t, kDigits> digits_{};
  std::uint32_t pending_ = 0;  // additions since the last carry()
};

}  // namespace prep::signal
