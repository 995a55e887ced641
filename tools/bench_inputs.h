// The words of the command line as things to be measured: which belong together, what each is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/core/spec.h"
#include "lib/core/tool.h"

namespace prep {

struct BenchInput {
  enum class Kind { loose_files, tar, compressed_tar, tfrecord, compressed_tfrecord, stream };
  Kind kind = Kind::loose_files;
  std::vector<Spec> words;
  bool once = false;           // a pipe: what is read is gone
  bool can_read_again = true;  // contents lie in files as they are, neither in pipes nor compressed
  // Whether finding the samples means reading all of their bytes.
  bool listing_reads_all = false;

  std::string name() const;            // "photos/", "a.tar and 3 more", as written
  std::string_view kind_name() const;  // "loose files", "tar", …
  std::unique_ptr<Source> open(const RunContext& run) const;
};

// Containers of a kind, and files, that follow each other on the command line are one input;
// directories and lists are one each. throws Error not_found, io, usage.
std::vector<BenchInput> group_inputs(const RunContext& run);

}  // namespace prep
