// A batch is as many frames as a vector has lanes, turned so that a vector holds the same sample of
// each. From there on detrending, window, transform and power are the same operations as for one
// frame, without a shuffle, and the spectrum comes out with times side by side, as it is wanted.
//
// The transform of n = 2m real samples is one of the m complex values x[2j] + i x[2j + 1]; an odd
// number is transformed with imaginary parts of zero.
//
// The number of lanes has to be known to the compiler, which SVE does not tell.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lib/signal/stft.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
//
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"
#include "lib/core/error.h"
#include "lib/signal/fft-inl.h"
#include "lib/signal/stft.h"
#include "lib/signal/unit_circle.h"

// What all instruction sets share.
#ifndef PREP_SIGNAL_STFT_ONCE
#define PREP_SIGNAL_STFT_ONCE
namespace prep::signal {

template <typename T>
struct StftTables {
  explicit StftTables(const StftSettings& of);

  bool even() const { return settings.nfft % 2 == 0; }
  // In an array of vectors, the places from one sample to the next: imaginary parts lie between.
  std::size_t sample_step() const { return even() ? 1 : 2; }
  std::int64_t frame_length() const {
    return static_cast<std::int64_t>(settings.window_centred ? settings.nfft : settings.nperseg);
  }
  std::int64_t padding() const { return settings.center == Center::none ? 0 : frame_length() / 2; }
  // The first sample under the window of a frame; negative within the padding.
  std::int64_t start(std::int64_t frame) const {
    return frame * static_cast<std::int64_t>(settings.hop) - padding() +
           static_cast<std::int64_t>(left);
  }
  T power_factor(std::size_t bin) const {
    const bool stands_for_two = bin != 0 && 2 * bin != settings.nfft;
    return settings.scaling != Scaling::none && stands_for_two ? T{2} : T{1};
  }

  StftSettings settings;
  std::size_t left = 0;   // zeros before the window
  std::vector<T> window;  // with the scaling in it, and a half where the transform is split
  FftPlan<T> plan;
  std::vector<T> split;  // exp(-2 pi i k / nfft) for k <= nfft / 4, nfft being even
  double middle = 0;     // (nperseg - 1) / 2
  double spread = 1;     // sum over n of (n - middle)^2
};

namespace {

template <typename T>
struct StftCall {
  const StftTables<T>* tables;
  ChannelPart<T> part;
  Range frames, bins;
  T* out;
  std::size_t row_stride;  // in T
  std::vector<std::int64_t>* touched;
};

// The frames [first, first + count) of a batch, and where their bins go.
template <typename T>
struct Batch {
  std::int64_t first;
  std::size_t count;
  T* out;
  std::size_t row_stride;
};

// Memory of one call, for batches of `lanes` frames.
template <typename T>
struct StftMemory {
  StftMemory(const StftCall<T>& call, std::size_t lanes)
      : values(hwy::AllocateAligned<T>(2 * lanes * call.tables->plan.buffer_length)),
        spare(hwy::AllocateAligned<T>(2 * lanes * call.tables->plan.buffer_length)) {
    if (!values || !spare) throw std::bad_alloc();
  }
  hwy::AlignedFreeUniquePtr<T[]> values, spare;
  std::vector<T> frames;  // copies, where frames reach past the signal or are too few
  std::vector<T> bins;    // of a batch that is not full
};

// Sample `index` of the signal with its padding.
template <typename T>
T padded_sample(const ChannelPart<T>& part, Center center, std::int64_t index) {
  if (index < 0 || index >= part.total) {
    if (center != Center::reflect) return T{0};
    index = index < 0 ? -index : 2 * (part.total - 1) - index;
  }
  return part.samples[static_cast<std::size_t>(index - part.first)];
}

// Copies each frame, the last one again and again in place of those that are not there.
template <typename T>
void copy_frames(const StftCall<T>& call, const Batch<T>& batch, std::size_t lanes,
                 std::vector<T>& frames) {
  const StftTables<T>& tables = *call.tables;
  const std::size_t length = tables.settings.nperseg;
  frames.resize(lanes * length);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t frame = std::min(lane, batch.count - 1);
    const std::int64_t start = tables.start(batch.first + static_cast<std::int64_t>(frame));
    for (std::size_t i = 0; i < length; ++i) {
      frames[lane * length + i] =
          padded_sample(call.part, tables.settings.center, start + static_cast<std::int64_t>(i));
    }
  }
}

// Where a batch's frames begin, and how far they are apart.
template <typename T>
struct FrameView {
  const T* first;
  std::size_t step;
};

template <typename T>
FrameView<T> view_frames(const StftCall<T>& call, const Batch<T>& batch, std::size_t lanes,
                         std::vector<T>& frames) {
  const StftSettings& settings = call.tables->settings;
  const std::int64_t start = call.tables->start(batch.first) - call.part.first;
  const std::int64_t end =
      start + static_cast<std::int64_t>((lanes - 1) * settings.hop + settings.nperseg);
  if (batch.count == lanes && start >= 0 &&
      end <= static_cast<std::int64_t>(call.part.samples.size())) {
    return {call.part.samples.data() + start, settings.hop};
  }
  copy_frames(call, batch, lanes, frames);
  return {frames.data(), settings.nperseg};
}

template <typename T>
void copy_bins(const StftCall<T>& call, const Batch<T>& from, std::size_t values_per_bin, T* to) {
  for (std::int64_t bin = 0; bin < call.bins.size(); ++bin) {
    const auto row = static_cast<std::size_t>(bin);
    std::copy_n(from.out + row * from.row_stride, from.count * values_per_bin,
                to + row * call.row_stride);
  }
}

template <typename T>
void spoil_frame(const StftCall<T>& call, const Batch<T>& batch, std::size_t lane,
                 std::size_t values_per_bin) {
  for (std::int64_t bin = 0; bin < call.bins.size(); ++bin) {
    std::fill_n(
        batch.out + static_cast<std::size_t>(bin) * batch.row_stride + lane * values_per_bin,
        values_per_bin, std::numeric_limits<T>::quiet_NaN());
  }
  if (call.touched != nullptr)
    call.touched->push_back(batch.first + static_cast<std::int64_t>(lane));
}

}  // namespace
}  // namespace prep::signal
#endif  // PREP_SIGNAL_STFT_ONCE

HWY_BEFORE_NAMESPACE();
namespace prep::signal {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The lanes of a vector in double: one vector, or two where T is float.
#if HWY_TARGET == HWY_SCALAR
template <class D>
inline constexpr std::size_t kWideParts = 1;
#else
template <class D>
inline constexpr std::size_t kWideParts = sizeof(double) / sizeof(hn::TFromD<D>);
#endif

template <class D>
using WideTag = hn::Simd<double, hn::MaxLanes(D()) / kWideParts<D>, 0>;

template <class D>
struct Wide {
  static constexpr std::size_t kParts = kWideParts<D>;
  hn::VFromD<WideTag<D>> part[kParts];
};

template <class D>
HWY_INLINE Wide<D> widen(D, hn::VFromD<D> v) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return {{v}};
  } else {
    const WideTag<D> wide;
#if HWY_TARGET == HWY_SCALAR
    return {{hn::PromoteTo(wide, v)}};
#else
    const hn::Half<D> half;
    return {
        {hn::PromoteTo(wide, hn::LowerHalf(half, v)), hn::PromoteTo(wide, hn::UpperHalf(half, v))}};
#endif
  }
}

template <class D>
HWY_INLINE hn::VFromD<D> narrow(D d, const Wide<D>& v) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(double)) {
    return v.part[0];
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::DemoteTo(d, v.part[0]);
#else
    const hn::Half<D> half;
    return hn::Combine(d, hn::DemoteTo(half, v.part[1]), hn::DemoteTo(half, v.part[0]));
#endif
  }
}

template <class D>
HWY_INLINE void add_to(Wide<D>& sum, const Wide<D>& v) {
  for (std::size_t i = 0; i < Wide<D>::kParts; ++i) sum.part[i] = hn::Add(sum.part[i], v.part[i]);
}

template <class D>
HWY_INLINE Wide<D> difference(const Wide<D>& a, const Wide<D>& b) {
  Wide<D> result;
  for (std::size_t i = 0; i < Wide<D>::kParts; ++i) {
    result.part[i] = hn::Sub(a.part[i], b.part[i]);
  }
  return result;
}

template <class D>
HWY_INLINE Wide<D> times(const Wide<D>& v, double factor) {
  Wide<D> result;
  const auto by = hn::Set(WideTag<D>(), factor);
  for (std::size_t i = 0; i < Wide<D>::kParts; ++i) result.part[i] = hn::Mul(v.part[i], by);
  return result;
}

// Sums over the samples of each lane, in four strands to hide the latency of the addition.
template <class D>
struct Strands {
  Wide<D> strand[4];
};

// Not a constructor: one that the compiler writes lacks the instruction set.
template <class D>
HWY_INLINE void clear(Strands<D>& sum) {
  for (Wide<D>& strand : sum.strand) {
    for (auto& part : strand.part) part = hn::Zero(WideTag<D>());
  }
}

template <class D>
HWY_INLINE Wide<D> total(Strands<D>& sum) {
  add_to<D>(sum.strand[0], sum.strand[1]);
  add_to<D>(sum.strand[2], sum.strand[3]);
  add_to<D>(sum.strand[0], sum.strand[2]);
  return sum.strand[0];
}

// The samples of a batch, one vector each, some way apart.
template <class D>
struct Samples {
  hn::TFromD<D>* first;
  std::size_t step, count;

  HWY_INLINE hn::TFromD<D>* at(std::size_t i) const { return first + i * step; }
};

template <class D>
HWY_INLINE Wide<D> sum_of(D d, const Samples<D>& samples) {
  Strands<D> sum;
  clear(sum);
  std::size_t i = 0;
  for (; i + 4 <= samples.count; i += 4) {
    for (std::size_t s = 0; s < 4; ++s) {
      add_to<D>(sum.strand[s], widen(d, hn::Load(d, samples.at(i + s))));
    }
  }
  for (; i < samples.count; ++i) {
    add_to<D>(sum.strand[i % 4], widen(d, hn::Load(d, samples.at(i))));
  }
  return total(sum);
}

// The sum over i of (i - middle) x[i].
template <class D>
HWY_INLINE Wide<D> moment_of(D d, const Samples<D>& samples, double middle) {
  Strands<D> sum;
  clear(sum);
  for (std::size_t i = 0; i < samples.count; ++i) {
    const Wide<D> sample = widen(d, hn::Load(d, samples.at(i)));
    add_to<D>(sum.strand[i % 4], times<D>(sample, static_cast<double>(i) - middle));
  }
  return total(sum);
}

template <Detrend kDetrend, class D, typename T = hn::TFromD<D>>
HWY_INLINE void apply_window(D d, const StftTables<T>& tables, const Samples<D>& samples,
                             const Wide<D>& mean, const Wide<D>& slope) {
  for (std::size_t i = 0; i < samples.count; ++i) {
    auto v = hn::Load(d, samples.at(i));
    if constexpr (kDetrend != Detrend::none) {
      Wide<D> trend = mean;
      if constexpr (kDetrend == Detrend::linear) {
        add_to<D>(trend, times<D>(slope, static_cast<double>(i) - tables.middle));
      }
      v = narrow(d, difference<D>(widen(d, v), trend));
    }
    hn::Store(hn::Mul(v, hn::Set(d, tables.window[i])), d, samples.at(i));
  }
}

// Detrends and multiplies with the window. Returns the lanes' sums: not finite where a sample
// isn't.
template <class D, typename T = hn::TFromD<D>>
Wide<D> prepare(D d, const StftTables<T>& tables, const Samples<D>& samples) {
  const Wide<D> sum = sum_of(d, samples);
  const Wide<D> mean = times<D>(sum, 1.0 / static_cast<double>(samples.count));
  switch (tables.settings.detrend) {
    case Detrend::none:
      apply_window<Detrend::none>(d, tables, samples, mean, mean);
      break;
    case Detrend::constant:
      apply_window<Detrend::constant>(d, tables, samples, mean, mean);
      break;
    case Detrend::linear: {
      const Wide<D> moment = moment_of(d, samples, tables.middle);
      apply_window<Detrend::linear>(d, tables, samples, mean,
                                    times<D>(moment, 1.0 / tables.spread));
    }
  }
  return sum;
}

#if HWY_TARGET == HWY_SCALAR

template <class D, typename T = hn::TFromD<D>>
void load_frames(D, const FrameView<T>& view, const Samples<D>& samples) {
  for (std::size_t i = 0; i < samples.count; ++i) *samples.at(i) = view.first[i];
}

#else

// Loads a block of 16 bytes from each `step`-th sample on into one vector.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::VFromD<D> load_blocks(D d, const T* first, std::size_t step) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) <= 16) {
    return hn::LoadU(d, first);
  } else {
    const hn::Half<D> half;
    const std::size_t blocks = hn::MaxLanes(half) * sizeof(T) / 16;
    return hn::Combine(d, load_blocks(half, first + blocks * step, step),
                       load_blocks(half, first, step));
  }
}

// Turns four samples (two in double) of every frame into as many vectors.
HWY_INLINE void turn(hn::ScalableTag<float> d, const float* first, std::size_t step, float* out,
                     std::size_t out_step) {
  const auto a = load_blocks(d, first, 4 * step);
  const auto b = load_blocks(d, first + step, 4 * step);
  const auto c = load_blocks(d, first + 2 * step, 4 * step);
  const auto e = load_blocks(d, first + 3 * step, 4 * step);
  const auto ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
  const auto be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
  hn::Store(hn::InterleaveLower(d, ac_low, be_low), d, out);
  hn::Store(hn::InterleaveUpper(d, ac_low, be_low), d, out + out_step);
  hn::Store(hn::InterleaveLower(d, ac_high, be_high), d, out + 2 * out_step);
  hn::Store(hn::InterleaveUpper(d, ac_high, be_high), d, out + 3 * out_step);
}

HWY_INLINE void turn(hn::ScalableTag<double> d, const double* first, std::size_t step, double* out,
                     std::size_t out_step) {
  const auto a = load_blocks(d, first, 2 * step);
  const auto b = load_blocks(d, first + step, 2 * step);
  hn::Store(hn::InterleaveLower(d, a, b), d, out);
  hn::Store(hn::InterleaveUpper(d, a, b), d, out + out_step);
}

template <class D, typename T = hn::TFromD<D>>
void load_frames(D d, const FrameView<T>& view, const Samples<D>& samples) {
  constexpr std::size_t kBlock = 16 / sizeof(T);
  std::size_t i = 0;
  for (; i + kBlock <= samples.count; i += kBlock) {
    turn(d, view.first + i, view.step, samples.at(i), samples.step);
  }
  for (; i < samples.count; ++i) {
    for (std::size_t lane = 0; lane < hn::MaxLanes(d); ++lane) {
      samples.at(i)[lane] = view.first[lane * view.step + i];
    }
  }
}

#endif

// Writes the transform's values to their rows, as the mode has them.
template <Mode kMode, class D, typename T = hn::TFromD<D>>
struct BinWriter {
  const StftTables<T>& tables;
  std::size_t first, last;
  T* out;
  std::size_t row_stride;

  HWY_INLINE void write(D d, std::size_t bin, const ComplexVector<D>& x) const {
    if (bin < first || bin >= last) return;
    T* const row = out + (bin - first) * row_stride;
    if constexpr (kMode == Mode::complex) {
      hn::StoreInterleaved2(x.re, x.im, d, row);
    } else {
      const auto power = hn::Add(hn::Mul(x.re, x.re), hn::Mul(x.im, x.im));
      if constexpr (kMode == Mode::psd) {
        hn::StoreU(hn::Mul(power, hn::Set(d, tables.power_factor(bin))), d, row);
      } else {
        hn::StoreU(hn::Sqrt(power), d, row);
      }
    }
  }
};

// With Z the transform of x[2j] + i x[2j + 1], halved: the even samples' transform is
// Z[k] + conj Z[m - k], the odd samples' is -i (Z[k] - conj Z[m - k]).
template <class D, class Writer, typename T = hn::TFromD<D>>
HWY_INLINE void write_split(D d, const StftTables<T>& tables, const T* spectrum,
                            const Writer& writer) {
  const std::size_t m = tables.settings.nfft / 2;
  for (std::size_t k = 0; k <= m / 2; ++k) {
    const ComplexVector<D> a = load_complex(d, spectrum, k);
    ComplexVector<D> b = load_complex(d, spectrum, k == 0 ? 0 : m - k);
    b.im = hn::Neg(b.im);
    const ComplexVector<D> even = add<D>(a, b);
    const ComplexVector<D> odd =
        multiply<D>(subtract<D>(a, b), broadcast(d, tables.split.data() + 2 * k));
    writer.write(d, k, subtract_i_times<D>(even, odd));
    if (k == m - k) break;
    ComplexVector<D> mirrored = add_i_times<D>(even, odd);
    mirrored.im = hn::Neg(mirrored.im);
    writer.write(d, m - k, mirrored);
  }
}

template <Mode kMode, class D, typename T = hn::TFromD<D>>
HWY_INLINE void write_bins(D d, const StftCall<T>& call, const Batch<T>& batch, const T* spectrum) {
  const BinWriter<kMode, D> writer{*call.tables, static_cast<std::size_t>(call.bins.first),
                                   static_cast<std::size_t>(call.bins.last), batch.out,
                                   batch.row_stride};
  if (call.tables->even()) return write_split(d, *call.tables, spectrum, writer);
  for (std::size_t k = writer.first; k < writer.last; ++k) {
    writer.write(d, k, load_complex(d, spectrum, k));
  }
}

template <class D, typename T = hn::TFromD<D>>
void write_bins(D d, const StftCall<T>& call, const Batch<T>& batch, const T* spectrum) {
  switch (call.tables->settings.mode) {
    case Mode::psd:
      return write_bins<Mode::psd>(d, call, batch, spectrum);
    case Mode::magnitude:
      return write_bins<Mode::magnitude>(d, call, batch, spectrum);
    case Mode::complex:
      return write_bins<Mode::complex>(d, call, batch, spectrum);
  }
}

template <class D, typename T = hn::TFromD<D>>
void spoil_frames(D, const StftCall<T>& call, const Batch<T>& batch, const Wide<D>& sums,
                  std::size_t values_per_bin) {
  const WideTag<D> wide;
  HWY_ALIGN double sum[hn::MaxLanes(D())];
  for (std::size_t i = 0; i < Wide<D>::kParts; ++i) {
    hn::Store(sums.part[i], wide, sum + i * hn::MaxLanes(wide));
  }
  for (std::size_t lane = 0; lane < batch.count; ++lane) {
    if (!std::isfinite(sum[lane])) spoil_frame(call, batch, lane, values_per_bin);
  }
}

template <class D, typename T = hn::TFromD<D>>
void transform_batch(D d, const StftCall<T>& call, const Batch<T>& batch, StftMemory<T>& memory) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const StftTables<T>& tables = *call.tables;
  const std::size_t step = tables.sample_step() * kLanes;
  T* const values = memory.values.get();
  if (tables.settings.nperseg < tables.settings.nfft || !tables.even()) {
    std::fill_n(values, tables.settings.nfft * step, T{0});
  }
  const Samples<D> samples{values + tables.left * step, step, tables.settings.nperseg};
  load_frames(d, view_frames(call, batch, kLanes, memory.frames), samples);
  const Wide<D> sums = prepare(d, tables, samples);
  write_bins(d, call, batch, fft(d, tables.plan, values, memory.spare.get()));
  spoil_frames(d, call, batch, sums, tables.settings.mode == Mode::complex ? 2 : 1);
}

template <class D, typename T = hn::TFromD<D>>
void transform_frames(D d, const StftCall<T>& call) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  const std::size_t values_per_bin = call.tables->settings.mode == Mode::complex ? 2 : 1;
  StftMemory<T> memory(call, kLanes);
  T* out = call.out;
  for (std::int64_t frame = call.frames.first; frame < call.frames.last;) {
    const auto count = std::min(static_cast<std::size_t>(call.frames.last - frame), kLanes);
    Batch<T> batch{frame, count, out, call.row_stride};
    if (count < kLanes) {
      batch.row_stride = kLanes * values_per_bin;
      memory.bins.resize(static_cast<std::size_t>(call.bins.size()) * batch.row_stride);
      batch.out = memory.bins.data();
    }
    transform_batch(d, call, batch, memory);
    if (count < kLanes) copy_bins(call, batch, values_per_bin, out);
    frame += static_cast<std::int64_t>(count);
    out += count * values_per_bin;
  }
}

void transform_float(const StftCall<float>& call) {
  transform_frames(hn::ScalableTag<float>(), call);
}
void transform_double(const StftCall<double>& call) {
  transform_frames(hn::ScalableTag<double>(), call);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace prep::signal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace prep::signal {
namespace {

HWY_EXPORT(transform_float);
HWY_EXPORT(transform_double);
HWY_EXPORT(target_name);

constexpr std::size_t kMaxHop = std::size_t{1} << 40;  // products with it stay within 64 bits

void check(const StftSettings& settings) {
  const auto& [rate, window, nperseg, hop, nfft, detrend, centred, center, scaling, mode] =
      settings;
  if (!(rate > 0 && std::isfinite(rate))) fail(Code::usage, "no sampling rate can be {} Hz", rate);
  if (nfft > kMaxTransform) {
    fail(Code::usage, "--nfft {}: the longest transform is {}", nfft, kMaxTransform);
  }
  if (nperseg < 1) fail(Code::usage, "--nperseg 0: a frame has a sample at least");
  if (nfft < nperseg) {
    fail(Code::usage, "--nfft {}: less than the {} samples of a frame (--nperseg)", nfft, nperseg);
  }
  if (hop > kMaxHop) fail(Code::usage, "--hop {}: the most is {}", hop, kMaxHop);
  if (hop < 1) fail(Code::usage, "--hop 0: the next frame must begin a sample later at least");
}

// sqrt(c), see stft.h.
double amplitude_factor(const StftSettings& settings, const std::vector<double>& window) {
  long double sum = 0, squares = 0;
  for (const long double w : window) {
    sum += w;
    squares += w * w;
  }
  switch (settings.scaling) {
    case Scaling::density:
      return static_cast<double>(1 / std::sqrt(settings.rate * squares));
    case Scaling::spectrum:
      return static_cast<double>(1 / std::fabs(sum));
    case Scaling::none:
      return 1;
  }
  return 1;
}

std::int64_t mirror_end(std::int64_t index, std::int64_t total) { return 2 * (total - 1) - index; }

}  // namespace

template <typename T>
StftTables<T>::StftTables(const StftSettings& of)
    : settings(of),
      left(of.window_centred ? (of.nfft - of.nperseg) / 2 : 0),
      plan(of.nfft % 2 == 0 ? of.nfft / 2 : of.nfft) {
  const std::vector<double> unscaled = make_window(of.window, of.nperseg);
  const double factor = amplitude_factor(of, unscaled) * (even() ? 0.5 : 1.0);
  for (const double w : unscaled) window.push_back(static_cast<T>(w * factor));
  if (even()) {
    for (std::size_t k = 0; k <= of.nfft / 4; ++k) {
      const UnitPoint point = unit_point(k, of.nfft);
      split.push_back(static_cast<T>(point.cosine));
      split.push_back(static_cast<T>(-point.sine));
    }
  }
  const auto n = static_cast<double>(of.nperseg);
  middle = (n - 1) / 2;
  spread = of.nperseg > 1 ? n * (n * n - 1) / 12 : 1;
}

namespace {

const StftSettings& checked(const StftSettings& settings) {
  check(settings);
  return settings;
}

template <typename T>
void transform(const StftCall<T>& call) {
  if constexpr (sizeof(T) == sizeof(float)) {
    HWY_DYNAMIC_DISPATCH(transform_float)(call);
  } else {
    HWY_DYNAMIC_DISPATCH(transform_double)(call);
  }
}

template <typename T>
void run_checked(const Stft<T>& stft, const StftCall<T>& call) {
  const Range needed = stft.samples_for(call.frames, call.part.total);
  const std::int64_t end = call.part.first + static_cast<std::int64_t>(call.part.samples.size());
  const bool sound =
      call.bins.first >= 0 && call.bins.first <= call.bins.last &&
      call.bins.last <= static_cast<std::int64_t>(stft.bins()) && call.frames.first >= 0 &&
      call.frames.first <= call.frames.last && call.frames.last <= stft.frames(call.part.total) &&
      call.part.first >= 0 && end <= call.part.total &&
      (needed.size() == 0 || (call.part.first <= needed.first && needed.last <= end));
  if (!sound) fail(Code::internal, "spectrogram: no such frames");
  transform(call);
}

}  // namespace

template <typename T>
Stft<T>::Stft(const StftSettings& settings)
    : tables_(std::make_shared<const StftTables<T>>(checked(settings))) {}

template <typename T>
const StftSettings& Stft<T>::settings() const {
  return tables_->settings;
}

template <typename T>
double Stft<T>::frequency(std::size_t bin) const {
  return static_cast<double>(bin) * settings().rate / static_cast<double>(settings().nfft);
}

template <typename T>
double Stft<T>::time(std::int64_t frame) const {
  const double start = static_cast<double>(frame) * static_cast<double>(settings().hop);
  const double middle =
      settings().center == Center::none ? static_cast<double>(tables_->frame_length()) / 2 : 0;
  return (start + middle) / settings().rate;
}

template <typename T>
std::int64_t Stft<T>::frames(std::int64_t samples) const {
  // Mirroring needs as many samples as it makes, and the edge.
  if (settings().center == Center::reflect && samples <= tables_->padding()) return 0;
  const std::int64_t room = samples + 2 * tables_->padding() - tables_->frame_length();
  if (samples < 1 || room < 0) return 0;
  return 1 + room / static_cast<std::int64_t>(settings().hop);
}

template <typename T>
void Stft<T>::check_length(std::int64_t samples) const {
  if (frames(samples) > 0) return;
  const std::int64_t padding = tables_->padding();
  const std::int64_t least =
      std::max({std::int64_t{1}, tables_->frame_length() - 2 * padding,
                settings().center == Center::reflect ? padding + 1 : std::int64_t{1}});
  fail(Code::unsupported, "{} samples are too few: one frame takes {}", samples, least);
}

template <typename T>
Range Stft<T>::samples_for(Range frames, std::int64_t total) const {
  if (frames.size() <= 0) return {};
  const std::int64_t first = tables_->start(frames.first);
  const std::int64_t last =
      tables_->start(frames.last - 1) + static_cast<std::int64_t>(settings().nperseg);
  Range range{std::clamp<std::int64_t>(first, 0, total), std::clamp<std::int64_t>(last, 0, total)};
  if (settings().center != Center::reflect) return range;
  if (first < 0) {
    range.first = std::min(range.first, std::max<std::int64_t>(0, 1 - last));
    range.last = std::max(range.last, std::min(total, 1 - first));
  }
  if (last > total) {
    range.first = std::min(range.first, std::max<std::int64_t>(0, mirror_end(last - 1, total)));
    range.last = std::max(range.last, std::min(total, mirror_end(first, total) + 1));
  }
  return range;
}

template <typename T>
void Stft<T>::run(const ChannelPart<T>& part, Range frames, Range bins, T* out,
                  std::size_t row_stride, std::vector<std::int64_t>* touched) const {
  if (settings().mode == Mode::complex) fail(Code::internal, "spectrogram: complex bins to reals");
  run_checked(*this, {tables_.get(), part, frames, bins, out, row_stride, touched});
}

template <typename T>
void Stft<T>::run(const ChannelPart<T>& part, Range frames, Range bins, std::complex<T>* out,
                  std::size_t row_stride, std::vector<std::int64_t>* touched) const {
  if (settings().mode != Mode::complex) fail(Code::internal, "spectrogram: reals to complex bins");
  run_checked(*this, {tables_.get(), part, frames, bins, reinterpret_cast<T*>(out), 2 * row_stride,
                      touched});
}

template class Stft<float>;
template class Stft<double>;

std::string_view stft_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace prep::signal
#endif  // HWY_ONCE
