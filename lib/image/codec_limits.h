// What no codec goes beyond, whatever it is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prep::image {

inline constexpr std::int64_t kMaxCodecPixels = 1 << 30;
// Of one picture; a damaged file can set off one at every row.
inline constexpr std::size_t kMaxWarnings = 8;

}  // namespace prep::image
