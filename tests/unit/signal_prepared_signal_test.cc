#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/prepared_signal.h"
#include "tests/unit/made_recording.h"

namespace prep::signal::signal_prepared_signal_test {
namespace {

using Values = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Prepared {
  Prepared(std::shared_ptr<MadeRecording> recording, const SignalSettings& settings,
           std::optional<std::size_t> segment = std::nullopt)
      : plan(std::make_shared<const SignalPlan>(
            plan_signal(recording->info(), settings, resamplers))),
        signal(recording, plan, segment) {
    signal.prepare(Crew());
  }

  Values read(Range range, std::size_t output = 0) {
    const auto length = static_cast<std::size_t>(range.size());
    Values all(plan->outputs.size() * length, -7);
    signal.read(range, all.data(), length);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(output * length);
    return {first, first + range.size()};
  }

  ResamplerCache resamplers;
  std::shared_ptr<const SignalPlan> plan;
  PreparedSignal signal;
};

std::shared_ptr<MadeRecording> made(double rate, const std::vector<std::string>& names,
                                    std::vector<Values> samples) {
  return std::make_shared<MadeRecording>(rate, names, std::move(samples));
}

Values sine(double hz, double rate, std::size_t samples) {
  Values values;
  for (std::size_t i = 0; i < samples; ++i) {
    values.push_back(std::sin(2 * std::numbers::pi * hz * static_cast<double>(i) / rate));
  }
  return values;
}

TEST_CASE("Channels in their montage") {
  const auto recording = made(10, {"Fp1", "F7", "Cz"}, {{1, 2, 3}, {10, 20, 30}, {4, 5, 0}});
  Prepared plain(recording, {});
  CHECK(plain.signal.length() == 3);
  CHECK(plain.read({1, 3}, 1) == Values{20, 30});

  SignalSettings settings;
  settings.montage = parse_montage("bipolar:F7-Fp1,Cz-F7");
  Prepared pairs(recording, settings);
  CHECK(pairs.plan->outputs[0].name == "F7-Fp1");
  CHECK(pairs.read({0, 3}, 0) == Values{9, 18, 27});
  CHECK(pairs.read({2, 3}, 1) == Values{-30});

  settings.montage = parse_montage("average");
  Prepared average(recording, settings);
  CHECK(average.read({0, 3}, 2) == Values{-1, -4, -11});
}

TEST_CASE("Missing outputs are left as they were") {
  const auto recording = made(10, {"Fp1"}, {{1, 2, 3}});
  SignalSettings settings;
  settings.channels = parse_channels("Fp1,O2");
  settings.missing = MissingPolicy::zero;
  Prepared prepared(recording, settings);
  CHECK(prepared.plan->outputs[1].missing);
  CHECK(prepared.read({0, 3}, 1) == Values{-7, -7, -7});
  settings.missing = MissingPolicy::error;
  CHECK_THROWS_AS(Prepared(recording, settings), Error);
}

TEST_CASE("Rates that differ are an error, but where all come to one") {
  const auto recording = made(100, {"Fp1", "Fp2"}, {sine(3, 100, 400), sine(3, 50, 200)});
  recording->change_info().channels[1].rate = 50;
  CHECK_THROWS_AS(Prepared(recording, {}), Error);
  SignalSettings settings;
  settings.rate = 200;
  Prepared prepared(recording, settings);
  CHECK(prepared.plan->rate == 200);
  CHECK(prepared.signal.length() == 800);
  CHECK(prepared.signal.bytes_a_sample(4) == 16);  // both are resampled
  const Values wanted = sine(3, 200, 800);
  for (std::size_t output = 0; output < 2; ++output) {
    const Values found = prepared.read({100, 700}, output);
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      worst = std::max(worst, std::fabs(found[i] - wanted[i + 100]));
    }
    CHECK(worst < 2e-3);
    // A part is what the whole is there.
    CHECK(prepared.read({333, 334}, output)[0] == found[233]);
  }
}

TEST_CASE("Filters see the whole channel, wherever it is read") {
  Values mixed = sine(2, 100, 2000);
  const Values slow = mixed, fast = sine(30, 100, 2000);
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] += fast[i];
  const auto recording = made(100, {"Fp1"}, {mixed});
  SignalSettings settings;
  settings.lowpass = 10;
  Prepared prepared(recording, settings);
  const Values whole = prepared.read({0, 2000});
  for (std::size_t i = 200; i < 1800; ++i) REQUIRE(whole[i] == Approx(slow[i]).margin(1e-3));
  CHECK(prepared.read({700, 900}) == Values(whole.begin() + 700, whole.begin() + 900));
  CHECK(prepared.signal.warnings().empty());

  settings.lowpass.reset();
  settings.notches = {30};
  const Values notched = Prepared(recording, settings).read({0, 2000});
  for (std::size_t i = 500; i < 1500; ++i) REQUIRE(notched[i] == Approx(slow[i]).margin(1e-3));
  settings.highpass = 60;  // above half the rate
  CHECK_THROWS_AS(Prepared(recording, settings), Error);
}

TEST_CASE("Stretches between NaNs that are too short to be filtered become NaN, with a warning") {
  Values values(500, 1.0);
  values[100] = values[103] = kNan;
  SignalSettings settings;
  settings.lowpass = 10;
  Prepared prepared(made(100, {"Fp1"}, {values}), settings);
  const Values found = prepared.read({0, 500});
  CHECK(found[99] == Approx(1));
  for (std::size_t i = 100; i < 104; ++i) CHECK(std::isnan(found[i]));
  CHECK(found[104] == Approx(1));
  REQUIRE(prepared.signal.warnings().size() == 1);
  CHECK(prepared.signal.warnings()[0].find("2 samples are NaN") != std::string::npos);
}

TEST_CASE("One segment, or all with NaN between them") {
  const auto recording = made(10, {"Fp1"}, {{1, 2, 3, 4, 5}});
  recording->set_segments({{2, 2}, {2.4, 3}});
  Prepared second(recording, {}, 1);
  CHECK(second.signal.start() == 2.4);
  CHECK(second.read({0, 3}) == Values{3, 4, 5});
  Prepared all(recording, {});
  CHECK(all.signal.start() == 2);
  CHECK(all.signal.length() == 7);
  const Values found = all.read({1, 5});
  CHECK(found[0] == 2);
  CHECK((std::isnan(found[1]) && std::isnan(found[2])));
  CHECK(found[3] == 3);
  CHECK_FALSE(all.signal.has_samples({2, 4}));
}

}  // namespace
}  // namespace prep::signal::signal_prepared_signal_test
