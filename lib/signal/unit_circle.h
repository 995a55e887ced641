// Sines and cosines that are the same on every machine.
//
// The C library picks its double-precision sine by the CPU it runs on, and the last bit differs.
// What is computed in long double and rounded once does not.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace prep::signal {

inline constexpr long double kPi = std::numbers::pi_v<long double>;

struct UnitPoint {
  long double cosine, sine;
};

// The angle 2 pi numerator / denominator; quarter turns are exact.
inline UnitPoint unit_point(std::uint64_t numerator, std::uint64_t denominator) {
  const std::uint64_t quarters = numerator % denominator * 4;
  const std::uint64_t quadrant = quarters / denominator;
  const long double angle = kPi / 2 * static_cast<long double>(quarters % denominator) /
                            static_cast<long double>(denominator);
  const long double c = quarters % denominator == 0 ? 1 : std::cos(angle);
  const long double s = quarters % denominator == 0 ? 0 : std::sin(angle);
  switch (quadrant) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace prep::signal
