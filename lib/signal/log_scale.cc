// The number of lanes has to be known to the compiler, which SVE does not tell.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/signal/log_scale.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "lib/core/error.h"
#include "lib/signal/log_scale.h"

// What all instruction sets share.
#ifndef PREP_SIGNAL_LOG_SCALE_ONCE
#define PREP_SIGNAL_LOG_SCALE_ONCE
namespace prep::signal {
namespace {

// max(floor, factor * ln(max(least, x)) - offset)
struct LogMapping {
  double least, factor, offset, floor;
};

}  // namespace
}  // namespace prep::signal
#endif  // PREP_SIGNAL_LOG_SCALE_ONCE

HWY_BEFORE_NAMESPACE();
namespace prep::signal {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ln 2 in two parts: a whole exponent times the first is exact.
constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;

// ln x for normal x > 0: x = 2^e m with m between sqrt(1/2) and sqrt(2), and with s = (m-1)/(m+1)
// ln m = 2 (s + s^3/3 + s^5/5 + …), of which s^23 is the first term below a double's rounding.
template <class D>
HWY_INLINE hn::VFromD<D> natural_log(D d, hn::VFromD<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto one = hn::Set(d, 1.0);
  auto m = hn::BitCast(
      d, hn::Or(hn::And(bits, hn::Set(du, 0x000FFFFFFFFFFFFFu)), hn::Set(du, 0x3FF0000000000000u)));
  // The exponent as a double: its bits become the lowest of 2^52.
  auto e =
      hn::Sub(hn::BitCast(d, hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000u))),
              hn::Set(d, 0x1p52 + 1023));
  const auto large = hn::Gt(m, hn::Set(d, 0x1.6a09e667f3bcdp0));
  m = hn::IfThenElse(large, hn::Mul(m, hn::Set(d, 0.5)), m);
  e = hn::IfThenElse(large, hn::Add(e, one), e);
  const auto s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const auto s2 = hn::Mul(s, s);
  auto series = hn::Set(d, 1.0 / 21);
  for (const double term :
       {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3}) {
    series = hn::Add(hn::Mul(series, s2), hn::Set(d, term));
  }
  const auto twice = hn::Add(s, s);
  const auto small = hn::Add(hn::Mul(hn::Mul(twice, s2), series), hn::Mul(e, hn::Set(d, kLn2Low)));
  return hn::Add(hn::Mul(e, hn::Set(d, kLn2High)), hn::Add(twice, small));
}

template <class D>
HWY_INLINE hn::VFromD<D> map_vector(D d, hn::VFromD<D> x, const LogMapping& mapping) {
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const auto least = hn::Set(d, mapping.least), floor = hn::Set(d, mapping.floor);
  const auto log = natural_log(d, hn::IfThenElse(hn::Gt(x, least), x, least));
  auto y = hn::Sub(hn::Mul(log, hn::Set(d, mapping.factor)), hn::Set(d, mapping.offset));
  y = hn::IfThenElse(hn::Gt(y, floor), y, floor);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  return hn::IfThenElse(hn::Eq(x, x), y, hn::Set(d, std::numeric_limits<double>::quiet_NaN()));
}

template <class D>
HWY_INLINE hn::VFromD<D> load_wide(D d, const double* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE hn::VFromD<D> load_wide(D d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}
template <class D>
HWY_INLINE void store_narrow(D d, hn::VFromD<D> v, double* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void store_narrow(D, hn::VFromD<D> v, float* to) {
  const hn::Rebind<float, D> narrow;
  hn::StoreU(hn::DemoteTo(narrow, v), narrow, to);
}

template <typename T>
void map_values(T* values, std::size_t count, const LogMapping& mapping) {
  const hn::ScalableTag<double> d;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::ScalableTag<double>());
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store_narrow(d, map_vector(d, load_wide(d, values + i), mapping), values + i);
  }
  if (i == count) return;
  T rest[kLanes] = {};
  std::copy(values + i, values + count, rest);
  store_narrow(d, map_vector(d, load_wide(d, rest), mapping), rest);
  std::copy_n(rest, count - i, values + i);
}

void map_floats(float* values, std::size_t count, const LogMapping& mapping) {
  map_values(values, count, mapping);
}
void map_doubles(double* values, std::size_t count, const LogMapping& mapping) {
  map_values(values, count, mapping);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace prep::signal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prep::signal {
namespace {

HWY_EXPORT(map_floats);
HWY_EXPORT(map_doubles);

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kDecibelsPerNeper = 4.342944819032518;  // 10 / ln 10
constexpr double kLeast = 1e-300;                        // the logarithm is for normal numbers

void map(std::span<float> values, const LogMapping& mapping) {
  HWY_DYNAMIC_DISPATCH(map_floats)(values.data(), values.size(), mapping);
}
void map(std::span<double> values, const LogMapping& mapping) {
  HWY_DYNAMIC_DISPATCH(map_doubles)(values.data(), values.size(), mapping);
}

void check_least(double least) {
  if (!(least >= kLeast)) fail(Code::usage, "no logarithm can start from {}", least);
}

LogMapping decibel_mapping(const Decibels& decibels) {
  check_least(decibels.least);
  double offset = decibels.reference;
  map(std::span(&offset, 1), {decibels.least, kDecibelsPerNeper, 0, kMinusInfinity});
  return {decibels.least, kDecibelsPerNeper, offset, decibels.floor};
}

}  // namespace

template <typename T>
void to_decibels(std::span<T> values, const Decibels& decibels) {
  map(values, decibel_mapping(decibels));
}

double to_decibel(double value, const Decibels& decibels) {
  to_decibels(std::span(&value, 1), decibels);
  return value;
}

template <typename T>
void to_logarithms(std::span<T> values, double least) {
  check_least(least);
  map(values, {least, 1, 0, kMinusInfinity});
}

template <typename T>
T largest(std::span<const T> values) {
  constexpr std::size_t kStrands = 16;  // so that the compiler can use vectors
  T most[kStrands];
  std::fill_n(most, kStrands, static_cast<T>(kMinusInfinity));
  std::size_t i = 0;
  for (; i + kStrands <= values.size(); i += kStrands) {
    for (std::size_t s = 0; s < kStrands; ++s) {
      most[s] = values[i + s] > most[s] ? values[i + s] : most[s];
    }
  }
  for (; i < values.size(); ++i) most[0] = values[i] > most[0] ? values[i] : most[0];
  return *std::max_element(most, most + kStrands);
}

template void to_decibels(std::span<float>, const Decibels&);
template void to_decibels(std::span<double>, const Decibels&);
template void to_logarithms(std::span<float>, double);
template void to_logarithms(std::span<double>, double);
template float largest(std::span<const float>);
template double largest(std::span<const double>);

}  // namespace prep::signal
#endif  // HWY_ONCE
