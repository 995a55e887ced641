#include "formats/shard_plan.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "lib/core/error.h"

namespace prep {
namespace {

// Of the hash that decides a sample's split; other than any that a user is likely to shuffle by.
constexpr std::uint64_t kSplitSeed = 0x70726570'73706c74;
// How often a number of equal shards is tried that would not be too large.
constexpr int kMaxTries = 1000;

std::uint64_t keyed_hash(std::string_view key, std::uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

struct Hashed {
  std::uint64_t hash;
  std::uint64_t sample;
};

// By hash, ties by key.
void sort_by_hash(const Catalog& catalog, std::vector<Hashed>& samples) {
  std::sort(samples.begin(), samples.end(), [&](const Hashed& a, const Hashed& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    return catalog.key(a.sample) < catalog.key(b.sample);
  });
}

// --- splits -------------------------------------------------------------------------------------

// The ends of the splits' shares of [0, 1); the last is 1 whatever rounding did.
std::vector<double> share_ends(const std::vector<Split>& splits) {
  std::vector<double> ends;
  double sum = 0;
  for (const Split& split : splits) ends.push_back(sum += split.share);
  ends.back() = 1;
  return ends;
}

std::uint8_t split_of(double place, const std::vector<double>& ends) {
  return static_cast<std::uint8_t>(std::upper_bound(ends.begin(), ends.end() - 1, place) -
                                   ends.begin());
}

std::vector<std::uint8_t> split_by_hash(const Catalog& catalog, const std::vector<double>& ends) {
  std::vector<std::uint8_t> sides(catalog.size());
  for (std::uint64_t i = 0; i < catalog.size(); ++i) {
    // 53 bits, so that the quotient is exact and below 1.
    const std::uint64_t hash = keyed_hash(catalog.key(i), kSplitSeed) >> 11;
    sides[i] = split_of(static_cast<double>(hash) * 0x1p-53, ends);
  }
  return sides;
}

std::vector<std::uint8_t> split_by_label(const Catalog& catalog, const std::vector<double>& ends) {
  std::map<std::uint32_t, std::vector<Hashed>> classes;
  for (std::uint64_t i = 0; i < catalog.size(); ++i) {
    classes[catalog.label(i)].push_back({keyed_hash(catalog.key(i), kSplitSeed), i});
  }
  std::vector<std::uint8_t> sides(catalog.size());
  for (auto& [label, samples] : classes) {
    sort_by_hash(catalog, samples);
    std::size_t next = 0;
    for (std::size_t split = 0; split < ends.size(); ++split) {
      const auto end =
          static_cast<std::size_t>(std::llround(ends[split] * static_cast<double>(samples.size())));
      for (; next < end; ++next) sides[samples[next].sample] = static_cast<std::uint8_t>(split);
    }
  }
  return sides;
}

// The samples in order, split by split, and where each split ends.
std::vector<std::uint64_t> make_order(const Catalog& catalog, const PlanOptions& options,
                                      std::vector<std::uint64_t>& ends) {
  std::vector<std::uint8_t> sides(catalog.size());
  const std::size_t splits = std::max<std::size_t>(options.splits.size(), 1);
  if (!options.splits.empty()) {
    const auto shares = share_ends(options.splits);
    sides = options.stratify ? split_by_label(catalog, shares) : split_by_hash(catalog, shares);
  }
  std::vector<Hashed> all(catalog.size());
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    all[i] = {options.shuffle_seed ? keyed_hash(catalog.key(i), *options.shuffle_seed) : i, i};
  }
  if (options.shuffle_seed) sort_by_hash(catalog, all);
  std::vector<std::uint64_t> order;
  order.reserve(all.size());
  for (std::size_t split = 0; split < splits; ++split) {
    for (const Hashed& one : all) {
      if (sides[one.sample] == split) order.push_back(one.sample);
    }
    ends.push_back(order.size());
  }
  return order;
}

// --- shards -------------------------------------------------------------------------------------

// One split's samples, and the shards that they make.
class SplitPlanner {
 public:
  SplitPlanner(const PlanOptions& options, ShardPlan& plan, std::size_t split, std::uint64_t begin,
               std::uint64_t end)
      : options_(options), plan_(plan), split_(split), begin_(begin), end_(end) {}

  void run() {
    if (begin_ == end_) fail(Code::usage, "{}there are no samples for it", prefix());
    for (std::uint64_t i = begin_; options_.max_size > 0 && i < end_; ++i) {
      plan_.oversized += size(i) > room();
    }
    if (options_.shards == 0 && options_.equal == PlanOptions::Equal::no) return by_limits();
    const std::uint64_t shards = options_.shards > 0 ? options_.shards : fewest_shards();
    if (shards > count()) {
      fail(Code::usage, "{}there are {} samples for {} shards", prefix(), count(), shards);
    }
    by_count(shards);
  }

 private:
  std::uint64_t count() const { return end_ - begin_; }
  std::string prefix() const {
    const std::string& name = plan_.splits[split_];
    return name.empty() ? "" : fmt::format("split '{}': ", printable(name));
  }
  std::uint64_t size(std::uint64_t place) const { return options_.size(plan_.order[place]); }

  void add(std::uint64_t begin, std::uint64_t end) {
    plan_.shards.push_back({split_, next_index_++, begin, end, std::nullopt});
  }

  // What the samples of a shard may take.
  std::uint64_t room() const {
    if (options_.max_size == 0) return UINT64_MAX;
    return options_.max_size - std::min(options_.shard_overhead, options_.max_size);
  }

  void by_limits() {
    const std::uint64_t max_count = options_.max_count > 0 ? options_.max_count : UINT64_MAX;
    std::uint64_t begin = begin_, left = room();
    for (std::uint64_t i = begin_; i < end_; ++i) {
      const std::uint64_t more = options_.max_size > 0 ? size(i) : 0;
      if (i > begin && (more > left || i - begin == max_count)) {
        add(begin, i);
        begin = i;
        left = room();
      }
      left -= std::min(more, left);
    }
    add(begin, end_);
  }

  // The fewest shards of equal counts that keep to the limits.
  std::uint64_t fewest_shards() const {
    std::uint64_t shards = 1;
    if (options_.max_count > 0) shards = (count() + options_.max_count - 1) / options_.max_count;
    if (options_.max_size == 0) return shards;
    // The sizes of all samples before each. Those that are too large for any shard count for
    // nothing, since no number of shards would be enough for them.
    std::vector<std::uint64_t> sums(count() + 1);
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i < count(); ++i) {
      const std::uint64_t one = size(begin_ + i);
      sums[i + 1] = sums[i] + (one > room() ? 0 : one);
      all += std::min(one, room());
    }
    if (all > 0) shards = std::max(shards, (all - 1) / room() + 1);
    for (int tries = 0; tries < kMaxTries && shards < count() && !fit(sums, shards); ++tries) {
      shards += std::max<std::uint64_t>(1, shards / 64);
    }
    return std::min(shards, count());
  }

  // Whether that many shards of equal counts are none of them too large.
  bool fit(const std::vector<std::uint64_t>& sums, std::uint64_t shards) const {
    const std::uint64_t each = count() / shards, longer = count() % shards;
    const bool drop = options_.equal == PlanOptions::Equal::drop;
    std::uint64_t begin = 0;
    for (std::uint64_t i = 0; i < shards; ++i) {
      const std::uint64_t end = begin + each + (i < longer && !drop);
      std::uint64_t used = sums[end] - sums[begin];
      if (options_.equal == PlanOptions::Equal::pad && longer > 0 && i >= longer) {
        const std::uint64_t again = place_to_repeat(i - longer, longer, each);
        used += sums[again + 1] - sums[again];
      }
      if (used > room()) return false;
      begin = end;
    }
    return true;
  }

  // Shards whose counts differ by one at most, the longer ones first; or made equal.
  void by_count(std::uint64_t shards) {
    const std::uint64_t each = count() / shards, longer = count() % shards;
    const bool drop = options_.equal == PlanOptions::Equal::drop;
    const std::size_t first = plan_.shards.size();
    std::uint64_t begin = begin_;
    for (std::uint64_t i = 0; i < shards; ++i) {
      const std::uint64_t end = begin + each + (i < longer && !drop);
      add(begin, end);
      begin = end;
    }
    for (; begin < end_; ++begin) plan_.dropped.push_back(plan_.order[begin]);
    if (options_.equal != PlanOptions::Equal::pad || longer == 0) return;
    for (std::uint64_t i = longer; i < shards; ++i) {
      plan_.shards[first + i].repeated =
          plan_.order[begin_ + place_to_repeat(i - longer, longer, each)];
    }
  }

  // The short shards repeat samples of the longer ones: first each one's first sample, then each
  // one's second.
  static std::uint64_t place_to_repeat(std::uint64_t nth, std::uint64_t longer,
                                       std::uint64_t each) {
    return nth % longer * (each + 1) + nth / longer % (each + 1);
  }

  const PlanOptions& options_;
  ShardPlan& plan_;
  const std::size_t split_;
  const std::uint64_t begin_, end_;
  std::uint64_t next_index_ = 0;
};

double parse_share(std::string_view text, std::string_view all) {
  double share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  if (error != std::errc() || end != text.data() + text.size() || !(share > 0 && share <= 1)) {
    fail(Code::usage, "--split {}: '{}' is no share between 0 and 1", printable(all),
         printable(text));
  }
  return share;
}

}  // namespace

std::vector<Split> parse_splits(std::string_view text) {
  std::vector<Split> splits;
  double sum = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = one.find('=');
    const std::string name(one.substr(0, equals));
    // They are parts of file names, and stand in manifests.
    if (equals == std::string_view::npos || name.empty() || name.find('/') != std::string::npos ||
        printable(name) != name || name.starts_with('.')) {
      fail(Code::usage, "--split {}: give names and shares, as in train=0.9,val=0.1",
           printable(text));
    }
    for (const Split& other : splits) {
      if (other.name == name) {
        fail(Code::usage, "--split {}: '{}' comes twice", printable(text), printable(name));
      }
    }
    splits.push_back({name, parse_share(one.substr(equals + 1), text)});
    sum += splits.back().share;
  }
  if (splits.empty() || splits.size() > 255) {
    fail(Code::usage, "--split: give from 1 to 255 names and shares, as in train=0.9,val=0.1");
  }
  if (std::abs(sum - 1) > 1e-9) {
    fail(Code::usage, "--split {}: the shares add up to {:g}, not to 1", printable(text), sum);
  }
  return splits;
}

std::uint64_t ShardPlan::shards_of(std::size_t split) const {
  return static_cast<std::uint64_t>(std::count_if(
      shards.begin(), shards.end(), [&](const PlannedShard& one) { return one.split == split; }));
}

ShardPlan plan_shards(const Catalog& catalog, const PlanOptions& options) {
  ShardPlan plan;
  for (const Split& split : options.splits) plan.splits.push_back(split.name);
  if (plan.splits.empty()) plan.splits.emplace_back();
  std::vector<std::uint64_t> ends;
  plan.order = make_order(catalog, options, ends);
  std::uint64_t begin = 0;
  for (std::size_t split = 0; split < ends.size(); ++split) {
    SplitPlanner(options, plan, split, begin, ends[split]).run();
    begin = ends[split];
  }
  return plan;
}

}  // namespace prep
