// How much of a container is read at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prep {

inline constexpr std::size_t kWindow = 256 << 10;
// For walks over headers: the rest of a longer window would be read for nothing.
inline constexpr std::size_t kSmallWindow = 4 << 10;
// What is up to this size is skipped by reading it: a read costs more than its bytes.
inline constexpr std::uint64_t kWalkBySkipping = 16 << 10;

}  // namespace prep
