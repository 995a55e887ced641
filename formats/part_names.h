// Names of parts that mean the same in every data set, as WebDataset has them.
#pragma once

#include <string_view>

namespace prep {

inline constexpr std::string_view kLabelPart = "cls", kTextPart = "txt", kJsonPart = "json";

}  // namespace prep
