// Points in time as AWS writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace prep {

// Nanoseconds since 1970 of an RFC 3339 time ("2009-10-12T17:50:30.000Z", "…+00:00"): digits behind
// the ninth do not count. Nothing for other texts and years that do not fit (before 1678, from 2262
// on).
std::optional<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace prep
