// A tool's man page, in the man(7) macros.
#pragma once

#include <string>

#include "lib/core/tool_help.h"

namespace prep {

// Holds no date, so that the same tool always has the same page.
std::string man_page(const ToolHelp& help);

}  // namespace prep
