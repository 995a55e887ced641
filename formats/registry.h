// Every container that the tools know, and which one a specifier means.
#pragma once

#include "lib/core/tool.h"

namespace prep {

// What an input is: by its prefix, or by looking: a directory; a tar by its first bytes (compressed
// or not) or its name; a TFRecord likewise; else a single file. An output goes by its name: "-" is
// a tar stream, ".tar", ".tar.gz", ".tgz", ".tar.zst" a tar, ".tfrecord", ".tfrecords" (and with
// ".gz" or ".zst" behind) and names with ".tfrecord-" in them a TFRecord, ".jpg", ".jpeg", ".png" a
// single file (unless it is a directory), everything else a directory. "tfrecord:-" is a stream of
// records.
const Containers& registry();

}  // namespace prep
