// The place of an object in a mirror: never outside of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prep {

// The path below the mirror for what follows the prefix in a key. Keys that a file system cannot
// have as they are ("..", ".", "a//b", leading "/", components over 255 bytes, NUL) are refused:
// then `why` says so. A key that ends in "/" names a directory (returned with its slash); nothing
// left behind the prefix is the mirror itself ("").
std::optional<std::string> mirror_path(std::string_view key_below_prefix, std::string* why);

}  // namespace prep
