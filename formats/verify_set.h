// What can only be seen over all shards: keys that come again, shards that differ from the others,
// and files that speak of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/verify_finding.h"
#include "formats/verify_keys.h"
#include "formats/verify_plan.h"
#include "formats/verify_shard.h"

namespace prep {

class SetVerifier {
 public:
  // `quick`: digests and classes were not looked at.
  explicit SetVerifier(bool quick) : quick_(quick) {}

  // The next item of a plan, in order; a shard with what its check gave. Returns what comes to
  // light now.
  std::vector<Finding> add_shard(const VerifyItem& item, const ShardReport& report);
  std::vector<Finding> check_wids_index(const VerifyItem& item) const;
  std::vector<Finding> check_energon_info(const VerifyItem& item) const;
  std::vector<Finding> check_manifest(const VerifyItem& item) const;

 private:
  struct Shard {
    const VerifyItem* item;
    std::uint64_t samples, bytes;
    std::string md5;
    bool is_sound;
  };
  using Labels = std::map<std::int64_t, std::uint64_t>;

  void find_repeated_keys(const VerifyItem& item, const ShardReport& report, Findings& findings);
  bool may_repeat(std::string_view key, std::uint32_t before, std::uint32_t now) const;
  std::map<std::string, const Shard*> shards_of(const VerifySet* set) const;
  void compare_classes(const VerifySet& set, Findings& findings) const;

  const bool quick_;
  std::vector<Shard> shards_;
  KeyPlaces keys_;
  std::map<const VerifySet*, Labels> labels_;
  std::map<const VerifySet*, std::pair<std::string, std::string>> common_parts_;  // and whose
};

// Checks a file that the manifest names: its size, and without `quick` its digest.
std::vector<Finding> check_extra_file(const VerifyItem& item, bool quick);

}  // namespace prep
