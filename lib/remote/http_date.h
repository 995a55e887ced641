// Points in time as HTTP writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace prep {

// Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT". Nothing for other texts: the two older
// forms of RFC 9110, 5.6.7 are not sent by servers any more.
std::optional<std::int64_t> parse_http_date(std::string_view text);

}  // namespace prep
