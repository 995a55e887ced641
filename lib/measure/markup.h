// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace prep::measure {

// For an element's content and for an attribute in double quotes.
std::string escape_markup(std::string_view text);

}  // namespace prep::measure
