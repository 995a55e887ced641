// Lists in options: "1,2,4", "rgb,imread".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prep {

// Whole numbers between 1 and `most`, different ones. throws Error usage, naming the option.
std::vector<int> parse_numbers(std::string_view option, const std::string& text, int most);
// Words out of `known`, different ones, or "all". throws Error usage.
std::vector<std::string> parse_words(std::string_view option, const std::string& text,
                                     const std::vector<std::string>& known);

}  // namespace prep
