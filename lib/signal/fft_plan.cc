#include "lib/signal/fft_plan.h"

#include <bit>
#include <complex>
#include <cstdint>

#include "lib/signal/unit_circle.h"

namespace prep::signal {
namespace {

using Exact = std::complex<long double>;

// exp(-2 pi i numerator / denominator)
Exact root(std::uint64_t numerator, std::uint64_t denominator) {
  const UnitPoint point = unit_point(numerator, denominator);
  return {point.cosine, -point.sine};
}

template <typename T>
void append(std::vector<T>& values, const Exact& value) {
  values.push_back(static_cast<T>(value.real()));
  values.push_back(static_cast<T>(value.imag()));
}

// The radices whose product is `length`, fours first; empty if a prime factor is too large.
std::vector<std::size_t> factor(std::size_t length) {
  std::vector<std::size_t> radices;
  for (std::size_t radix : {4, 2}) {
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  }
  for (std::size_t radix = 3; radix <= kLargestRadix; radix += 2) {
    for (; length % radix == 0; length /= radix) radices.push_back(radix);
  }
  if (length != 1) radices.clear();
  return radices;
}

template <typename T>
void add_pass(FftPlan<T>& plan, std::size_t radix, std::size_t remaining, std::size_t stride) {
  const std::size_t groups = remaining / radix;
  typename FftPlan<T>::Pass pass{radix, groups, stride, plan.roots.size(), 0};
  for (std::size_t p = 0; p < groups; ++p) {
    for (std::size_t j = 1; j < radix; ++j) append(plan.roots, root(j * p, remaining));
  }
  pass.circle = plan.roots.size();
  if (radix % 2 == 1) {
    for (std::size_t k = 0; k < radix; ++k) append(plan.roots, root(k, radix));
  }
  plan.passes.push_back(pass);
}

// Radix 2, recursive: it runs once for a plan, and has to be exact rather than fast.
void transform_exactly(Exact* values, std::size_t length, Exact* scratch) {
  if (length == 1) return;
  const std::size_t half = length / 2;
  for (std::size_t i = 0; i < half; ++i) {
    scratch[i] = values[2 * i];
    scratch[half + i] = values[2 * i + 1];
  }
  transform_exactly(scratch, half, values);
  transform_exactly(scratch + half, half, values + half);
  for (std::size_t i = 0; i < half; ++i) {
    const Exact odd = root(i, length) * scratch[half + i];
    values[i] = scratch[i] + odd;
    values[half + i] = scratch[i] - odd;
  }
}

template <typename T>
void plan_convolution(FftPlan<T>& plan) {
  const std::size_t length = plan.length;
  const std::size_t size = std::bit_ceil(2 * length - 1);
  plan.inner = std::make_unique<const FftPlan<T>>(size);
  plan.buffer_length = size;
  std::vector<Exact> kernel(size), scratch(size);
  for (std::uint64_t j = 0; j < length; ++j) {
    const Exact c = root(j * j % (2 * length), 2 * length);
    append(plan.chirp, c);
    kernel[j] = std::conj(c);
    if (j > 0) kernel[size - j] = std::conj(c);
  }
  transform_exactly(kernel.data(), size, scratch.data());
  for (const Exact& value : kernel) append(plan.kernel, value / static_cast<long double>(size));
}

}  // namespace

template <typename T>
FftPlan<T>::FftPlan(std::size_t transform_length)
    : length(transform_length), buffer_length(transform_length) {
  const std::vector<std::size_t> radices = factor(length);
  if (radices.empty() && length > 1) plan_convolution(*this);
  std::size_t stride = 1;
  for (const std::size_t radix : radices) {
    add_pass(*this, radix, length / stride, stride);
    stride *= radix;
  }
}

template struct FftPlan<float>;
template struct FftPlan<double>;

}  // namespace prep::signal
