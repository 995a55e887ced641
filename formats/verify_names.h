// What loaders make of the name of a tar's member.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prep {

// Why no two loaders agree on a member of this name, or why it is dropped, in words; "" if it is
// read as a part of a sample everywhere.
std::string name_fault(std::string_view path);

// What some loaders stumble over, as it stands behind a number: "names begin with './' …"; "" if
// nothing.
std::string_view name_oddity(std::string_view path);

}  // namespace prep
