// What a discrete Fourier transform of a given length needs to know beforehand: how the length
// factors, and the roots of unity. fft-inl.h carries it out.
//
// A transform of our own, because its results have to be the same on every machine: FFTW picks its
// kernels by the CPU, with and without fused multiplications, and their last bits differ. Here each
// lane of a vector holds another transform, so that the operations on one transform, and their
// order, do not depend on how wide the vectors are.
//
// Lengths whose prime factors are at most kLargestRadix go through Stockham's algorithm (no bit
// reversal; Van Loan, Computational Frameworks for the Fast Fourier Transform, 1992, section 1.7),
// any other length through Bluestein's, as a convolution of a power of two.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace prep::signal {

inline constexpr std::size_t kLargestRadix = 31;

template <typename T>
struct FftPlan {
  // A pass turns `stride` interleaved transforms of `radix * groups` values into
  // `radix * stride` of `groups`.
  struct Pass {
    std::size_t radix, groups, stride;
    std::size_t twiddles;  // where in `roots` exp(-2 pi i j p / (radix groups)) is, [p][j - 1]
    std::size_t circle;    // odd radix: where exp(-2 pi i k / radix) is, [k]
  };

  explicit FftPlan(std::size_t transform_length);  // at least 1

  std::size_t length;
  std::size_t buffer_length;  // complex values for which each of two buffers needs room
  std::vector<Pass> passes;
  std::vector<T> roots;  // real and imaginary parts in turn

  // Bluestein's algorithm, where `inner` is set: with chirp c[j] = exp(-pi i j^2 / length) the
  // transform is c times the convolution of c x with the conjugate chirp.
  std::unique_ptr<const FftPlan> inner;
  std::vector<T> chirp;   // length complex values
  std::vector<T> kernel;  // the conjugate chirp's transform / inner->length
};

extern template struct FftPlan<float>;
extern template struct FftPlan<double>;

}  // namespace prep::signal
