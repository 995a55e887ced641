// prep-stage sync: a directory becomes what is below a prefix.
#pragma once

#include <string>

#include "lib/core/report.h"
#include "tools/stage_options.h"

namespace prep {

// Every object is an outcome for the reporter: fetched, up to date, left out or failed.
// throws Error usage, io, and what a listing throws: then what was fetched stays, and the next run
// goes on.
void sync_mirror(const ObjectUrl& source, const std::string& directory, const StageOptions& options,
                 int jobs, Reporter& reporter);

}  // namespace prep
