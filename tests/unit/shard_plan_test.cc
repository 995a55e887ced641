#include "formats/shard_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

#include "lib/core/error.h"
#include "tests/unit/samples.h"

namespace prep::shard_plan_test {

using test::literal_sample;

namespace {

Catalog catalog_of(std::uint64_t count, const std::string& prefix = "k") {
  Catalog catalog;
  for (std::uint64_t i = 0; i < count; ++i) {
    catalog.add(literal_sample(fmt::format("{}{:05}", prefix, i), {{"cls", "1"}}),
                static_cast<std::uint32_t>(1 + i % 3));
  }
  return catalog;
}

std::vector<std::uint64_t> counts(const ShardPlan& plan) {
  std::vector<std::uint64_t> counts;
  for (const PlannedShard& shard : plan.shards) {
    counts.push_back(shard.end - shard.begin + shard.repeated.has_value());
  }
  return counts;
}

// Every sample once: in a shard, or dropped.
void check_complete(const Catalog& catalog, const ShardPlan& plan) {
  std::vector<std::uint64_t> seen = plan.dropped;
  for (const PlannedShard& shard : plan.shards) {
    for (std::uint64_t i = shard.begin; i < shard.end; ++i) seen.push_back(plan.order[i]);
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::uint64_t> all(catalog.size());
  std::iota(all.begin(), all.end(), 0);
  CHECK(seen == all);
}

PlanOptions shards(std::uint64_t count, PlanOptions::Equal equal = PlanOptions::Equal::no) {
  PlanOptions options;
  options.shards = count;
  options.equal = equal;
  return options;
}

// Sample i is of sizes[i % n].
PlanOptions sized(std::uint64_t max_size, std::vector<std::uint64_t> sizes,
                  PlanOptions::Equal equal = PlanOptions::Equal::no) {
  PlanOptions options;
  options.max_size = max_size;
  options.equal = equal;
  options.size = [sizes = std::move(sizes)](std::uint64_t i) { return sizes[i % sizes.size()]; };
  return options;
}

using Counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("So many shards, whose counts differ by one at most") {
  const Catalog catalog = catalog_of(10);
  CHECK(counts(plan_shards(catalog, shards(1))) == Counts{10});
  CHECK(counts(plan_shards(catalog, shards(4))) == Counts{3, 3, 2, 2});
  CHECK(counts(plan_shards(catalog, shards(10))) == Counts(10, 1));
  CHECK_THROWS_WITH(plan_shards(catalog, shards(11)), "there are 10 samples for 11 shards");
  CHECK_THROWS_AS(plan_shards(catalog_of(0), shards(1)), Error);
}

TEST_CASE("Equal shards: what is too much is dropped, or what is missing repeated") {
  const Catalog catalog = catalog_of(10);
  const ShardPlan drop = plan_shards(catalog, shards(4, PlanOptions::Equal::drop));
  CHECK(counts(drop) == Counts(4, 2));
  CHECK(drop.dropped == Counts{8, 9});
  check_complete(catalog, drop);
  const ShardPlan pad = plan_shards(catalog, shards(4, PlanOptions::Equal::pad));
  CHECK(counts(pad) == Counts(4, 3));
  CHECK(pad.dropped.empty());
  CHECK(pad.shards[2].repeated == 0);
  CHECK(pad.shards[3].repeated == 3);
  check_complete(catalog, pad);
  // One sample too many for 100 shards: the two of the long shard are repeated in turn.
  const ShardPlan many = plan_shards(catalog_of(101), shards(100, PlanOptions::Equal::pad));
  CHECK(counts(many) == Counts(100, 2));
  CHECK(many.shards[1].repeated == 0);
  CHECK(many.shards[2].repeated == 1);
  CHECK(many.shards[3].repeated == 0);
}

TEST_CASE("No shard is of more samples than allowed") {
  PlanOptions options;
  options.max_count = 4;
  const Catalog catalog = catalog_of(10);
  CHECK(counts(plan_shards(catalog, options)) == Counts{4, 4, 2});
  options.equal = PlanOptions::Equal::drop;
  CHECK(counts(plan_shards(catalog, options)) == Counts(3, 3));
  options.equal = PlanOptions::Equal::pad;
  CHECK(counts(plan_shards(catalog, options)) == Counts(3, 4));
  options.max_count = 100;
  CHECK(counts(plan_shards(catalog, options)) == Counts{10});
  // As few samples are dropped as can be, not those of a last shard that is not full.
  options.max_count = 7;
  options.equal = PlanOptions::Equal::drop;
  CHECK(counts(plan_shards(catalog, options)) == Counts{5, 5});
}

TEST_CASE("No shard is larger than allowed, but for samples that are so themselves") {
  const Catalog catalog = catalog_of(8);
  CHECK(counts(plan_shards(catalog, sized(30, {10}))) == Counts{3, 3, 2});
  PlanOptions options = sized(30, {10});
  options.shard_overhead = 5;
  CHECK(counts(plan_shards(catalog, options)) == Counts(4, 2));
  options.max_count = 1;
  CHECK(counts(plan_shards(catalog, options)) == Counts(8, 1));
  const ShardPlan large = plan_shards(catalog, sized(30, {10, 10, 50, 10}));
  CHECK(counts(large) == Counts{2, 1, 3, 1, 1});
  CHECK(large.oversized == 2);
  check_complete(catalog, large);
  // A shard's own size is too much already.
  options.max_size = 3;
  options.max_count = 0;
  CHECK(counts(plan_shards(catalog, options)) == Counts(8, 1));
}

TEST_CASE("Equal shards by size") {
  const Catalog catalog = catalog_of(9);
  CHECK(counts(plan_shards(catalog, sized(40, {10}, PlanOptions::Equal::drop))) == Counts(3, 3));
  CHECK(counts(plan_shards(catalog, sized(50, {10}, PlanOptions::Equal::pad))) == Counts(2, 5));
  // The repeated sample counts: with it, two shards would hold 50 and 70.
  CHECK(counts(plan_shards(catalog, sized(60, {30, 5, 5, 5, 5, 15, 5, 5, 10},
                                          PlanOptions::Equal::pad))) == Counts(3, 3));
  // One sample that no shard has room for does not make each sample a shard.
  const ShardPlan plan = plan_shards(
      catalog_of(100),
      sized(105, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                  1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 500},
            PlanOptions::Equal::drop));
  CHECK(plan.oversized == 2);
  CHECK(counts(plan) == Counts(3, 33));
}

TEST_CASE("Shuffling depends on the seed and the keys alone") {
  const Catalog catalog = catalog_of(1000);
  Catalog backwards;
  for (std::uint64_t i = 1000; i-- > 0;) backwards.add(catalog.sample(i));
  PlanOptions options = shards(1);
  CHECK(plan_shards(catalog, options).order[10] == 10);
  options.shuffle_seed = 1;
  const ShardPlan one = plan_shards(catalog, options);
  const ShardPlan same = plan_shards(backwards, options);
  options.shuffle_seed = 0;
  const ShardPlan zero = plan_shards(catalog, options);
  std::uint64_t in_place = 0, equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    REQUIRE(catalog.key(one.order[i]) == backwards.key(same.order[i]));
    in_place += one.order[i] == i;
    equal += one.order[i] == zero.order[i];
  }
  CHECK(in_place < 10);
  CHECK(equal < 10);
  check_complete(catalog, one);
}

TEST_CASE("A sample's side is its own, whatever else there is") {
  PlanOptions options = shards(1);
  options.splits = parse_splits("train=0.7,val=0.2,test=0.1");
  const auto sides_of = [&](const Catalog& catalog) {
    const ShardPlan plan = plan_shards(catalog, options);
    std::map<std::string, std::string> sides;
    for (const PlannedShard& shard : plan.shards) {
      for (std::uint64_t i = shard.begin; i < shard.end; ++i) {
        sides[std::string(catalog.key(plan.order[i]))] = plan.splits[shard.split];
      }
    }
    return sides;
  };
  const Catalog catalog = catalog_of(1000);
  const auto before = sides_of(catalog);
  std::map<std::string, int> sizes;
  for (const auto& [key, side] : before) ++sizes[side];
  CHECK(std::abs(sizes["train"] - 700) < 50);
  CHECK(std::abs(sizes["val"] - 200) < 50);
  CHECK(std::abs(sizes["test"] - 100) < 40);
  Catalog more = catalog_of(500, "new");
  for (std::uint64_t i = 0; i < 1000; ++i) more.add(catalog.sample(i));
  options.shuffle_seed = 7;
  const auto after = sides_of(more);
  for (const auto& [key, side] : before) REQUIRE(after.at(key) == side);
}

TEST_CASE("Stratified splits are exact for each class") {
  Catalog catalog = catalog_of(99);  // 33 of each of the labels 1, 2, 3
  PlanOptions options = shards(2);
  options.splits = parse_splits("train=0.8,val=0.2");
  options.stratify = true;
  const ShardPlan plan = plan_shards(catalog, options);
  std::map<std::pair<std::size_t, std::uint32_t>, int> classes;
  for (const PlannedShard& shard : plan.shards) {
    for (std::uint64_t i = shard.begin; i < shard.end; ++i) {
      ++classes[{shard.split, catalog.label(plan.order[i])}];
    }
  }
  for (std::uint32_t label = 1; label <= 3; ++label) {
    CHECK(classes[std::pair(std::size_t{0}, label)] == 26);
    CHECK(classes[std::pair(std::size_t{1}, label)] == 7);
  }
  CHECK(plan.shards_of(0) == 2);
  CHECK(plan.shards_of(1) == 2);
  check_complete(catalog, plan);
}

TEST_CASE("Each split has its own shards, and an empty one is an error") {
  PlanOptions options;
  options.max_count = 20;
  options.splits = parse_splits("a=0.5,b=0.5");
  const ShardPlan plan = plan_shards(catalog_of(100), options);
  CHECK(plan.splits == std::vector<std::string>{"a", "b"});
  CHECK(plan.shards.back().index + 1 == plan.shards_of(1));
  options.splits = parse_splits("a=0.999999999,b=0.000000001");
  CHECK_THROWS_WITH(plan_shards(catalog_of(100), options),
                    "split 'b': there are no samples for it");
}

TEST_CASE("Splits are read strictly") {
  const auto splits = parse_splits("train=0.9,val=0.05,test=.05");
  REQUIRE(splits.size() == 3);
  CHECK(splits[2].name == "test");
  CHECK(splits[2].share == Approx(0.05));
  CHECK(parse_splits("all=1").size() == 1);
  for (const char* wrong :
       {"", "train", "=1", "a=0.5", "a=0.5,b=0.6", "a=0.5,a=0.5", "a=1.5", "a=-1,b=2", "a=nan",
        "a/b=1", "..=1", ".a=1", "a=0.5,,b=0.5", "a=0.5 ,b=0.5", "a\n=1", "a\xff=1", "a=0,b=1"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_splits(wrong), Error);
  }
}

}  // namespace prep::shard_plan_test
