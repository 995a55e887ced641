// A directory tree of loose files, as input and as output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/core/key_hash.h"
#include "lib/core/stream.h"

namespace prep {

// Every file below `root`, grouped into samples; keys are relative to the root. Samples come in
// bytewise order of their paths, save that all parts of a sample stand together. One directory's
// names are in memory at a time (and those above it): about 30 bytes an entry.
// Symbolic links are followed; one that leads to a directory above it is left out and counted, as
// are hidden files, what is neither file nor directory, and what `excluded` names. A directory that
// cannot be read becomes a faulty sample, and so does one that a run of ours has not completed.
std::unique_ptr<Source> open_directory(const std::string& root,
                                       const std::vector<std::string>& excluded);

struct DirectorySinkOptions {
  std::string tool;      // names the stamp: ".prep-resize.json"
  std::string settings;  // what decides the bytes; others than the stamp's put all out of date
  Task task;             // each task has a stamp of its own
  bool force = false;
  bool dry_run = false;  // a directory that is not there is not made
};

// Writes each part as a file of its own; put() from many threads. A part's file gets the
// modification time of its source, and counts as up to date as long as the two agree, it was made
// with the same settings, and it cannot have been lost in a crash (see run_stamp.h).
// throws Error usage when the directory holds files but no stamp of this tool, unless forced.
std::unique_ptr<Sink> create_directory_sink(const std::string& root,
                                            const DirectorySinkOptions& options);

// Writes the only part of the only sample to `path`.
std::unique_ptr<Sink> create_file_sink(const std::string& path);

}  // namespace prep
