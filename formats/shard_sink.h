// Shards as a sink: tars or TFRecords of a pattern's names, a manifest, and indexes.
//
// With a plan (formats/shard_plan.h), each sample says which shard it goes to; a shard gets its
// name as soon as it is complete, and a run that was ended is taken up again behind its last
// finished shard. Without one, a new shard begins when the one before is full, and no shard gets
// its name before the last sample came: a stream that breaks off leaves nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "formats/example_schema.h"
#include "formats/manifest.h"
#include "formats/shard_directory.h"
#include "formats/shard_file.h"
#include "formats/shard_log.h"
#include "formats/shard_pattern.h"
#include "lib/core/key_hash.h"
#include "lib/core/spec.h"
#include "lib/core/stream.h"

namespace prep {

struct ShardSinkOptions {
  std::string tool = "prep-pack";
  std::string settings;      // SinkOptions::settings: all that decides the bytes
  std::vector<Spec> inputs;  // for the manifest, and so that none of them is replaced
  Task task;
  bool force = false;    // shards that are there count for nothing, and others may be replaced
  bool dry_run = false;  // nothing is written
  bool planned = false;  // set_plan() will be called
  ShardFormat format;
  // Of TFRecords, where `format.schema` is null: the first sample decides.
  ExampleOptions example;
  // Without a plan.
  std::vector<std::string> class_names;    // by label
  std::uint64_t max_size = 1'000'000'000;  // before compression; a larger sample has its own shard
  std::uint64_t max_count = 0;             // 0: any number
  // How many samples failed so far, for the manifest. May be null.
  std::function<std::uint64_t()> failed;
  // Whether so many bad samples of so many are tolerated. May be null: any number.
  std::function<bool(std::uint64_t, std::uint64_t)> tolerates;
};

// All shards of all tasks: number i is task (i mod N)'s.
struct ShardSetPlan {
  struct Shard {
    std::string split;
    std::uint64_t index = 0, total = 0;  // within the split
    std::uint64_t samples = 0;
  };
  std::vector<Shard> shards;
  std::vector<std::string> splits;  // {""} without splits
  std::string listing;              // digest of all that was listed
  std::uint64_t bytes = 0;          // that this task's shards will take; 0 if that is not known
  bool equal = false;               // a shard with fewer samples than planned is an error
  std::uint64_t failed = 0;         // samples that could not be listed
  std::uint64_t oversized = 0;      // samples that are larger than a shard should be
  std::vector<std::string> dropped;
  std::vector<RepeatedSample> repeated;
  std::vector<std::string> class_names;  // by label; empty if only numbers are known
};

class ShardSink final : public Sink {
 public:
  // throws Error usage (a pattern that does not go with the options), io (another run is writing
  // there).
  ShardSink(const Spec& output, ShardSinkOptions options);
  ~ShardSink() override;

  // Before the first sample. throws Error usage where shards are in the way that no run of ours has
  // made, or that are of another set, or an input; io where the disk is too small.
  void set_plan(ShardSetPlan plan);
  // Whether all of this task's shards are there, made with the same settings from the same inputs.
  bool is_complete() const { return complete_; }
  // Decides a TFRecord's schema before the first sample comes.
  void set_schema(std::shared_ptr<const ExampleSchema> schema) {
    options_.format.schema = std::move(schema);
  }
  std::string shard_name(std::uint64_t number) const;
  const std::string& directory() const { return pattern_.directory(); }

  bool up_to_date(const Sample& sample, const Stage&) const override;
  void check(const Sample& sample) const override;
  void put(const Sample& sample) override;
  bool assist() override;
  void commit() override;
  void abandon() override;
  Tally warnings() const override { return warnings_; }

 private:
  struct Open {
    std::uint64_t number = 0;
    std::shared_ptr<ShardFile> file;
  };

  bool has_plan() const { return options_.planned; }
  bool is_mine(std::uint64_t number) const {
    return number % options_.task.count == options_.task.index;
  }
  void add_names(std::uint64_t number, std::set<std::string>& names) const;
  std::set<std::string> planned_names() const;
  std::set<std::string> recalled_names() const;
  void recall();
  bool recall_manifest();
  bool is_whole(const Manifest& manifest) const;
  void check_failed_before(const Manifest& manifest);
  void check_space() const;

  void start();

  void decide_schema(const Sample& sample);
  std::uint64_t size_of(const Sample& sample) const;
  bool is_full(const Sample& sample) const;
  bool is_too_large_with(const Sample& sample) const;
  void choose_shard(const Sample& sample);
  void open(std::uint64_t number);
  void close_current();
  void seal(Open shard);
  void finish(Open shard);
  void drop_empty();
  void seal_all();
  [[noreturn]] void fail_write(const Error& error) const;

  void publish_stream();
  void sync_directories() const;
  bool is_whole(const FinishedShard& shard) const;
  void remove_lacking();
  void check_counts();
  std::uint64_t failed_samples() const;
  Manifest make_manifest() const;

  ShardPattern pattern_;
  ShardSinkOptions options_;
  ShardSetPlan plan_;
  ShardDirectory directory_;
  std::string fingerprint_;
  nlohmann::ordered_json published_;  // what the manifest tells of the settings
  std::unique_ptr<ShardLog> log_;     // none in a dry run
  bool started_ = false;
  bool complete_ = false;
  std::string found_manifest_;        // which says so
  std::set<std::uint64_t> recalled_;  // shards that an earlier run finished
  Tally warnings_;

  Open current_;
  std::uint64_t next_number_ = 0;  // without a plan

  // Shared with assist().
  mutable std::mutex mutex_;
  std::deque<Open> closing_;  // written, to be sealed
  std::map<std::uint64_t, FinishedShard> finished_;
  std::map<std::uint64_t, Open> sealed_;  // without a plan: wait for the end
};

}  // namespace prep
