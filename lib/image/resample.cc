// Vertical first: that pass runs along the rows with full vectors, and what it leaves is smaller.
// It works in strips of 16 output rows. A strip is then turned by 90 degrees, in units of two
// neighbouring columns, so that the horizontal pass too has the same tap of 16 rows side by side
// and needs neither gathers nor shuffles, whatever the number of taps. Four outputs of 16 rows make
// a block of 4x16 bytes, which is turned back on the way out.
//
// Between the passes samples have 16 bits, some of them fractional; products are summed in pairs to
// 32 bits, exactly, and rounded once at the end of each pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/image/resample.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "hwy/highway.h"
#include "lib/core/error.h"
#include "lib/image/resample.h"

// What all instruction sets share.
#ifndef PREP_IMAGE_RESAMPLE_ONCE
#define PREP_IMAGE_RESAMPLE_ONCE
namespace prep::image {
namespace {

constexpr int kStripRows = 16;
constexpr int kMiddleBytes = 2;               // a sample between the passes
constexpr int kColumnBytes = 4 * kStripRows;  // a pair of samples, or four bytes, of 16 rows

// Everything that a strip's passes need to know, and their memory.
struct StripJob {
  ConstPlane in;
  Plane out;
  const FilterWeights* vertical = nullptr;
  const FilterWeights* horizontal = nullptr;
  int first_column = 0, columns = 0;  // the part of the input that the horizontal pass looks at
  int middle_bits = 0;                // fractional bits between the passes

  Plane rows;             // 16 rows of int16, channels interleaved
  Plane channel;          // one channel of these, where there are several
  Plane columns_of_rows;  // [column / 2][row] pairs of int16
  Plane quads;            // [x / 4][row] four bytes
  Plane result;           // 16 rows of bytes for each channel, where there are several
  std::vector<const std::uint8_t*> taps;
};

inline std::int16_t* samples(const Plane& plane, int row) {
  return reinterpret_cast<std::int16_t*>(plane.row(row));
}

inline std::int32_t weight_pair(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof pair);
  return pair;
}

// The input rows under output row `y`. A table may name the row past the end, with weight zero.
inline void find_taps(StripJob& job, int y) {
  const int first = job.vertical->first[static_cast<std::size_t>(y)];
  const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(job.first_column) * job.in.channels;
  for (int k = 0; k < job.vertical->taps; ++k) {
    job.taps[static_cast<std::size_t>(k)] =
        job.in.row(std::min(first + k, job.in.height - 1)) + skip;
  }
}

inline void blend_sample(const StripJob& job, const std::int16_t* weights, int x,
                         std::int16_t* out) {
  const int shift = job.vertical->bits - job.middle_bits;
  std::int32_t sum = 1 << (shift - 1);
  for (int k = 0; k < job.vertical->taps; ++k) {
    sum += weights[k] * job.taps[static_cast<std::size_t>(k)][x];
  }
  out[x] = static_cast<std::int16_t>(sum >> shift);
}

}  // namespace
}  // namespace prep::image
#endif  // PREP_IMAGE_RESAMPLE_ONCE

HWY_BEFORE_NAMESPACE();
namespace prep::image {
namespace {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Without vectors turning the strip would only cost: plain loops over the same sums.
void resample_strip(StripJob& job, int y0, int rows) {
  const FilterWeights& horizontal = *job.horizontal;
  const int channels = job.in.channels;
  const int shift = job.middle_bits + horizontal.bits;
  for (int r = 0; r < rows; ++r) {
    find_taps(job, y0 + r);
    std::int16_t* const middle = samples(job.rows, r);
    for (int x = 0; x < job.columns * channels; ++x) {
      blend_sample(job, job.vertical->of(y0 + r), x, middle);
    }
    std::uint8_t* to = job.out.row(y0 + r);
    for (int x = 0; x < job.out.width; ++x) {
      const std::int16_t* const weights = horizontal.of(x);
      const std::int16_t* const from =
          middle + (horizontal.first[static_cast<std::size_t>(x)] - job.first_column) * channels;
      for (int c = 0; c < channels; ++c) {
        std::int32_t sum = 1 << (shift - 1);
        for (int k = 0; k < horizontal.taps; ++k) sum += weights[k] * from[k * channels + c];
        *to++ = static_cast<std::uint8_t>(std::clamp(sum >> shift, 0, 255));
      }
    }
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

using Block16 = hn::FixedTag<std::int16_t, 8>;
using Block32 = hn::FixedTag<std::uint32_t, 4>;
using Block64 = hn::FixedTag<std::uint64_t, 2>;
using Block8 = hn::FixedTag<std::uint8_t, 16>;

// One vector of samples of an output row, from `kPairs` pairs of input rows (0: any number).
template <int kPairs, class D16>
HWY_INLINE void blend_vector(D16 d16, const std::uint8_t* const* taps, const std::int16_t* weights,
                             int any_pairs, int shift, std::size_t x, std::int16_t* out) {
  const hn::Rebind<std::uint8_t, D16> d8;
  const hn::RepartitionToWide<D16> d32;
  auto low = hn::Zero(d32), low_odd = hn::Zero(d32);
  auto high = hn::Zero(d32), high_odd = hn::Zero(d32);
  const int pairs = kPairs == 0 ? any_pairs : kPairs;
  for (int k = 0; k < pairs; ++k) {
    const auto a = hn::PromoteTo(d16, hn::LoadU(d8, taps[2 * k] + x));
    const auto b = hn::PromoteTo(d16, hn::LoadU(d8, taps[2 * k + 1] + x));
    const auto weight = hn::BitCast(d16, hn::Set(d32, weight_pair(weights + 2 * k)));
    low = hn::ReorderWidenMulAccumulate(d32, hn::InterleaveLower(d16, a, b), weight, low, low_odd);
    high =
        hn::ReorderWidenMulAccumulate(d32, hn::InterleaveUpper(d16, a, b), weight, high, high_odd);
  }
  const auto half = hn::Set(d32, 1 << (shift - 1));
  low = hn::ShiftRightSame(hn::Add(hn::RearrangeToOddPlusEven(low, low_odd), half), shift);
  high = hn::ShiftRightSame(hn::Add(hn::RearrangeToOddPlusEven(high, high_odd), half), shift);
  // Interleaving and demoting both work in blocks of 128 bits, so this is the input's order again.
  hn::StoreU(hn::ReorderDemote2To(d16, low, high), d16, out + x);
}

// One output row. The last vector overlaps the one before it, so that nothing past the row is read.
template <int kPairs>
void blend_row(const StripJob& job, const std::int16_t* weights, std::int16_t* out) {
  const hn::ScalableTag<std::int16_t> d16;
  const std::size_t n =
      static_cast<std::size_t>(job.columns) * static_cast<std::size_t>(job.in.channels);
  const std::uint8_t* const* taps = job.taps.data();
  const int pairs = job.vertical->taps / 2;
  const int shift = job.vertical->bits - job.middle_bits;
  const auto run = [&](auto d) HWY_ATTR {
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t x = 0; x + lanes <= n; x += lanes) {
      blend_vector<kPairs>(d, taps, weights, pairs, shift, x, out);
    }
    if (n % lanes != 0) blend_vector<kPairs>(d, taps, weights, pairs, shift, n - lanes, out);
  };
  if (n >= hn::Lanes(d16)) {
    run(d16);
  } else if (n >= hn::Lanes(Block16())) {
    run(Block16());
  } else {
    for (std::size_t x = 0; x < n; ++x) blend_sample(job, weights, static_cast<int>(x), out);
  }
}

void blend_rows(StripJob& job, int y0, int rows) {
  for (int r = 0; r < rows; ++r) {
    find_taps(job, y0 + r);
    const std::int16_t* const weights = job.vertical->of(y0 + r);
    std::int16_t* const out = samples(job.rows, r);
    switch (job.vertical->taps / 2) {
      case 1:
        blend_row<1>(job, weights, out);
        break;
      case 2:
        blend_row<2>(job, weights, out);
        break;
      case 3:
        blend_row<3>(job, weights, out);
        break;
      case 4:
        blend_row<4>(job, weights, out);
        break;
      default:
        blend_row<0>(job, weights, out);
    }
  }
}

// Takes channel `c` out of the strip's interleaved rows. Rows are padded, so that full vectors do.
void extract_channel(const StripJob& job, int c) {
  const Block16 d;
  const std::size_t channels = static_cast<std::size_t>(job.in.channels);
  for (int r = 0; r < kStripRows; ++r) {
    const std::int16_t* from = samples(job.rows, r);
    std::int16_t* to = samples(job.channel, r);
    for (int x = 0; x < job.columns; x += 8, from += 8 * channels, to += 8) {
      hn::Vec<Block16> v[4];
      if (channels == 2) {
        hn::LoadInterleaved2(d, from, v[0], v[1]);
      } else if (channels == 3) {
        hn::LoadInterleaved3(d, from, v[0], v[1], v[2]);
      } else {
        hn::LoadInterleaved4(d, from, v[0], v[1], v[2], v[3]);
      }
      hn::StoreU(v[c], d, to);
    }
  }
}

// Transposes 4x4 units of 32 bits. Addresses and strides are in bytes, of any alignment.
HWY_INLINE void transpose_block(const std::uint8_t* from, std::ptrdiff_t from_stride,
                                std::uint8_t* to, std::ptrdiff_t to_stride) {
  const Block8 d8;
  const Block32 d32;
  const Block64 d64;
  const auto load = [&](int i) HWY_ATTR {
    return hn::BitCast(d32, hn::LoadU(d8, from + i * from_stride));
  };
  const auto store = [&](int i, hn::Vec<Block64> v)
                         HWY_ATTR { hn::StoreU(hn::BitCast(d8, v), d8, to + i * to_stride); };
  const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d32, r0, r1));
  const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d32, r2, r3));
  const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d32, r0, r1));
  const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d32, r2, r3));
  store(0, hn::InterleaveLower(d64, low01, low23));
  store(1, hn::InterleaveUpper(d64, low01, low23));
  store(2, hn::InterleaveLower(d64, high01, high23));
  store(3, hn::InterleaveUpper(d64, high01, high23));
}

// Turns 16 rows of pairs of samples into columns of 16 pairs.
void rows_to_columns(const Plane& rows, const StripJob& job) {
  std::uint8_t* to = job.columns_of_rows.data;
  for (int x = 0; x < job.columns; x += 8, to += 4 * kColumnBytes) {
    for (int r = 0; r < kStripRows; r += 4) {
      transpose_block(rows.row(r) + x * kMiddleBytes, rows.stride, to + 4 * r, kColumnBytes);
    }
  }
}

// Sums for output x of as many rows as a vector has lanes of 32 bits; half is added for rounding.
template <int kPairs, class D32>
HWY_INLINE hn::Vec<D32> blend_columns(D32 d32, const std::int16_t* from,
                                      const std::int16_t* weights, int any_pairs, int half) {
  const hn::RepartitionToNarrow<D32> d16;
  auto sum = hn::Zero(d32), sum_odd = hn::Zero(d32);
  const int pairs = kPairs == 0 ? any_pairs : kPairs;
  for (int k = 0; k < pairs; ++k) {
    const auto weight = hn::BitCast(d16, hn::Set(d32, weight_pair(weights + 2 * k)));
    const auto column = hn::LoadU(d16, from + 2 * kStripRows * k);
    sum = hn::ReorderWidenMulAccumulate(d32, column, weight, sum, sum_odd);
  }
  return hn::Add(hn::RearrangeToOddPlusEven(sum, sum_odd), hn::Set(d32, half));
}

// Clamps four vectors of 32-bit samples, of outputs x to x + 3, to bytes, and puts the four outputs
// of a row side by side: lane r of the result is row r's.
template <class D32, class V>
HWY_INLINE hn::Vec<hn::Repartition<std::uint8_t, D32>> pack_quad(D32 /*d32*/, V x0, V x1, V x2,
                                                                 V x3) {
  const hn::RepartitionToNarrow<D32> d16;
  const hn::Repartition<std::uint8_t, D32> d8;
  const auto zero = hn::Zero(d16), most = hn::Set(d16, 255);
  const auto even = hn::Min(hn::Max(hn::ReorderDemote2To(d16, x0, x1), zero), most);
  const auto odd = hn::Min(hn::Max(hn::ReorderDemote2To(d16, x2, x3), zero), most);
  // Bytes of a block: x0 x2 of four rows, then x1 x3 of the same.
  const auto mixed = hn::BitCast(d8, hn::Or(even, hn::ShiftLeft<8>(odd)));
  alignas(16) static constexpr std::uint8_t kOrder[16] = {0, 8,  1, 9,  2, 10, 3, 11,
                                                          4, 12, 5, 13, 6, 14, 7, 15};
  return hn::TableLookupBytes(mixed, hn::LoadDup128(d8, kOrder));
}

// The horizontal pass over a strip that stands in columns; four outputs at a time.
template <int kPairs>
void blend_quads(const StripJob& job) {
  const hn::CappedTag<std::int32_t, kStripRows> d32;
  const hn::Repartition<std::uint8_t, decltype(d32)> d8;
  const FilterWeights& table = *job.horizontal;
  const int pairs = table.taps / 2;
  const int shift = job.middle_bits + table.bits;
  const int half = 1 << (shift - 1);
  const auto* columns = reinterpret_cast<const std::int16_t*>(job.columns_of_rows.data);
  std::uint8_t* to = job.quads.data;
  for (int x = 0; x < job.out.width; x += 4, to += kColumnBytes) {
    const std::int16_t* weights[4];
    const std::int16_t* from[4];
    for (int i = 0; i < 4; ++i) {
      const int at = std::min(x + i, job.out.width - 1);
      weights[i] = table.of(at);
      from[i] = columns + static_cast<std::ptrdiff_t>(table.first[static_cast<std::size_t>(at)] -
                                                      job.first_column) *
                              kStripRows;
    }
    for (std::size_t r = 0; r < kStripRows; r += hn::Lanes(d32)) {
      const auto output = [&](int i) HWY_ATTR {
        return hn::ShiftRightSame(
            blend_columns<kPairs>(d32, from[i] + 2 * r, weights[i], pairs, half), shift);
      };
      hn::StoreU(pack_quad(d32, output(0), output(1), output(2), output(3)), d8, to + 4 * r);
    }
  }
}

void blend_quads(const StripJob& job) {
  switch (job.horizontal->taps / 2) {
    case 1:
      return blend_quads<1>(job);
    case 2:
      return blend_quads<2>(job);
    case 3:
      return blend_quads<3>(job);
    case 4:
      return blend_quads<4>(job);
    default:
      return blend_quads<0>(job);
  }
}

// Turns up to 16 outputs back from quads in columns to pixels in rows.
void turn_back(const std::uint8_t* quads, std::uint8_t* to, std::ptrdiff_t stride, int rows,
               int width) {
  if (rows == kStripRows && width == 16) {
    for (int r = 0; r < kStripRows; r += 4) {
      transpose_block(quads + 4 * r, kColumnBytes, to + r * stride, stride);
    }
    return;
  }
  std::uint8_t turned[kStripRows][16];
  for (int r = 0; r < rows; r += 4) transpose_block(quads + 4 * r, kColumnBytes, turned[r], 16);
  for (int r = 0; r < rows; ++r) {
    std::memcpy(to + r * stride, turned[r], static_cast<std::size_t>(width));
  }
}

void quads_to_rows(const StripJob& job, std::uint8_t* to, std::ptrdiff_t stride, int rows) {
  const std::uint8_t* quads = job.quads.data;
  for (int x = 0; x < job.out.width; x += 16, quads += 4 * kColumnBytes) {
    turn_back(quads, to + x, stride, rows, std::min(16, job.out.width - x));
  }
}

// Puts the channels' rows together again.
void interleave_row(const StripJob& job, int r, std::uint8_t* to) {
  const Block8 d;
  const int channels = job.out.channels;
  const std::uint8_t* from[4] = {};
  for (int c = 0; c < channels; ++c) from[c] = job.result.row(c * kStripRows + r);
  int x = 0;
  for (; x + 16 <= job.out.width; x += 16, to += 16 * channels) {
    const auto load = [&](int c) HWY_ATTR { return hn::LoadU(d, from[c] + x); };
    if (channels == 2) {
      hn::StoreInterleaved2(load(0), load(1), d, to);
    } else if (channels == 3) {
      hn::StoreInterleaved3(load(0), load(1), load(2), d, to);
    } else {
      hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, to);
    }
  }
  for (; x < job.out.width; ++x) {
    for (int c = 0; c < channels; ++c) *to++ = from[c][x];
  }
}

void resample_strip(StripJob& job, int y0, int rows) {
  blend_rows(job, y0, rows);
  if (job.in.channels == 1) {
    rows_to_columns(job.rows, job);
    blend_quads(job);
    quads_to_rows(job, job.out.row(y0), job.out.stride, rows);
    return;
  }
  for (int c = 0; c < job.in.channels; ++c) {
    extract_channel(job, c);
    rows_to_columns(job.channel, job);
    blend_quads(job);
    quads_to_rows(job, job.result.row(c * kStripRows), job.result.stride, rows);
  }
  for (int r = 0; r < rows; ++r) interleave_row(job, r, job.out.row(y0 + r));
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

HWY_EXPORT(resample_strip);
HWY_EXPORT(target_name);

constexpr int kMaxWidth = 1 << 20;

// 255 * 1.7 (first pass) * 1.7 (second pass) * 2^21, and half for rounding, is below 2^31.
constexpr int kFirstPassBits = 22;
constexpr int kBothPassesBits = 21;
// 255 * 1.7 * 2^6 is below 2^15. A filter wide enough to need more bits of weight for itself
// averages over so many samples that their rounding does not show.
constexpr int kMostMiddleBits = 6, kFewestMiddleBits = 1;

// Gives the strip its memory. Samples past the end of a row get weight zero, but have to be there.
void allocate(StripJob& job, ResampleScratch& scratch) {
  const int samples_per_row = job.columns * job.in.channels;
  job.rows = scratch.rows.shape(samples_per_row * kMiddleBytes, kStripRows);
  std::memset(job.rows.data, 0, static_cast<std::size_t>(job.rows.stride) * kStripRows);
  job.columns_of_rows = scratch.columns.shape((job.columns + 7) / 8 * 4 * kColumnBytes, 1);
  job.quads = scratch.quads.shape((job.out.width + 15) / 16 * 4 * kColumnBytes, 1);
  if (job.in.channels > 1) {
    job.channel = scratch.channel.shape(job.columns * kMiddleBytes, kStripRows);
    job.result = scratch.result.shape(job.out.width, kStripRows * job.in.channels);
  }
  job.taps.resize(static_cast<std::size_t>(job.vertical->taps));
}

void set_columns(StripJob& job) {
  const auto [least, most] =
      std::minmax_element(job.horizontal->first.begin(), job.horizontal->first.end());
  job.first_column = *least;
  job.columns = std::min(*most + job.horizontal->taps, job.in.width) - *least;
}

bool is_copy(const ConstPlane& in, const Box& box, const Plane& out) {
  return box.left == 0 && box.top == 0 && box.width == in.width && box.height == in.height &&
         in.width == out.width && in.height == out.height;
}

void copy_rows(const ConstPlane& in, const Plane& out) {
  const auto bytes = static_cast<std::size_t>(in.width) * static_cast<std::size_t>(in.channels);
  for (int y = 0; y < in.height; ++y) std::memcpy(out.row(y), in.row(y), bytes);
}

void check(const ConstPlane& in, const Box& box, const Plane& out) {
  if (in.width > kMaxWidth || out.width > kMaxWidth) {
    fail(Code::limit, "{} pixels wide; the limit is {}", std::max(in.width, out.width), kMaxWidth);
  }
  const bool sound = in.width > 0 && in.height > 0 && out.width > 0 && out.height > 0 &&
                     in.channels == out.channels && in.channels >= 1 && in.channels <= 4 &&
                     box.width > 0 && box.height > 0;
  if (!sound) fail(Code::internal, "resample: no such planes");
}

// For each output sample, the input sample under its centre.
std::vector<int> nearest_samples(double start, double length, int in_size, int out_size) {
  std::vector<int> from(static_cast<std::size_t>(out_size));
  for (int x = 0; x < out_size; ++x) {
    const double at = std::floor(start + (x + 0.5) * length / out_size);
    from[static_cast<std::size_t>(x)] = static_cast<int>(std::clamp(at, 0.0, in_size - 1.0));
  }
  return from;
}

// A compile-time number of bytes makes each copy one load and one store.
template <int kBytes>
void pick(const std::uint8_t* in, const std::vector<int>& from, int any_bytes, std::uint8_t* out) {
  const auto bytes = static_cast<std::size_t>(kBytes == 0 ? any_bytes : kBytes);
  for (const int x : from) {
    std::memcpy(out, in + static_cast<std::size_t>(x) * bytes, bytes);
    out += bytes;
  }
}

void pick_row(const std::uint8_t* in, const std::vector<int>& from, int bytes, std::uint8_t* out) {
  switch (bytes) {
    case 1:
      return pick<1>(in, from, bytes, out);
    case 2:
      return pick<2>(in, from, bytes, out);
    case 3:
      return pick<3>(in, from, bytes, out);
    case 4:
      return pick<4>(in, from, bytes, out);
    case 8:
      return pick<8>(in, from, bytes, out);
    default:
      return pick<0>(in, from, bytes, out);
  }
}

}  // namespace

const FilterWeights& WeightCache::get(const AxisMapping& axis, int max_bits, bool even_first) {
  Entry* oldest = &entries_[0];
  for (Entry& entry : entries_) {
    if (entry.axis == axis && entry.max_bits == max_bits && entry.even_first == even_first) {
      entry.last_used = ++clock_;
      return entry.weights;
    }
    if (entry.last_used < oldest->last_used) oldest = &entry;
  }
  *oldest = {axis, max_bits, even_first, ++clock_, make_filter_weights(axis, max_bits, even_first)};
  return oldest->weights;
}

void resample(const ConstPlane& in, const Box& box, Filter filter, const Plane& out,
              ResampleScratch& scratch) {
  check(in, box, out);
  if (is_copy(in, box, out)) return copy_rows(in, out);
  StripJob job;
  job.in = in;
  job.out = out;
  job.horizontal =
      &scratch.weights.get({in.width, box.left, box.width, out.width, filter, box.picture_right},
                           kBothPassesBits - kFewestMiddleBits, true);
  job.vertical =
      &scratch.weights.get({in.height, box.top, box.height, out.height, filter, box.picture_bottom},
                           kFirstPassBits, false);
  job.middle_bits = std::min(kMostMiddleBits, kBothPassesBits - job.horizontal->bits);
  set_columns(job);
  allocate(job, scratch);
  for (int y = 0; y < out.height; y += kStripRows) {
    HWY_DYNAMIC_DISPATCH(resample_strip)(job, y, std::min(kStripRows, out.height - y));
  }
}

void resample_nearest(const ConstPlane& in, const Box& box, int bytes_per_pixel, const Plane& out) {
  const std::vector<int> columns = nearest_samples(box.left, box.width, in.width, out.width);
  const std::vector<int> rows = nearest_samples(box.top, box.height, in.height, out.height);
  for (int y = 0; y < out.height; ++y) {
    pick_row(in.row(rows[static_cast<std::size_t>(y)]), columns, bytes_per_pixel, out.row(y));
  }
}

std::string_view resample_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace prep::image
#endif  // HWY_ONCE
