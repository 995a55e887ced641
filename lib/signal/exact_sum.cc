#include "lib/signal/exact_sum.h"

#include <cmath>

namespace prep::signal {
namespace {

constexpr std::uint32_t kMostPending = std::uint32_t{1} << 30;  // of 2^32 each, below 2^63 in sum
constexpr std::int64_t kBase = std::int64_t{1} << 32;

DoubleDouble renormalized(double high, double low) {
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

// a b exactly (Dekker); below 2^996.
DoubleDouble two_product(double a, double b) {
  constexpr double kSplit = 134217729;  // 2^27 + 1
  const double a_scaled = kSplit * a, b_scaled = kSplit * b;
  const double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
  const double a_low = a - a_high, b_low = b - b_high;
  const double product = a * b;
  return {product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low};
}

}  // namespace

DoubleDouble add(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = two_sum(a.high, b.high), low = two_sum(a.low, b.low);
  const DoubleDouble middle = renormalized(high.high, high.low + low.high);
  return renormalized(middle.high, middle.low + low.low);
}

DoubleDouble subtract(const DoubleDouble& a, const DoubleDouble& b) {
  return add(a, {-b.high, -b.low});
}

DoubleDouble multiply(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble product = two_product(a.high, b.high);
  return renormalized(product.high, product.low + (a.high * b.low + a.low * b.high));
}

DoubleDouble divide(const DoubleDouble& a, double b) {
  const double first = a.high / b;
  const DoubleDouble rest = subtract(a, multiply({first, 0}, {b, 0}));
  return renormalized(first, rest.high / b);
}

void ExactSum::add(double value) {
  if (value == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  auto mantissa = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  int position = exponent - 53 - kLowest;
  if (position < 0) {  // the bits that go are zeros
    mantissa /= std::int64_t{1} << -position;
    position = 0;
  }
  const bool negative = mantissa < 0;
  auto rest = static_cast<unsigned __int128>(negative ? -mantissa : mantissa) << (position % 32);
  for (auto digit = static_cast<std::size_t>(position / 32); rest != 0; ++digit, rest >>= 32) {
    const auto part = static_cast<std::int64_t>(rest & 0xffffffff);
    digits_.at(digit) += negative ? -part : part;
  }
  if (++pending_ >= kMostPending) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += carried.digits_[i];
  carry();
}

void ExactSum::carry() {
  for (std::size_t i = 0; i + 1 < kDigits; ++i) {
    const std::int64_t over = digits_[i] >> 32;  // rounds down, so that the digit stays positive
    digits_[i] -= over * kBase;
    digits_[i + 1] += over;
  }
  pending_ = 0;
}

DoubleDouble ExactSum::value() const {
  ExactSum magnitude = *this;
  magnitude.carry();
  const bool negative = magnitude.digits_.back() < 0;
  if (negative) {
    for (std::int64_t& digit : magnitude.digits_) digit = -digit;
    magnitude.carry();
  }
  DoubleDouble sum;
  for (int i = kDigits - 1; i >= 0; --i) {
    const auto digit = static_cast<double>(magnitude.digits_[static_cast<std::size_t>(i)]);
    sum = prep::signal::add(sum, {std::ldexp(digit, 32 * i + kLowest), 0});
  }
  return negative ? DoubleDouble{-sum.high, -sum.low} : sum;
}

}  // namespace prep::signal
