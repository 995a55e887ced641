#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/epochs.h"

namespace prep::signal::signal_epochs_test {
namespace {

using Places = std::vector<std::pair<std::size_t, Range>>;

Places places_of(const CutPlan& plan) {
  Places places;
  for (const Cut& cut : plan.cuts) places.emplace_back(cut.stretch, cut.samples);
  return places;
}

EpochSettings epochs_of(std::optional<double> length, std::optional<double> stride = {},
                        const std::string& events = "") {
  EpochSettings settings;
  settings.length = length;
  settings.stride = stride;
  settings.events = events;
  return settings;
}

CutPlan plan_events(const std::vector<Stretch>& stretches, const std::vector<Annotation>& all,
                    const EpochSettings& settings) {
  const EventPattern pattern(settings.events);
  return plan_cuts(stretches, 10, all, settings, &pattern);
}

TEST_CASE("Without epochs every stretch is a cut, numbered where there are several") {
  const CutPlan one = plan_cuts(std::vector<Stretch>{{0, 100}}, 10, {}, {}, nullptr);
  CHECK(places_of(one) == Places{{0, {0, 100}}});
  CHECK_FALSE(one.numbered);
  const CutPlan two = plan_cuts(std::vector<Stretch>{{0, 100}, {20, 50}}, 10, {}, {}, nullptr);
  CHECK(places_of(two) == Places{{0, {0, 100}}, {1, {0, 50}}});
  CHECK(two.numbered);
}

TEST_CASE("Epochs begin at each stretch's start; what remains at its end is dropped") {
  const std::vector<Stretch> stretches{{0, 25}, {20, 9}, {30, 10}};
  const CutPlan plan = plan_cuts(stretches, 10, {}, epochs_of(1), nullptr);
  CHECK(places_of(plan) == Places{{0, {0, 10}}, {0, {10, 20}}, {2, {0, 10}}});
  CHECK(plan.numbered);
  const CutPlan none = plan_cuts(std::vector<Stretch>{{0, 9}}, 10, {}, epochs_of(1), nullptr);
  CHECK(none.cuts.empty());
  CHECK(none.empty_reason == "shorter than an epoch");
}

TEST_CASE("A stride of no whole number of samples does not drift") {
  const CutPlan plan =
      plan_cuts(std::vector<Stretch>{{0, 1000}}, 10, {}, epochs_of(1, 1.0 / 3), nullptr);
  REQUIRE(plan.cuts.size() == 298);
  CHECK(plan.cuts[1].samples == Range{3, 13});
  CHECK(plan.cuts[2].samples == Range{7, 17});
  CHECK(plan.cuts[297].samples == Range{990, 1000});
}

TEST_CASE("Around an event, from an event on, or divided within it") {
  const std::vector<Stretch> stretches{{0, 100}};
  const std::vector<Annotation> all{
      {2, std::nullopt, "other"}, {3, 2.5, "seizure 1"}, {5, {}, "seizure 2"}};
  const CutPlan around = plan_events(stretches, all, epochs_of(2, {}, "^seiz"));
  CHECK(places_of(around) == Places{{0, {20, 40}}, {0, {40, 60}}});
  CHECK(around.cuts[0].event == &all[1]);
  CHECK(around.warnings.empty());

  const CutPlan from = plan_events(stretches, all, epochs_of({}, {}, "^seiz"));
  CHECK(places_of(from) == Places{{0, {30, 55}}});
  REQUIRE(from.warnings.size() == 1);
  CHECK(from.warnings[0].starts_with("1 of 2 events have no duration"));

  const CutPlan within = plan_events(stretches, all, epochs_of(1, 0.5, "seizure"));
  CHECK(places_of(within) == Places{{0, {30, 40}}, {0, {35, 45}}, {0, {40, 50}}, {0, {45, 55}}});
}

TEST_CASE("An epoch that reaches outside is left out, or kept to be padded") {
  const std::vector<Stretch> stretches{{0, 50}, {10, 50}};
  const std::vector<Annotation> all{{0.5, {}, "a"}, {7, {}, "a"}, {12, {}, "a"}, {14.9, {}, "a"}};
  EpochSettings settings = epochs_of(2, {}, "a");
  const CutPlan left_out = plan_events(stretches, all, settings);
  CHECK(places_of(left_out) == Places{{1, {10, 30}}});
  REQUIRE(left_out.warnings.size() == 1);
  CHECK(left_out.warnings[0].starts_with("epochs around 3 of 4 events reach"));

  settings.outside = Outside::zero;  // the one in the gap belongs nowhere
  CHECK(places_of(plan_events(stretches, all, settings)) ==
        Places{{0, {-5, 15}}, {1, {10, 30}}, {1, {39, 59}}});
  CHECK(plan_events(stretches, {}, settings).empty_reason == "no event matches");
}

TEST_CASE("Onsets that were rounded down still belong to the stretch that they begin") {
  const std::vector<Stretch> stretches{{0, 50}, {10.04, 50}};
  const CutPlan plan = plan_events(stretches, {{10, 1.0, "a"}}, epochs_of({}, {}, "a"));
  CHECK(places_of(plan) == Places{{1, {0, 10}}});
}

TEST_CASE("Patterns are extended regular expressions") {
  CHECK(EventPattern("sz|gped").matches("a gped here"));
  CHECK_FALSE(EventPattern("^sz$").matches("sz 1"));
  CHECK_THROWS_AS(EventPattern("("), Error);
}

TEST_CASE("Epochs that make no sense are refused") {
  CHECK_THROWS_AS(epochs_of(0).validate(), Error);
  CHECK_THROWS_AS(epochs_of(1, -1).validate(), Error);
  CHECK_THROWS_AS(epochs_of({}, 1).validate(), Error);
  EpochSettings padded = epochs_of(1);
  padded.outside = Outside::nan;
  CHECK_THROWS_AS(padded.validate(), Error);
  const std::vector<Stretch> stretches{{0, 20'000'000}};
  CHECK_THROWS_AS(plan_cuts(stretches, 10, {}, epochs_of(0.01), nullptr), Error);
  CHECK_THROWS_AS(plan_cuts(stretches, 10, {}, epochs_of(1, 0.1), nullptr), Error);
}

}  // namespace
}  // namespace prep::signal::signal_epochs_test
