// What the words of a command line mean to a check: shards, and what is said about them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/example_schema.h"
#include "formats/manifest.h"
#include "formats/verify_finding.h"
#include "formats/verify_shard.h"
#include "lib/core/spec.h"

namespace prep {

// A directory of shards.
struct VerifySet {
  std::string directory;             // "" for shards that were named one by one
  std::string manifest_path;         // if there is a manifest
  std::optional<Manifest> manifest;  // if it can be read
  std::optional<ExampleSchema> schema;
  bool has_wids = false, has_energon = false;  // indexes over all shards

  std::string path(std::string_view name) const;
};

// One thing to look at. All of them are files.
struct VerifyItem {
  enum class Kind {
    shard,
    extra_file,    // that the manifest names
    wids_index,    // over the set's shards
    energon_info,  // the same
    manifest,      // against what the shards hold
    finding,       // something that is known already
  };
  Kind kind = Kind::shard;
  std::string path;
  std::string name;  // relative to the set's directory, or the base name
  const VerifySet* set = nullptr;
  ShardCheck shard;                 // of a shard
  const ExtraFile* file = nullptr;  // of an extra file
  Finding finding;
};

struct VerifyPlan {
  std::vector<std::unique_ptr<VerifySet>> sets;
  std::vector<VerifyItem> items;  // in the order in which they are reported
};

// Directories are taken by their manifests, or with all shards below them; a word that ends in
// ".json" is a manifest; lists hold paths of shards; anything else is a shard. What should be there
// and is not, or is and should not, becomes a finding. throws Error usage for words that cannot be
// meant; what reading lists throws.
VerifyPlan plan_verification(const std::vector<Spec>& words);

}  // namespace prep
