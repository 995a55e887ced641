// The separable, antialiased resampler that every path of prep-resize ends in.
//
// The filter is widened by the reduction factor, as Pillow and torchvision (antialias=True) do: for
// output pixel x, centre c = box.left + (x + 0.5) * scale with scale = box.width / out_width,
// support = radius * max(scale, 1), weights = filter((i + 0.5 - c) / max(scale, 1)), normalised to
// sum 1. Fixed-point weights and integer sums: the bytes are the same on every machine and with
// every instruction set (Highway picks the widest at run time).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/image/filter_weights.h"
#include "lib/image/plane.h"

namespace prep::image {

// A part of a plane in (fractional) pixels: x from left to left + width. It may reach past the
// plane by less than a pixel's support; samples there do not exist and take no weight.
struct Box {
  double left = 0, top = 0, width = 0, height = 0;
  // Where the picture ends inside the plane's last column and row, when the plane's size was
  // rounded up; 0: with the plane.
  double picture_right = 0, picture_bottom = 0;
};

// The weight tables used last: Cb's serve Cr, and many data sets have few sizes.
class WeightCache {
 public:
  // As make_filter_weights(). Valid until the third call from now.
  const FilterWeights& get(const AxisMapping& axis, int max_bits, bool even_first);

 private:
  struct Entry {
    AxisMapping axis;
    int max_bits = 0;
    bool even_first = false;
    std::uint64_t last_used = 0;
    FilterWeights weights;
  };
  std::array<Entry, 32> entries_;
  std::uint64_t clock_ = 0;
};

// Scratch that a worker keeps from image to image.
struct ResampleScratch {
  WeightCache weights;
  PlaneBuffer rows, channel, columns, quads, result;
};

// Fills `out` (any size >= 1x1) from `box` of `in`; `in.channels` == `out.channels`, 1 to 4.
// in and out must not overlap. Nothing is read or written past a row's last pixel.
// throws Error limit for a plane wider than 2^20 pixels.
void resample(const ConstPlane& in, const Box& box, Filter filter, const Plane& out,
              ResampleScratch& scratch);

// Nearest neighbour: out(x, y) = in(floor(box.left + (x + 0.5) * box.width / out.width), …), for
// samples of `bytes_per_pixel` bytes; values are copied, never mixed.
void resample_nearest(const ConstPlane& in, const Box& box, int bytes_per_pixel, const Plane& out);

// The instruction set in use ("AVX3", "AVX2", "SSE2", …), for reports.
std::string_view resample_target();

}  // namespace prep::image
