// Discrete Fourier transforms, one in each lane of a vector: exp(-2 pi i j k / length), unscaled.
//
// A buffer holds for each complex value a vector of real parts, then one of imaginary parts. For
// the plan, and for why this is not FFTW, see fft_plan.h. No operation fuses or reorders (compile
// with -ffp-contract=off), so a lane's result is the same with every instruction set.
#include "hwy/highway.h"
#include "lib/signal/fft_plan.h"

// Once for each instruction set.
#if defined(PREP_SIGNAL_FFT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PREP_SIGNAL_FFT_INL_H_
#undef PREP_SIGNAL_FFT_INL_H_
#else
#define PREP_SIGNAL_FFT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace prep::signal {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
struct ComplexVector {
  hn::VFromD<D> re, im;
};

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE ComplexVector<D> load_complex(D d, const T* buffer, std::size_t index) {
  const T* const at = buffer + index * 2 * hn::MaxLanes(d);
  return {hn::Load(d, at), hn::Load(d, at + hn::MaxLanes(d))};
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void store_complex(D d, const ComplexVector<D>& value, T* buffer, std::size_t index) {
  T* const at = buffer + index * 2 * hn::MaxLanes(d);
  hn::Store(value.re, d, at);
  hn::Store(value.im, d, at + hn::MaxLanes(d));
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE ComplexVector<D> broadcast(D d, const T* root) {
  return {hn::Set(d, root[0]), hn::Set(d, root[1])};
}

template <class D>
HWY_INLINE ComplexVector<D> add(const ComplexVector<D>& a, const ComplexVector<D>& b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}

template <class D>
HWY_INLINE ComplexVector<D> subtract(const ComplexVector<D>& a, const ComplexVector<D>& b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

template <class D>
HWY_INLINE ComplexVector<D> multiply(const ComplexVector<D>& a, const ComplexVector<D>& b) {
  return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)),
          hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
}

// a - i b and a + i b
template <class D>
HWY_INLINE ComplexVector<D> subtract_i_times(const ComplexVector<D>& a, const ComplexVector<D>& b) {
  return {hn::Add(a.re, b.im), hn::Sub(a.im, b.re)};
}

template <class D>
HWY_INLINE ComplexVector<D> add_i_times(const ComplexVector<D>& a, const ComplexVector<D>& b) {
  return {hn::Sub(a.re, b.im), hn::Add(a.im, b.re)};
}

// The roots of one group of a pass. Those of group 0 are all 1, and the last pass has only that.
template <class D, bool kTrivial>
struct Twiddles {
  const hn::TFromD<D>* roots;

  HWY_INLINE ComplexVector<D> times(D d, const ComplexVector<D>& value, std::size_t j) const {
    if constexpr (kTrivial) return value;
    return multiply<D>(value, broadcast(d, roots + 2 * (j - 1)));
  }
};

// Where the butterfly of group p and offset q reads and writes: input j lies at
// in + j * in_step, output k at out + k * out_step, in complex values.
struct Butterfly {
  std::size_t in, in_step, out, out_step;
};

template <class D, bool kTrivial, typename T = hn::TFromD<D>>
HWY_INLINE void butterfly2(D d, const Butterfly& at, Twiddles<D, kTrivial> w, const T* in, T* out) {
  const ComplexVector<D> a = load_complex(d, in, at.in);
  const ComplexVector<D> b = load_complex(d, in, at.in + at.in_step);
  store_complex(d, add<D>(a, b), out, at.out);
  store_complex(d, w.times(d, subtract<D>(a, b), 1), out, at.out + at.out_step);
}

template <class D, bool kTrivial, typename T = hn::TFromD<D>>
HWY_INLINE void butterfly4(D d, const Butterfly& at, Twiddles<D, kTrivial> w, const T* in, T* out) {
  const ComplexVector<D> a0 = load_complex(d, in, at.in);
  const ComplexVector<D> a1 = load_complex(d, in, at.in + at.in_step);
  const ComplexVector<D> a2 = load_complex(d, in, at.in + 2 * at.in_step);
  const ComplexVector<D> a3 = load_complex(d, in, at.in + 3 * at.in_step);
  const ComplexVector<D> even = add<D>(a0, a2), even_odd = subtract<D>(a0, a2);
  const ComplexVector<D> odd = add<D>(a1, a3), odd_odd = subtract<D>(a1, a3);
  store_complex(d, add<D>(even, odd), out, at.out);
  store_complex(d, w.times(d, subtract_i_times<D>(even_odd, odd_odd), 1), out,
                at.out + at.out_step);
  store_complex(d, w.times(d, subtract<D>(even, odd), 2), out, at.out + 2 * at.out_step);
  store_complex(d, w.times(d, add_i_times<D>(even_odd, odd_odd), 3), out, at.out + 3 * at.out_step);
}

// Inputs j and radix - j meet the same cosines and opposite sines. kRadix 0: any odd radix.
template <class D, bool kTrivial, std::size_t kRadix, typename T = hn::TFromD<D>>
HWY_INLINE void butterfly_odd(D d, const Butterfly& at, std::size_t any_radix, const T* circle,
                              Twiddles<D, kTrivial> w, const T* in, T* out) {
  const std::size_t radix = kRadix == 0 ? any_radix : kRadix;
  const std::size_t half = radix / 2;
  constexpr std::size_t kHalf = (kRadix == 0 ? kLargestRadix : kRadix) / 2;
  ComplexVector<D> sums[kHalf], differences[kHalf];
  const ComplexVector<D> first = load_complex(d, in, at.in);
  ComplexVector<D> total = first;
  for (std::size_t j = 1; j <= half; ++j) {
    const ComplexVector<D> a = load_complex(d, in, at.in + j * at.in_step);
    const ComplexVector<D> b = load_complex(d, in, at.in + (radix - j) * at.in_step);
    sums[j - 1] = add<D>(a, b);
    differences[j - 1] = subtract<D>(a, b);
    total = add<D>(total, sums[j - 1]);
  }
  store_complex(d, total, out, at.out);
  for (std::size_t k = 1; k <= half; ++k) {
    ComplexVector<D> cosines = first, sines = {hn::Zero(d), hn::Zero(d)};
    std::size_t turn = 0;
    for (std::size_t j = 1; j <= half; ++j) {
      turn = turn + k >= radix ? turn + k - radix : turn + k;
      const auto cosine = hn::Set(d, circle[2 * turn]);
      const auto sine = hn::Set(d, -circle[2 * turn + 1]);
      cosines.re = hn::Add(cosines.re, hn::Mul(cosine, sums[j - 1].re));
      cosines.im = hn::Add(cosines.im, hn::Mul(cosine, sums[j - 1].im));
      sines.re = hn::Add(sines.re, hn::Mul(sine, differences[j - 1].re));
      sines.im = hn::Add(sines.im, hn::Mul(sine, differences[j - 1].im));
    }
    store_complex(d, w.times(d, subtract_i_times<D>(cosines, sines), k), out,
                  at.out + k * at.out_step);
    store_complex(d, w.times(d, add_i_times<D>(cosines, sines), radix - k), out,
                  at.out + (radix - k) * at.out_step);
  }
}

template <bool kTrivial, class D, typename T = hn::TFromD<D>>
HWY_INLINE void run_group(D d, const FftPlan<T>& plan, const typename FftPlan<T>::Pass& pass,
                          std::size_t p, const T* HWY_RESTRICT in, T* HWY_RESTRICT out) {
  const Twiddles<D, kTrivial> w{plan.roots.data() + pass.twiddles + 2 * p * (pass.radix - 1)};
  const T* const circle = plan.roots.data() + pass.circle;
  Butterfly at{pass.stride * p, pass.stride * pass.groups, pass.stride * pass.radix * p,
               pass.stride};
  for (std::size_t q = 0; q < pass.stride; ++q, ++at.in, ++at.out) {
    switch (pass.radix) {
      case 4:
        butterfly4(d, at, w, in, out);
        break;
      case 2:
        butterfly2(d, at, w, in, out);
        break;
      case 3:
        butterfly_odd<D, kTrivial, 3>(d, at, 3, circle, w, in, out);
        break;
      case 5:
        butterfly_odd<D, kTrivial, 5>(d, at, 5, circle, w, in, out);
        break;
      case 7:
        butterfly_odd<D, kTrivial, 7>(d, at, 7, circle, w, in, out);
        break;
      default:
        butterfly_odd<D, kTrivial, 0>(d, at, pass.radix, circle, w, in, out);
    }
  }
}

template <class D, typename T = hn::TFromD<D>>
T* run_passes(D d, const FftPlan<T>& plan, T* in, T* out) {
  for (const auto& pass : plan.passes) {
    run_group<true>(d, plan, pass, 0, in, out);
    for (std::size_t p = 1; p < pass.groups; ++p) run_group<false>(d, plan, pass, p, in, out);
    std::swap(in, out);
  }
  return in;
}

// Bluestein's algorithm. An inverse transform is a transform of conjugates.
template <class D, typename T = hn::TFromD<D>>
T* convolve(D d, const FftPlan<T>& plan, T* in, T* out) {
  const FftPlan<T>& inner = *plan.inner;
  for (std::size_t j = 0; j < plan.length; ++j) {
    const ComplexVector<D> c = broadcast(d, plan.chirp.data() + 2 * j);
    store_complex(d, multiply<D>(load_complex(d, in, j), c), in, j);
  }
  const ComplexVector<D> zero{hn::Zero(d), hn::Zero(d)};
  for (std::size_t j = plan.length; j < inner.length; ++j) store_complex(d, zero, in, j);
  T* const spectrum = run_passes(d, inner, in, out);
  for (std::size_t k = 0; k < inner.length; ++k) {
    ComplexVector<D> product =
        multiply<D>(load_complex(d, spectrum, k), broadcast(d, plan.kernel.data() + 2 * k));
    product.im = hn::Neg(product.im);
    store_complex(d, product, spectrum, k);
  }
  T* const result = run_passes(d, inner, spectrum, spectrum == in ? out : in);
  for (std::size_t k = 0; k < plan.length; ++k) {
    ComplexVector<D> value = load_complex(d, result, k);
    value.im = hn::Neg(value.im);
    const ComplexVector<D> c = broadcast(d, plan.chirp.data() + 2 * k);
    store_complex(d, multiply<D>(value, c), result, k);
  }
  return result;
}

// Transforms plan.length complex values of `in`, which is overwritten, and returns the one of the
// two buffers in which the result is. Each has room for plan.buffer_length values.
template <class D, typename T = hn::TFromD<D>>
T* fft(D d, const FftPlan<T>& plan, T* in, T* out) {
  return plan.inner ? convolve(d, plan, in, out) : run_passes(d, plan, in, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace prep::signal
HWY_AFTER_NAMESPACE();

#endif  // PREP_SIGNAL_FFT_INL_H_
