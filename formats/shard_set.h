// A directory of shards as a whole: what is written when all of them are there.
#pragma once

#include <string>
#include <vector>

#include "formats/manifest.h"
#include "formats/shard_index.h"

namespace prep {

// "dali,wids". throws Error usage, also for a kind that does not go with the container.
std::vector<IndexKind> parse_index_kinds(const std::vector<std::string>& words, bool tfrecord);

// Writes classes.txt where the classes have names, the indexes over all shards, SHA256SUMS, and
// last the manifest; they are added to `manifest`, which is sorted. throws Error io.
void write_shard_set(const std::string& directory, Manifest manifest,
                     const std::vector<IndexKind>& indexes);

// Writes a task's share of the manifest. throws Error io.
void write_partial_manifest(const std::string& directory, Manifest manifest);

// Makes the whole of a directory's partial manifests, as a run without tasks would have written it,
// and takes them away. Does nothing where that was done already. Returns the whole manifest.
// throws Error usage where parts are missing or do not belong together, or a task is still under
// way; corrupt where a shard is not there or has another size than its manifest says.
Manifest merge_shard_set(const std::string& directory);

// Reads a file of at most `limit` bytes; throws Error as open_file(), limit.
std::string read_text_file(const std::string& path, std::uint64_t limit);

}  // namespace prep
