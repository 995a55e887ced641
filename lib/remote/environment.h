// What the process's surroundings say: variables and the home directory.
#pragma once

#include <string>

namespace prep {

// The value of an environment variable, "" if it is not set.
std::string environment(const char* name);
// $HOME, or the home that the system knows; "" if there is none.
std::string home_directory();
// "~/x" in the home directory; other paths as they are.
std::string expand_home(const std::string& path);

}  // namespace prep
