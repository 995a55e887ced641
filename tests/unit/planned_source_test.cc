#include "formats/planned_source.h"

#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "tests/unit/samples.h"

namespace prep::planned_source_test {

using test::literal_sample;
using test::VectorSource;

namespace {

using Texts = std::vector<std::string>;

struct Listing {
  Catalog catalog;
  Texts failed;
};

Listing list(std::vector<Sample> samples, const PartSelection& selection, Labeler& labeler,
             bool regroup = false) {
  Listing listing;
  VectorSource source(std::move(samples));
  const auto slots = make_job_slots(2, nullptr, nullptr);
  listing.catalog = list_samples(
      source, selection, labeler, [](const Sample&) {}, regroup, *slots,
      [&](const Outcome& outcome) { listing.failed.push_back(outcome.key); });
  return listing;
}

Texts finished(const Listing& listing, const PartSelection& selection, const Labeler& labeler) {
  Texts texts;
  for (std::uint64_t i = 0; i < listing.catalog.size(); ++i) {
    texts.push_back(test::describe(finished_sample(listing.catalog, i, selection, labeler)));
  }
  return texts;
}

Sample faulty(const std::string& key) {
  Sample sample = literal_sample(key, {{"txt", ""}});
  sample.fault = Error(Code::unsupported, key + ": a link");
  return sample;
}

}  // namespace

TEST_CASE("A listing has the parts, the labels and the order that were asked for") {
  const PartSelection selection({"txt", "cls", "jpg"}, {"jpeg=jpg"});
  Labeler labeler(Labeler::From::directories, std::nullopt, std::nullopt);
  const Listing listing = list({literal_sample("b/1", {{"jpeg", "x"}, {"txt", "y"}, {"z", ""}}),
                                literal_sample("a/2", {{"jpg", "u"}, {"txt", "v"}}),
                                literal_sample("a/3", {{"jpg", "u"}}), faulty("a/4")},
                               selection, labeler);
  CHECK(listing.failed == Texts{"a/3", "a/4"});
  CHECK(finished(listing, selection, labeler) ==
        Texts{"b/1 txt=y cls=1 jpg=x", "a/2 txt=v cls=0 jpg=u"});
}

TEST_CASE("Parts that stand apart: the second is a duplicate, or joined") {
  const PartSelection selection({"jpg", "txt", "cls"}, {});
  const std::vector<Sample> pieces{
      literal_sample("d/a", {{"jpg", "1"}}), literal_sample("d/b", {{"txt", "2"}}),
      literal_sample("e/c", {{"jpg", "3"}}), literal_sample("d/b", {{"jpg", "4"}}),
      literal_sample("d/a", {{"txt", "5"}})};
  Labeler labeler(Labeler::From::directories, std::nullopt, std::nullopt);
  CHECK(list(pieces, {{}, {}}, labeler).failed == Texts{"d/b", "d/a"});
  Labeler again(Labeler::From::directories, std::nullopt, std::nullopt);
  const Listing joined = list(pieces, selection, again, /*regroup=*/true);
  CHECK(joined.failed == Texts{"e/c"});
  CHECK(finished(joined, selection, again) ==
        Texts{"d/a jpg=1 txt=5 cls=0", "d/b jpg=4 txt=2 cls=0"});
}

TEST_CASE("A sample of which a piece is bad is bad as a whole, and told of once") {
  const PartSelection selection({}, {});
  Labeler labeler(Labeler::From::parts, std::nullopt, std::nullopt);
  const Listing listing =
      list({literal_sample("a", {{"jpg", "1"}}), faulty("b"), faulty("a"), faulty("a"),
            literal_sample("c", {{"jpg", "1"}}), literal_sample("c", {{"jpg", "2"}})},
           selection, labeler, /*regroup=*/true);
  CHECK(listing.failed == Texts{"b", "a", "c"});
  CHECK(listing.catalog.size() == 0);
}

TEST_CASE("A label in a later piece is the sample's, too") {
  const PartSelection selection({}, {});
  Labeler labeler(Labeler::From::parts, std::nullopt, std::nullopt);
  const Listing listing =
      list({literal_sample("a", {{"jpg", "1"}}), literal_sample("b", {{"cls", "x"}}),
            literal_sample("a", {{"cls", "y"}})},
           selection, labeler, /*regroup=*/true);
  CHECK(finished(listing, selection, labeler) == Texts{"a cls=1 jpg=1", "b cls=0"});
}

TEST_CASE("Samples are given out as the plan has them, to each task its shards") {
  const PartSelection selection({}, {});
  Labeler labeler(Labeler::From::parts, std::nullopt, std::nullopt);
  std::vector<Sample> samples;
  for (int i = 0; i < 7; ++i) samples.push_back(literal_sample(fmt::format("{}", i), {}));
  const Listing listing = list(samples, selection, labeler);
  PlanOptions options;
  options.shards = 3;
  options.equal = PlanOptions::Equal::drop;
  const ShardPlan drop = plan_shards(listing.catalog, options);
  options.equal = PlanOptions::Equal::pad;
  const ShardPlan pad = plan_shards(listing.catalog, options);
  const auto given = [&](const ShardPlan& plan, const Task& task) {
    PlannedSource source(listing.catalog, plan, task, selection, labeler, {});
    std::string text;
    std::uint64_t count = 0;
    for (Sample sample; source.next(sample); ++count) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : " ",
                          sample.destination == kDropped ? "-" : std::to_string(sample.destination),
                          sample.key);
    }
    CHECK(source.expected_samples() == count);
    return text;
  };
  CHECK(given(drop, {}) == "0:0 0:1 1:2 1:3 2:4 2:5 -:6");
  CHECK(given(drop, {0, 2}) == "0:0 0:1 2:4 2:5 -:6");
  CHECK(given(drop, {1, 2}) == "1:2 1:3");
  CHECK(given(drop, {5, 6}).empty());
  CHECK(given(pad, {}) == "0:0 0:1 0:2 1:3 1:4 1:0 2:5 2:6 2:1");
}

}  // namespace prep::planned_source_test
