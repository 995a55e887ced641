// The files with which loaders find all shards of a data set, made from its manifest. They lie
// beside it.
#pragma once

#include <string>
#include <string_view>

#include "formats/manifest.h"

namespace prep {

// WebDataset's wids, byte for byte as its wids-index writes it: url, MD5, samples and bytes of each
// shard, sorted by url.
inline constexpr char kWidsIndexName[] = "shardindex.json";
// `name` is the data set's. throws Error usage where the manifest has no MD5 of a shard.
std::string wids_index(const Manifest& manifest, std::string_view name);

// Megatron Energon's directory: how many samples each shard has, and which are for what. Without
// splits all are for training.
inline constexpr char kEnergonInfoName[] = ".nv-meta/.info.json";
inline constexpr char kEnergonSplitsName[] = ".nv-meta/split.yaml";
std::string energon_info(const Manifest& manifest);
std::string energon_splits(const Manifest& manifest);

}  // namespace prep
