// Saves what is sound: new shards with every sample whose bytes are all there, as they were. The
// shards that were checked are only read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "formats/manifest.h"
#include "formats/verify_plan.h"
#include "formats/verify_shard.h"

namespace prep {

// A sample, or bytes that may have been one, that is not among the saved ones.
struct LostSample {
  std::string file;
  std::uint64_t begin = 0, end = 0;
  std::string sample;  // its key; or
  std::string member;  // the name that a header gives, perhaps damaged; or neither is known
  std::string why;

  std::string text() const;  // as a finding's
  std::string json() const;
};

// What became of one shard.
struct RepairedShard {
  std::optional<ShardRecord> record;  // none if there was no sound sample
  std::vector<ExtraFile> indexes;
  std::vector<IndexKind> index_kinds;
  std::map<std::int64_t, std::uint64_t> labels;
  std::vector<LostSample> lost;
};

class Repair {
 public:
  // Makes the directory, which must be new or empty, and leaves a mark in it that it is not
  // complete. throws Error usage also where two shards of the plan would get one name, or a shard
  // is standard input; io.
  Repair(std::string directory, const VerifyPlan& plan);

  // Writes the sound samples of a shard, or all of it if nothing is wrong with it. Members that
  // come twice with the same content are saved once; parts of a sample that lie apart are put
  // together. From many threads. throws Error io, usage for tars and TFRecords in one repair.
  RepairedShard write(const VerifyItem& item, const ShardReport& report);

  // The shards of the plan, in order.
  void add(const VerifyItem& item, RepairedShard shard);
  // Writes lost.jsonl, classes.txt, the indexes over all shards, and last
  // the manifest; takes the mark away. throws Error io; empty if nothing could be saved.
  void finish();

  std::uint64_t saved_samples() const { return saved_; }
  // By the manifest's count; without one by what is known of them, where bytes without a name count
  // as one.
  std::uint64_t lost_samples() const;

 private:
  void set_container(ShardContainer container);
  RepairedShard copy(const VerifyItem& item, const ShardReport& report) const;
  Manifest manifest() const;

  const std::string directory_;
  const VerifyPlan& plan_;
  std::mutex mutex_;
  std::optional<ShardContainer> container_;

  std::vector<ShardRecord> shards_;
  std::vector<ExtraFile> files_;
  std::vector<IndexKind> index_kinds_;
  std::map<std::int64_t, std::uint64_t> labels_;
  std::string lost_lines_;
  std::uint64_t saved_ = 0, lost_count_ = 0;
};

}  // namespace prep
