// Which of a block's coefficients are worth their bits: trellis quantization.
//
// Rounding each coefficient to the nearest level makes the error least, but not the error for the
// size. In a JPEG a coefficient's code depends on how many zeros precede it, so the best choice for
// a block is found by going through its coefficients and keeping, for each, the cheapest way to
// arrive there; cost is squared error + lambda * bits.
#pragma once

#include <array>
#include <cstdint>

#include "lib/image/dct_requantize.h"
#include "lib/image/huffman_code.h"
#include "lib/image/quant_tables.h"

namespace prep::image {

// What a bit may cost in a picture with these step sizes for luma; the same for all its components,
// so that the error is least over all samples of all planes.
int bit_price(const QuantTable& luma_steps);

class RateDistortion {
 public:
  // `steps` are those of the levels; of `codes`, an AC table's, the lengths count.
  RateDistortion(const QuantTable& steps, const std::array<HuffmanCode, 256>& codes, int bit_price);

  // Sets AC levels to zero where that pays. `levels` are the values' nearest ones, or a Quantizer's
  // for the same price; bits of `nonzero` are in zigzag order. Returns the new bits.
  std::uint64_t optimize(const DctBlock& values, DctBlock& levels, std::uint64_t nonzero) const;

 private:
  static constexpr std::size_t kSizes = 11;  // of levels, in bits

  // A choice of coefficients up to one that stays.
  struct Path {
    std::int32_t cost;
    int position;  // zigzag, of the last that stays
    std::uint64_t kept;
  };
  // Paths that may still lead to the best. Not initialised: that would cost more than its use.
  struct Paths {
    std::array<Path, 64> path;
    int count;
  };

  void extend(Paths& paths, int position, std::size_t size, std::int32_t gain) const;
  std::uint64_t cheapest_end(const Paths& paths) const;
  std::int32_t cost(const Path& path, int position, std::size_t size) const {
    return bits_cost_[static_cast<std::size_t>(position - path.position - 1)][size];
  }

  std::array<std::int32_t, 64> step_;                           // by zigzag position
  std::array<std::array<std::int32_t, kSizes>, 64> bits_cost_;  // by run of zeros, size
  std::int32_t end_cost_;
};

}  // namespace prep::image
