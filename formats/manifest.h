// manifest.json and SHA256SUMS: what a set of shards is meant to be. docs/manifest.md has the
// schema.
//
// Written last, so their presence says that everything else is there. The same samples and settings
// give the same bytes: no time, no host, no path of this machine but the inputs as they were
// written.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/key_hash.h"

namespace prep {

struct ShardRecord {
  std::string name;   // relative to the manifest
  std::string split;  // "" without --split
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;  // of the file
  std::string sha256;       // lower-case hex, of the file
  std::string md5;          // of the file; only with a wids index
};

// A file beside the shards: an index, classes.txt.
struct ExtraFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct ClassRecord {
  std::string name;  // "" where only numbers are known
  std::int64_t index = 0;
  std::uint64_t samples = 0;
};

struct RepeatedSample {
  std::string key;
  std::string shard;  // where it stands a second time
};

struct Manifest {
  static constexpr int kVersion = 1;
  static constexpr std::uint64_t kLargest = std::uint64_t{4} << 30;  // bytes of one that is read
  std::string tool = "prep-pack";
  std::string tool_version;
  nlohmann::ordered_json settings;  // of the options that decide the bytes
  std::string listing;              // a digest of what was listed: names, sizes, times
  Task task;                        // 0/1, or the share of a partial manifest
  std::string container;            // "tar" or "tfrecord"
  std::string compression;          // "none", "gzip" or "zstd"
  nlohmann::ordered_json schema;    // the fields of a TFRecord's records, else null
  std::vector<ShardRecord> shards;
  std::vector<ExtraFile> files;
  std::vector<ClassRecord> classes;
  std::vector<std::string> dropped;  // keys, left out to make shards equal
  std::vector<RepeatedSample> repeated;
  std::uint64_t failed = 0;  // samples that could not be packed

  // Puts shards and files into the order of their names (shard_name_less), classes by index, keys
  // bytewise, none twice: the order in which they were found leaves no trace.
  void sort();

  // Keys and names that are not UTF-8 stand as JSON text with escapes (json_text). Sort before.
  std::string to_json() const;
  // Lines for `sha256sum -c`: the shards, then the other files.
  std::string sha256sums() const;
  // throws Error corrupt (with the place and what was expected), limit, unsupported for a version
  // that is not known. `name` is for messages. Names that leave the directory are corrupt.
  static Manifest parse(std::string_view json, std::string_view name);
};

// Bytewise, but numbers by their value: x-9.tar, x-10.tar.
bool shard_name_less(std::string_view a, std::string_view b);

inline constexpr char kManifestName[] = "manifest.json";
inline constexpr char kSumsName[] = "SHA256SUMS";

// "manifest.3-of-8.json", the share of one task.
std::string partial_manifest_name(const Task& task);
// The whole from all parts, in any order; sorted. throws Error usage where they do not belong
// together (other settings or listing) or one is missing or there twice: the message says which.
Manifest merge_manifests(std::vector<Manifest> parts);

}  // namespace prep
