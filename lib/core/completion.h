// What completes a tool's command line in a shell: its options, the words that they take, files.
#pragma once

#include <string>

#include "lib/core/tool_help.h"

namespace prep {

// A file for bash-completion's directory, named after the tool.
std::string bash_completion(const ToolHelp& help);

// A file for a directory in zsh's fpath, named after the tool with "_" before it.
std::string zsh_completion(const ToolHelp& help);

}  // namespace prep
