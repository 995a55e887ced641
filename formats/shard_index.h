// The index files that loaders want beside shards, made from places that are known while writing,
// or found by walking a shard.
//
//   dali      NVIDIA DALI, wds2idx: "v1.2 N\n", a line a sample: "ext offset size name" groups
//             joined by spaces; the offset is of the first data byte. SHARD without .tar + ".idx".
//   tfrecord  DALI, tfrecord2idx: a line a record: "offset size\n". SHARD + ".idx".
//   energon   Megatron Energon: little-endian u64, the offset of each sample's first header, and
//             the end of the last member. SHARD + ".idx" ("train-000000.tar.idx").
//   wids      WebDataset's wids: one JSON over all shards (formats/dataset_index.h); there is
//             nothing for a shard but its MD5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prep {

enum class IndexKind { dali, wids, energon, tfrecord };

// Where a sample lies in a shard, in bytes from its beginning, before any compression.
struct PlacedSample {
  struct Part {
    std::string name;                    // "jpg"
    std::string path;                    // "n01/0001.jpg", as in the member's header
    std::uint64_t offset = 0, size = 0;  // of the data
  };
  std::string key;
  std::uint64_t begin = 0, end = 0;  // the first header (or record) and the end of the padding
  std::vector<Part> parts;           // none for a TFRecord
};

// Before a member of this path is written. throws Error name where the index could not say it
// (white space, for DALI).
void check_indexable(IndexKind kind, std::string_view path);

// Gathers one shard's index.
class ShardIndex {
 public:
  virtual ~ShardIndex() = default;
  // throws Error as check_indexable().
  virtual void add(const PlacedSample& sample) = 0;
  // The file's content.
  virtual std::string finish() const = 0;
};

// For `dali`, `energon` and `tfrecord`; null for `wids`.
std::unique_ptr<ShardIndex> make_shard_index(IndexKind kind);
// The index file's name for a shard's name; "" for `wids`.
std::string shard_index_name(IndexKind kind, std::string_view shard);

}  // namespace prep
