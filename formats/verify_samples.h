// The samples of one shard as a walk meets them: keys, parts, places, and what is wrong between
// them. Tars and TFRecords alike.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/shard_index.h"
#include "formats/verify_finding.h"
#include "formats/verify_keys.h"

namespace prep {

// The keys of a shard, each once, and where its sample begins.
struct ShardKeys {
  struct Place {
    KeyPlaces::Hash hash;
    std::uint64_t offset = 0;
    std::uint64_t text_end = 0;  // in `text`; it begins where the one before ends
  };
  std::vector<Place> places;
  std::string text;

  void add(std::string_view key, KeyPlaces::Hash hash, std::uint64_t offset);
  std::string_view key(std::size_t index) const;
};

// A sample as a repair needs to know it.
struct VerifiedSample {
  PlacedSample placed;
  std::optional<std::int64_t> label;
  std::string damage;        // what is wrong with its bytes; "" if nothing is
  bool is_repeated = false;  // its key came before, and may
};

// Bytes in which there is no sample that can be read.
struct LostBytes {
  std::uint64_t begin = 0, end = 0;
  std::string name;  // of the member, if that is known
  std::string why;
};

class SampleLedger {
 public:
  struct Options {
    std::vector<IndexKind> indexes;        // that are to be made
    bool keep_samples = false;             // for a repair
    std::set<std::string> optional_parts;  // which not every sample has
    std::set<std::string> repeated;        // keys that may come again (as json_text)
  };

  // `findings` must outlive the ledger.
  SampleLedger(Findings& findings, Options options);

  // Whether a part of this key is the first of a sample.
  bool starts_sample(std::string_view key) const { return !current_ || current_->key != key; }
  // The next part, which lies in [begin, end) with its header and padding. Parts of the same key
  // that follow each other are one sample.
  void add_part(std::string_view key, PlacedSample::Part part, std::uint64_t begin,
                std::uint64_t end);
  // A sample that is complete by itself: a record. One without a key is only counted.
  void add_record(PlacedSample record);
  // The class of the sample to which the last part belongs.
  void set_label(std::int64_t label) { label_ = label; }
  // Something is wrong with the bytes of that sample, so that it can't be saved; the finding is the
  // caller's.
  void damage_sample(std::string why);
  // Behind the last part lie bytes that can't be read; parts of the samples before and behind may
  // have been in them.
  void lose(std::uint64_t begin, std::uint64_t end, std::string name, std::string why);
  // Behind the last part there are more zeros than an end mark has: parts may have been in them, if
  // the sample lacks any.
  void note_zeros() { before_zeros_ = current_.has_value(); }
  // A member that belongs to no sample, whatever its neighbours are.
  void leave_out(std::uint64_t begin, std::uint64_t end, std::string name, std::string why);
  // At the end, or where the next sample is known to be another one.
  void end_sample();
  // Compares the samples with each other. Call once.
  void finish();

  // After finish().
  std::uint64_t samples() const { return samples_; }
  const std::map<std::int64_t, std::uint64_t>& labels() const { return labels_; }
  // The parts that most samples have, but the optional ones, in words: "cls, jpg".
  const std::string& common_parts() const { return common_parts_; }
  // Of the kinds asked for, in that order.
  const std::vector<std::unique_ptr<ShardIndex>>& indexes() const { return indexes_; }
  ShardKeys take_keys() { return std::move(keys_); }
  std::vector<VerifiedSample> take_samples() { return std::move(kept_); }
  std::vector<LostBytes> take_lost() { return std::move(lost_); }

 private:
  // The samples that have exactly these parts.
  struct PartSet {
    static constexpr std::size_t kShown = 10;
    std::uint64_t count = 0;
    std::vector<std::pair<std::string, std::uint64_t>> first;  // keys and offsets
  };
  using PartNames = std::vector<std::string>;  // sorted, in lower case

  PartNames check_parts();
  void report_twins(const PlacedSample::Part& first, const PlacedSample::Part& twin);
  void check_key();
  void count_parts(PartNames names);
  void make_indexes();
  void keep_sample(const PartNames& names);
  const PartNames* most_common() const;
  PartNames without_optional(PartNames names) const;
  void report_odd_sets(const PartNames& common);
  void judge_neighbours_of_damage(const PartNames* common);

  Findings& findings_;
  const Options options_;

  std::optional<PlacedSample> current_;
  std::optional<std::int64_t> label_;
  std::string damage_;
  bool beside_loss_ = false;  // of the current sample
  bool behind_loss_ = false;  // the next part comes behind bytes that were lost
  bool before_zeros_ = false;
  bool is_repeated_ = false;

  KeyPlaces places_;
  ShardKeys keys_;
  std::map<PartNames, PartSet> part_sets_;
  std::uint64_t uncounted_sets_ = 0;
  std::vector<std::unique_ptr<ShardIndex>> indexes_;
  std::uint64_t samples_ = 0;
  std::map<std::int64_t, std::uint64_t> labels_;
  std::string common_parts_;

  std::vector<VerifiedSample> kept_;
  struct Suspect {
    std::size_t index;  // in kept_
    PartNames names;
    bool beside_loss;  // else before zeros
  };
  std::vector<Suspect> suspects_;
  std::vector<LostBytes> lost_;
};

}  // namespace prep
