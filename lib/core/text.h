// Names are opaque bytes; this is how they are shown to people and programs.
#pragma once

#include <string>
#include <string_view>

namespace prep {

// Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// A name for a message: printable UTF-8 is left as it is; backslashes, control characters and bytes
// that are not UTF-8 are shown as in C ("\n", "\xff"), so that a name can neither break a line nor
// hide.
std::string printable(std::string_view name);

// A name as a JSON string's content: as it is if it is UTF-8, else as printable() shows it.
std::string json_text(std::string_view name);

// ASCII only, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
std::string lower_case(std::string_view text);

}  // namespace prep
