// Decibels and natural logarithms of powers.
//
// The logarithm is our own, in double: the C library's differs in its last bit from one CPU to the
// next. It is within 2 units in the last place of a double, so that a float is rounded correctly
// but for one in millions. A NaN stays NaN.
#pragma once

#include <limits>
#include <span>

namespace prep::signal {

// librosa.power_to_db: 10 log10(max(least, x)) - 10 log10(max(least, reference)), not below
// `floor`.
struct Decibels {
  double reference = 1;
  double least = 1e-10;                                     // above 1e-300
  double floor = -std::numeric_limits<double>::infinity();  // in dB
};

// T is float or double, below as well.
template <typename T>
void to_decibels(std::span<T> values, const Decibels& decibels);
double to_decibel(double value, const Decibels& decibels);

// The natural logarithm of max(least, x).
template <typename T>
void to_logarithms(std::span<T> values, double least);

// The largest of the values that are not NaN; minus infinity where there are none.
template <typename T>
T largest(std::span<const T> values);

}  // namespace prep::signal
