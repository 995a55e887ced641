// The text and the numbers in the headers of recordings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prep::signal {

// Without the spaces, tabs, line ends and NULs at both ends: fixed fields are padded with either.
std::string_view trim(std::string_view text);

// A finite number, all of `text` after trim(); a leading '+' and a decimal comma are accepted.
std::optional<double> parse_number(std::string_view text);
// The same for whole numbers ("-1", "256", but not "256.0").
std::optional<std::int64_t> parse_integer(std::string_view text);

// As it is if it is UTF-8, else taken for Latin-1.
std::string to_utf8(std::string_view text);

// For ASCII.
bool equal_ignoring_case(std::string_view a, std::string_view b);

// Whether these bytes once were others that a program took for text and turned into UTF-8: valid
// UTF-8 with replacement characters (U+FFFD) where bytes were lost. The last character may be cut.
bool is_mangled_utf8(std::string_view bytes);

}  // namespace prep::signal
