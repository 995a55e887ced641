// The number of lanes has to be known to the compiler, which SVE does not tell.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/remote/md5_lanes.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "lib/remote/md5_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace prep::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<std::uint32_t, Md5Lanes::kLanes>;
using V = hn::Vec<D>;

template <int bits>
HWY_INLINE V rotate_left(V v) {
  return hn::RotateRight<32 - bits>(v);
}

// One step: `mixed` is the round's function of b, c, d.
template <int bits>
HWY_INLINE void step(V& a, V b, V mixed, V word, std::uint32_t constant) {
  const V sum = hn::Add(hn::Add(a, mixed), hn::Add(word, hn::Set(D(), constant)));
  a = hn::Add(b, rotate_left<bits>(sum));
}

HWY_INLINE V f(V b, V c, V d) { return hn::IfVecThenElse(b, c, d); }
HWY_INLINE V g(V b, V c, V d) { return hn::IfVecThenElse(d, b, c); }
HWY_INLINE V h(V b, V c, V d) { return hn::Xor3(b, c, d); }
HWY_INLINE V i(V b, V c, V d) { return hn::Xor(c, hn::Or(b, hn::Not(d))); }

#define PREP_MD5_FOUR(mix, w0, w1, w2, w3, s0, s1, s2, s3, k0, k1, k2, k3) \
  step<s0>(a, b, mix(b, c, d), w[w0], k0);                                 \
  step<s1>(d, a, mix(a, b, c), w[w1], k1);                                 \
  step<s2>(c, d, mix(d, a, b), w[w2], k2);                                 \
  step<s3>(b, c, mix(c, d, a), w[w3], k3)

HWY_INLINE void digest_block(const V* HWY_RESTRICT w, V& a0, V& b0, V& c0, V& d0) {
  V a = a0, b = b0, c = c0, d = d0;
  PREP_MD5_FOUR(f, 0, 1, 2, 3, 7, 12, 17, 22, 0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee);
  PREP_MD5_FOUR(f, 4, 5, 6, 7, 7, 12, 17, 22, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501);
  PREP_MD5_FOUR(f, 8, 9, 10, 11, 7, 12, 17, 22, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be);
  PREP_MD5_FOUR(f, 12, 13, 14, 15, 7, 12, 17, 22, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821);
  PREP_MD5_FOUR(g, 1, 6, 11, 0, 5, 9, 14, 20, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa);
  PREP_MD5_FOUR(g, 5, 10, 15, 4, 5, 9, 14, 20, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8);
  PREP_MD5_FOUR(g, 9, 14, 3, 8, 5, 9, 14, 20, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed);
  PREP_MD5_FOUR(g, 13, 2, 7, 12, 5, 9, 14, 20, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a);
  PREP_MD5_FOUR(h, 5, 8, 11, 14, 4, 11, 16, 23, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c);
  PREP_MD5_FOUR(h, 1, 4, 7, 10, 4, 11, 16, 23, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70);
  PREP_MD5_FOUR(h, 13, 0, 3, 6, 4, 11, 16, 23, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05);
  PREP_MD5_FOUR(h, 9, 12, 15, 2, 4, 11, 16, 23, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665);
  PREP_MD5_FOUR(i, 0, 7, 14, 5, 6, 10, 15, 21, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039);
  PREP_MD5_FOUR(i, 12, 3, 10, 1, 6, 10, 15, 21, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1);
  PREP_MD5_FOUR(i, 8, 15, 6, 13, 6, 10, 15, 21, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1);
  PREP_MD5_FOUR(i, 4, 11, 2, 9, 6, 10, 15, 21, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391);
  a0 = hn::Add(a0, a);
  b0 = hn::Add(b0, b);
  c0 = hn::Add(c0, c);
  d0 = hn::Add(d0, d);
}

#undef PREP_MD5_FOUR

// As many lanes as a vector has, from `first` on.
void digest_lanes(std::uint32_t* HWY_RESTRICT state, std::size_t first,
                  const std::uint8_t* HWY_RESTRICT data, std::size_t stride, std::size_t blocks) {
  const D d;
  std::uint32_t* const s = state + first;
  constexpr std::size_t kLanes = Md5Lanes::kLanes;
  V a = hn::LoadU(d, s), b = hn::LoadU(d, s + kLanes), c = hn::LoadU(d, s + 2 * kLanes),
    e = hn::LoadU(d, s + 3 * kLanes);
  const hn::RebindToSigned<D> di;
  const auto lanes = hn::Mul(hn::Iota(di, static_cast<std::int32_t>(first)),
                             hn::Set(di, static_cast<std::int32_t>(stride / 4)));
  const auto* words = reinterpret_cast<const std::uint32_t*>(data);
  for (std::size_t block = 0; block < blocks; ++block, words += 16) {
    V w[16];
    for (std::size_t k = 0; k < 16; ++k) w[k] = hn::GatherIndex(d, words + k, lanes);
    digest_block(w, a, b, c, e);
  }
  hn::StoreU(a, d, s);
  hn::StoreU(b, d, s + kLanes);
  hn::StoreU(c, d, s + 2 * kLanes);
  hn::StoreU(e, d, s + 3 * kLanes);
}

}  // namespace

void digest_all(std::uint32_t* HWY_RESTRICT state, const std::uint8_t* HWY_RESTRICT data,
                std::size_t stride, std::size_t blocks) {
  for (std::size_t first = 0; first < Md5Lanes::kLanes; first += hn::Lanes(D())) {
    digest_lanes(state, first, data, stride, blocks);
  }
}

}  // namespace prep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace prep {

HWY_EXPORT(digest_all);

Md5Lanes::Md5Lanes() {
  constexpr std::array<std::uint32_t, 4> kStart = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t i = 0; i < kStart.size(); ++i) {
    std::fill_n(state_.begin() + static_cast<std::ptrdiff_t>(i * kLanes), kLanes, kStart[i]);
  }
}

void Md5Lanes::update(const std::uint8_t* data, std::size_t stride, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(digest_all)(state_.data(), data, stride, bytes / kBlock);
  length_ += bytes;
}

std::array<std::string, Md5Lanes::kLanes> Md5Lanes::finish(const std::uint8_t* data,
                                                           std::size_t stride, std::size_t bytes) {
  // The rest, a bit, zeros, and the length in bits; little-endian, as all machines are that this
  // runs on.
  constexpr std::size_t kTail = 2 * kBlock;
  alignas(std::uint32_t) std::array<std::uint8_t, kTail * kLanes> tails{};
  const std::size_t used = bytes + 9 <= kBlock ? kBlock : kTail;
  const std::uint64_t bits = 8 * (length_ + bytes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::uint8_t* const tail = tails.data() + lane * kTail;
    std::copy_n(data + lane * stride, bytes, tail);
    tail[bytes] = 0x80;
    std::memcpy(tail + used - sizeof bits, &bits, sizeof bits);
  }
  update(tails.data(), kTail, used);
  std::array<std::string, kLanes> digests;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t word = state_[i * kLanes + lane];
      digests[lane].append(reinterpret_cast<const char*>(&word), sizeof word);
    }
  }
  *this = {};
  return digests;
}

}  // namespace prep

#endif  // HWY_ONCE
