// What a file that is not of the expected kind seems to be, for messages.
#pragma once

#include <string>
#include <string_view>

#include "lib/core/bytes.h"

namespace prep {

// By the first bytes (a tar's first 512 are enough): "a JPEG image", "a Git LFS pointer, not the
// file itself; run 'git lfs pull'", …, with what to do where there is something; "" if that can't
// be told.
std::string_view describe_foreign(ByteView head);

// The same behind a message: " (it is a JPEG image)", or "".
std::string resemblance(ByteView head);
inline constexpr std::size_t kForeignHead = 512;  // bytes that are enough to tell

}  // namespace prep
