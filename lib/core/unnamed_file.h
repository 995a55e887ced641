// A temporary file without a name, which vanishes with its descriptor.
#pragma once

#include "lib/core/file_io.h"

namespace prep {

// In $TMPDIR, or /var/tmp. throws Error io.
Fd open_unnamed_file();

}  // namespace prep
