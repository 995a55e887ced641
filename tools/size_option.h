// Sizes in bytes, as options have them.
#pragma once

#include <cstdint>
#include <string>

namespace prep {

// "500M", "1G", "64Mi", "100000": k, M, G, T are powers of 1000, Ki and so on of 1024. throws Error
// usage, with the name of the option.
std::uint64_t parse_size(const std::string& option, const std::string& text);

}  // namespace prep
