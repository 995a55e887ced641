#include "lib/image/rate_distortion.h"

#include <bit>
#include <cstdlib>
#include <limits>

namespace prep::image {
namespace {

constexpr std::size_t kRunOf16 = 0xF0, kEndOfBlock = 0x00;
constexpr int kLastPosition = 63;

}  // namespace

// At high rates, where the error of a step q is q^2 / 12, a bit more in every coefficient saves
// q^2 / 8.7. At a JPEG's rates the price that gives the best PSNR for the size is a little higher
// for the same q, the mean of the first ten AC frequencies, where most of the bits go.
int bit_price(const QuantTable& luma_steps) {
  constexpr std::size_t kFrequencies = 10;
  std::int64_t squares = 0;
  for (std::size_t i = 1; i <= kFrequencies; ++i) {
    const std::int64_t step = luma_steps[kZigzag[i]] * kDctFraction;
    squares += step * step;
  }
  return static_cast<int>(squares * kPriceFraction * 12 / (100 * std::int64_t{kFrequencies}));
}

RateDistortion::RateDistortion(const QuantTable& steps, const std::array<HuffmanCode, 256>& codes,
                               int bit_price) {
  const auto cost_of = [&](int bits) {
    return static_cast<std::int32_t>((std::int64_t{bit_price} * bits + kPriceFraction / 2) /
                                     kPriceFraction);
  };
  for (std::size_t i = 0; i < step_.size(); ++i) step_[i] = steps[kZigzag[i]] * kDctFraction;
  for (std::size_t run = 0; run < bits_cost_.size(); ++run) {
    const int long_runs = codes[kRunOf16].length * static_cast<int>(run / 16);
    for (std::size_t size = 0; size < kSizes; ++size) {
      const int code = codes[(run % 16) << 4 | size].length;
      bits_cost_[run][size] = cost_of(long_runs + code + static_cast<int>(size));
    }
  }
  end_cost_ = cost_of(codes[kEndOfBlock].length);
}

// A later path that is no dearer than an earlier one is the better start for all that follows, as
// a shorter run of zeros has no longer code. So costs grow from path to path, and there is rarely
// more than one.
inline void RateDistortion::extend(Paths& paths, int position, std::size_t size,
                                   std::int32_t gain) const {
  const Path* from = nullptr;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (int i = 0; i < paths.count; ++i) {
    const Path& path = paths.path[static_cast<std::size_t>(i)];
    const std::int32_t arriving = path.cost + cost(path, position, size);
    if (arriving <= least) {
      least = arriving;
      from = &path;
    }
  }
  Path next{least - gain, position, from->kept | std::uint64_t{1} << position};
  while (paths.count > 0 &&
         paths.path[static_cast<std::size_t>(paths.count - 1)].cost >= next.cost) {
    --paths.count;
  }
  // Only differences count, and starting anew from 0 keeps the numbers small.
  if (paths.count == 0) next.cost = 0;
  paths.path[static_cast<std::size_t>(paths.count++)] = next;
}

// The coefficients that stay in the end.
inline std::uint64_t RateDistortion::cheapest_end(const Paths& paths) const {
  std::uint64_t kept = 0;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (int i = 0; i < paths.count; ++i) {
    const Path& path = paths.path[static_cast<std::size_t>(i)];
    const std::int32_t cost = path.cost + (path.position < kLastPosition ? end_cost_ : 0);
    if (cost <= least) {
      least = cost;
      kept = path.kept;
    }
  }
  return kept;
}

std::uint64_t RateDistortion::optimize(const DctBlock& values, DctBlock& levels,
                                       std::uint64_t nonzero) const {
  const std::uint64_t ac = nonzero & ~std::uint64_t{1};
  if (ac == 0) return nonzero;
  Paths paths;
  paths.path[0] = {0, 0, 0};
  paths.count = 1;
  for (std::uint64_t left = ac; left != 0; left &= left - 1) {
    const int position = std::countr_zero(left);
    const std::size_t natural = kZigzag[static_cast<std::size_t>(position)];
    const std::int32_t level = std::abs(levels[natural]);
    const std::int32_t shown = level * step_[static_cast<std::size_t>(position)];
    // How much squared error the level saves over zero.
    const std::int32_t gain = shown * (2 * std::abs(values[natural]) - shown);
    const auto size = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(level)));
    Path& first = paths.path[0];
    if (paths.count == 1 && cost(first, position, size) <= gain) {
      // The common case of extend().
      first.position = position;
      first.kept |= std::uint64_t{1} << position;
    } else {
      extend(paths, position, size, gain);
    }
  }
  const std::uint64_t kept = cheapest_end(paths);
  for (std::uint64_t left = ac & ~kept; left != 0; left &= left - 1) {
    levels[kZigzag[static_cast<std::size_t>(std::countr_zero(left))]] = 0;
  }
  return kept | (nonzero & 1);
}

}  // namespace prep::image
