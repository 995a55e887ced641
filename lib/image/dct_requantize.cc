#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/image/dct_requantize.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <bit>
#include <cstring>

#include "hwy/highway.h"
#include "lib/image/dct_requantize.h"

// What all instruction sets share.
#ifndef PREP_IMAGE_DCT_REQUANTIZE_ONCE
#define PREP_IMAGE_DCT_REQUANTIZE_ONCE
namespace prep::image {
namespace {

// Let a and b be the lower four frequencies of two neighbouring rows of eight samples, C4 and C8
// the orthonormal transforms. The row of half the resolution has the frequencies
//   C8 (C4^-1 a, C4^-1 b) / sqrt(2),
// and because a row's mirror image has every odd frequency negated, only sums and differences
// occur:
//   even i: (a[i/2] + (-1)^(i/2) b[i/2]) / 2
//   odd i:  sum over k of kOdd[i/2][k] / 2^15 * (a[k] - (-1)^k b[k]).
constexpr int kOddBits = 15;
constexpr std::int16_t kOdd[4][4] = {{14846, 6811, -1223, 375},
                                     {-5213, 12961, 8410, -1598},
                                     {3483, -5774, 12586, 8035},
                                     {-2953, 4551, -6149, 14184}};

constexpr int kLargestLevel = 1023;

inline std::int32_t odd_pair(int i, int k) {
  std::int32_t pair;
  std::memcpy(&pair, &kOdd[i][k], sizeof pair);
  return pair;
}

}  // namespace
}  // namespace prep::image
#endif  // PREP_IMAGE_DCT_REQUANTIZE_ONCE

HWY_BEFORE_NAMESPACE();
namespace prep::image {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Any16 = hn::CappedTag<std::int16_t, 32>;
using AnyU16 = hn::RebindToUnsigned<Any16>;

void dequantize_blocks(const DctBlock* levels, std::size_t blocks, const Dequantizer& table,
                       DctBlock* values) {
  const Any16 d;
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
      const auto largest = hn::Load(d, table.largest.data() + i);
      const auto level = hn::LoadU(d, levels[b] + i);
      const auto clamped = hn::Max(hn::Min(level, largest), hn::Neg(largest));
      hn::StoreU(hn::Mul(clamped, hn::Load(d, table.factor.data() + i)), d, values[b] + i);
    }
  }
}

void quantize_blocks(const DctBlock* values, std::size_t blocks, const Quantizer& table,
                     DctBlock* levels, std::uint64_t* nonzero) {
  const Any16 d;
  const AnyU16 du;
  for (std::size_t b = 0; b < blocks; ++b) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
      const auto value = hn::LoadU(d, values[b] + i);
      const auto magnitude = hn::Abs(value);
      const auto rounded = hn::Add(hn::BitCast(du, magnitude), hn::Load(du, table.half.data() + i));
      const auto scaled = hn::MulHigh(rounded, hn::Load(du, table.reciprocal.data() + i));
      const auto size = hn::BitCast(d, hn::MulHigh(scaled, hn::Load(du, table.rescale.data() + i)));
      const auto lowered = hn::And(hn::Eq(size, hn::Set(d, 2)),
                                   hn::Lt(magnitude, hn::Load(d, table.two_from.data() + i)));
      // A true lane is -1.
      const auto level =
          hn::Add(hn::Min(size, hn::Set(d, kLargestLevel)), hn::VecFromMask(d, lowered));
      const auto sign = hn::BroadcastSignBit(value);
      hn::StoreU(hn::Sub(hn::Xor(level, sign), sign), d, levels[b] + i);
      std::uint8_t some[8] = {};
      hn::StoreMaskBits(d, hn::Ne(level, hn::Zero(d)), some);
      std::uint64_t lanes;
      std::memcpy(&lanes, some, sizeof lanes);
      bits |= lanes << i;
    }
    nonzero[b] = bits;
  }
}

#if HWY_TARGET == HWY_SCALAR

// Plain loops over the same sums; `step` from one frequency to the next, `across` between lines.
void halve_lines(const std::int16_t* a, const std::int16_t* b, int step, int across, int lines,
                 std::int16_t* out) {
  for (int line = 0; line < lines; ++line, a += across, b += across, out += across) {
    int difference[4];
    for (int k = 0; k < 4; ++k) {
      const int other = k % 2 ? -b[k * step] : b[k * step];
      difference[k] = std::clamp(a[k * step] - other, -32768, 32767);
      const int sum = std::clamp(a[k * step] + other, -32768, 32767);
      out[2 * k * step] = static_cast<std::int16_t>((sum + 1) >> 1);
    }
    for (int i = 0; i < 4; ++i) {
      std::int32_t sum = 1 << (kOddBits - 1);
      for (int k = 0; k < 4; ++k) sum += kOdd[i][k] * difference[k];
      out[(2 * i + 1) * step] = static_cast<std::int16_t>(sum >> kOddBits);
    }
  }
}

void halve_down_blocks(const DctBlock* top, const DctBlock* bottom, std::size_t blocks,
                       DctBlock* out) {
  for (std::size_t i = 0; i < blocks; ++i) halve_lines(top[i], bottom[i], 8, 1, 8, out[i]);
}

void halve_across_blocks(const DctBlock* in, std::size_t in_blocks, DctBlock* out) {
  for (std::size_t i = 0; i < in_blocks; i += 2) halve_lines(in[i], in[i + 1], 1, 8, 8, out[i / 2]);
}

#else

using Row16 = hn::FixedTag<std::int16_t, 8>;
using Row32 = hn::FixedTag<std::int32_t, 4>;
using Row64 = hn::FixedTag<std::int64_t, 2>;
using Row = hn::Vec<Row16>;

// One odd frequency for eight lines at once, from pairs of differences: {0, 1} and {2, 3}.
HWY_INLINE Row odd_frequency(int i, Row low01, Row high01, Row low23, Row high23) {
  const Row16 d16;
  const Row32 d32;
  const auto weights01 = hn::BitCast(d16, hn::Set(d32, odd_pair(i, 0)));
  const auto weights23 = hn::BitCast(d16, hn::Set(d32, odd_pair(i, 2)));
  const auto sum = [&](Row v01, Row v23) HWY_ATTR {
    auto odd = hn::Zero(d32);
    auto even = hn::Set(d32, 1 << (kOddBits - 1));
    even = hn::ReorderWidenMulAccumulate(d32, v01, weights01, even, odd);
    even = hn::ReorderWidenMulAccumulate(d32, v23, weights23, even, odd);
    return hn::ShiftRight<kOddBits>(hn::RearrangeToOddPlusEven(even, odd));
  };
  return hn::ReorderDemote2To(d16, sum(low01, low23), sum(high01, high23));
}

// a[k] and b[k] hold frequency k of eight lines each.
HWY_INLINE void halve_rows(const Row* a, const Row* b, Row* out) {
  const Row16 d16;
  Row difference[4];
  for (int k = 0; k < 4; ++k) {
    const Row sum = hn::SaturatedAdd(a[k], b[k]), rest = hn::SaturatedSub(a[k], b[k]);
    difference[k] = k % 2 ? sum : rest;
    const Row even = k % 2 ? rest : sum;
    out[2 * k] = hn::Add(hn::ShiftRight<1>(even), hn::And(even, hn::Set(d16, 1)));
  }
  const Row low01 = hn::InterleaveLower(d16, difference[0], difference[1]);
  const Row high01 = hn::InterleaveUpper(d16, difference[0], difference[1]);
  const Row low23 = hn::InterleaveLower(d16, difference[2], difference[3]);
  const Row high23 = hn::InterleaveUpper(d16, difference[2], difference[3]);
  for (int i = 0; i < 4; ++i) out[2 * i + 1] = odd_frequency(i, low01, high01, low23, high23);
}

HWY_INLINE void transpose(const Row* in, Row* out) {
  const Row16 d16;
  const Row32 d32;
  const Row64 d64;
  hn::Vec<Row32> pairs[8];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = hn::BitCast(d32, hn::InterleaveLower(d16, in[2 * i], in[2 * i + 1]));
    pairs[i + 4] = hn::BitCast(d32, hn::InterleaveUpper(d16, in[2 * i], in[2 * i + 1]));
  }
  for (int i = 0; i < 8; i += 4) {
    const auto low = hn::BitCast(d64, hn::InterleaveLower(d32, pairs[i], pairs[i + 1]));
    const auto low2 = hn::BitCast(d64, hn::InterleaveLower(d32, pairs[i + 2], pairs[i + 3]));
    const auto high = hn::BitCast(d64, hn::InterleaveUpper(d32, pairs[i], pairs[i + 1]));
    const auto high2 = hn::BitCast(d64, hn::InterleaveUpper(d32, pairs[i + 2], pairs[i + 3]));
    out[i] = hn::BitCast(d16, hn::InterleaveLower(d64, low, low2));
    out[i + 1] = hn::BitCast(d16, hn::InterleaveUpper(d64, low, low2));
    out[i + 2] = hn::BitCast(d16, hn::InterleaveLower(d64, high, high2));
    out[i + 3] = hn::BitCast(d16, hn::InterleaveUpper(d64, high, high2));
  }
}

void halve_down_blocks(const DctBlock* top, const DctBlock* bottom, std::size_t blocks,
                       DctBlock* out) {
  const Row16 d16;
  for (std::size_t block = 0; block < blocks; ++block) {
    Row a[4], b[4], halved[8];
    for (int k = 0; k < 4; ++k) {
      a[k] = hn::LoadU(d16, top[block] + 8 * k);
      b[k] = hn::LoadU(d16, bottom[block] + 8 * k);
    }
    halve_rows(a, b, halved);
    for (int k = 0; k < 8; ++k) hn::StoreU(halved[k], d16, out[block] + 8 * k);
  }
}

void halve_across_blocks(const DctBlock* in, std::size_t in_blocks, DctBlock* out) {
  const Row16 d16;
  for (std::size_t block = 0; block < in_blocks; block += 2) {
    Row rows[8], left[8], right[8], halved[8], turned[8];
    for (int k = 0; k < 8; ++k) rows[k] = hn::LoadU(d16, in[block] + 8 * k);
    transpose(rows, left);
    for (int k = 0; k < 8; ++k) rows[k] = hn::LoadU(d16, in[block + 1] + 8 * k);
    transpose(rows, right);
    halve_rows(left, right, halved);
    transpose(halved, turned);
    for (int k = 0; k < 8; ++k) hn::StoreU(turned[k], d16, out[block / 2] + 8 * k);
  }
}

#endif

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace prep::image
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prep::image {
namespace {

HWY_EXPORT(dequantize_blocks);
HWY_EXPORT(quantize_blocks);
HWY_EXPORT(halve_down_blocks);
HWY_EXPORT(halve_across_blocks);
HWY_EXPORT(target_name);

constexpr int kLargestValue = 2047;
constexpr unsigned kMostTwoFrom = 32767;
constexpr unsigned kBitsOfTwo = 2;  // that a 2 takes more than a 1 does

}  // namespace

Dequantizer::Dequantizer(const QuantTable& steps) {
  for (std::size_t i = 0; i < 64; ++i) {
    // A table that never came may hold zeros, and what is clamped to 0 needs no factor that fits.
    const int step = std::max<int>(steps[i], 1);
    largest[i] = static_cast<std::int16_t>(kLargestValue / step);
    factor[i] = static_cast<std::int16_t>(largest[i] > 0 ? step * kDctFraction : 0);
  }
}

// n / divisor for n below 2^15 is n * reciprocal / 2^(16 + shift), rounded down, for shift the
// largest with 2^shift < divisor: the reciprocal, rounded up, then has 16 bits, and its error times
// n stays below 2^(16 + shift).
Quantizer::Quantizer(const QuantTable& steps, int bit_price) {
  for (std::size_t i = 0; i < 64; ++i) {
    const unsigned divisor = steps[i] * unsigned{kDctFraction};
    const int shift = std::bit_width(divisor - 1) - 1;
    half[i] = static_cast<std::uint16_t>((divisor - 1) / 2);
    reciprocal[i] = static_cast<std::uint16_t>(((1u << (16 + shift)) + divisor - 1) / divisor);
    rescale[i] = static_cast<std::uint16_t>(1u << (16 - shift));
    // A 2 instead of a 1 saves divisor * (2 * value - 3 * divisor) of squared error.
    const unsigned price = static_cast<unsigned>(bit_price) * kBitsOfTwo / kPriceFraction;
    two_from[i] = static_cast<std::int16_t>(
        std::min<unsigned>((3 * divisor + price / divisor + 1) / 2, kMostTwoFrom));
  }
  two_from[0] = 0;  // a DC level is coded as a difference, for which less is not shorter
}

void dequantize(const DctBlock* levels, std::size_t blocks, const Dequantizer& dequantizer,
                DctBlock* values) {
  HWY_DYNAMIC_DISPATCH(dequantize_blocks)(levels, blocks, dequantizer, values);
}

void quantize(const DctBlock* values, std::size_t blocks, const Quantizer& quantizer,
              DctBlock* levels, std::uint64_t* nonzero) {
  HWY_DYNAMIC_DISPATCH(quantize_blocks)(values, blocks, quantizer, levels, nonzero);
}

void halve_across(const DctBlock* in, std::size_t in_blocks, DctBlock* out) {
  HWY_DYNAMIC_DISPATCH(halve_across_blocks)(in, in_blocks, out);
}

void halve_down(const DctBlock* top, const DctBlock* bottom, std::size_t blocks, DctBlock* out) {
  HWY_DYNAMIC_DISPATCH(halve_down_blocks)(top, bottom, blocks, out);
}

void mirror_across(const DctBlock& in, DctBlock& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    out[i] = static_cast<std::int16_t>(i % 2 ? -in[i] : in[i]);
  }
}

void mirror_down(const DctBlock& in, DctBlock& out) {
  for (std::size_t i = 0; i < 64; ++i) {
    out[i] = static_cast<std::int16_t>(i / 8 % 2 ? -in[i] : in[i]);
  }
}

std::string_view dct_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace prep::image
#endif  // HWY_ONCE
