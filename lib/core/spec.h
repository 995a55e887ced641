// Input and output specifiers: what a command-line word means, the same in every tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"

namespace prep {

enum class SpecKind {
  automatic,
  directory,
  tar,
  tfrecord,
  list,
  list0,
  csv,
  tsv,
  jsonl,
  file,
  standard_stream
};

// A word of the command line, taken apart but not yet looked up.
struct Spec {
  SpecKind kind = SpecKind::automatic;
  std::string path;  // without the prefix; "-" for the standard streams
  std::string text;  // as written, for messages
};

// Reads "dir:", "tar:", "tfrecord:", "list:", "list0:", "csv:", "tsv:", "jsonl:", "file:" prefixes,
// "@FILE" (a list) and "-".
// A word that holds an unknown prefix is a path. throws Error usage for an empty word or path.
Spec parse_spec(std::string_view word);

// Expands "{000000..000099}" (zero-padded as written, up or down) and "{a,b}" in order, the first
// brace slowest; text without such a group is returned as it is. throws Error usage for more than
// `limit` results.
std::vector<std::string> expand_braces(std::string_view text, std::size_t limit = 10'000'000);

}  // namespace prep
