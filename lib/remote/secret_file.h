// Tokens that stand in files.
#pragma once

#include <string>

namespace prep {

// What stands in a file, without blanks and line ends around it. throws Error not_found, io, limit
// (64 kB), corrupt (empty, or bytes that cannot stand in a header); never with what stands there.
std::string read_secret_file(const std::string& path);

// Whether a text can be the value of a header without ending it.
bool fits_header(const std::string& text);

}  // namespace prep
