// What keeps two runs from writing into the same output: the file that says how far a run has come,
// locked for as long as it lives.
#pragma once

#include <string>

#include "lib/core/file_io.h"

namespace prep {

// Opens `path`, made if it is not there, and locks it. `output` is what the message names if another
// run has it (Code::io).
Fd lock_for_run(const std::string& path, const std::string& output);

// Whether a live run has locked it.
bool is_locked(const std::string& path);

}  // namespace prep
