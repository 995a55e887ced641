#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/spectrogram.h"
#include "tests/unit/made_recording.h"

namespace prep::signal::signal_spectrogram_test {
namespace {

using Values = std::vector<double>;
using Floats = std::vector<float>;

// What scipy.signal.spectrogram makes golden values of: 64 samples at 64 Hz.
Values golden_signal() {
  Values x;
  for (int n = 0; n < 64; ++n) {
    const double t = 2 * std::numbers::pi * n / 64;
    x.push_back(std::sin(10 * t) + 0.5 * std::cos(20 * t + 0.3) + 0.25);
  }
  return x;
}

SpectrogramSettings short_frames() {
  SpectrogramSettings settings;
  settings.stft.nperseg = settings.stft.nfft = 16;
  settings.stft.hop = 8;
  return settings;
}

Spectrogram make(const std::vector<std::string>& names, const std::vector<Values>& samples,
                 const SpectrogramSettings& settings, Range range, Outside outside = Outside::zero,
                 SpectrogramExtras extras = {}) {
  const auto recording = std::make_shared<MadeRecording>(64, names, samples);
  ResamplerCache resamplers;
  const auto plan = std::make_shared<const SignalPlan>(
      plan_signal(recording->info(), settings.signal, resamplers));
  PreparedSignal signal(recording, plan, std::nullopt);
  return SpectrogramMaker(settings, extras).make(signal, range, outside, Crew(), "a.edf", 5);
}

Floats values_of(const Spectrogram& spectrogram) {
  const Bytes bytes = spectrogram.array->load();
  const std::size_t start = bytes.text().find('\n') + 1;
  Floats values((bytes.size() - start) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + start, values.size() * sizeof(float));
  return values;
}

TEST_CASE("An array and what its axes are") {
  const Spectrogram made = make({"Fp1"}, {golden_signal()}, short_frames(), {0, 64});
  CHECK(made.shape.channels == 1);
  CHECK(made.shape.frequencies == 9);
  CHECK(made.shape.times == 7);
  CHECK(made.axis.centres[2] == 8);
  CHECK(made.first_time == 0.125);
  CHECK(made.time_step == 0.125);
  CHECK(made.rate == 64);
  CHECK(made.array->origin() == "a.edf");
  CHECK(made.array->mtime_ns() == 5);
  const Floats values = values_of(made);
  REQUIRE(values.size() == 63);
  CHECK(values[2 * 7] == Approx(0.0595518073293505).epsilon(2e-6));
  CHECK(values[5 * 7 + 3] == Approx(0.0214841940880298).epsilon(2e-6));
}

TEST_CASE("A stretch is what it is in the whole; outside of the signal are zeros or NaN") {
  const Floats whole = values_of(make({"Fp1"}, {golden_signal()}, short_frames(), {0, 64}));
  const Spectrogram part = make({"Fp1"}, {golden_signal()}, short_frames(), {8, 40});
  CHECK(part.first_time == 0.25);
  const Floats values = values_of(part);
  for (std::size_t f = 0; f < 9; ++f) {
    for (std::size_t t = 0; t < 3; ++t) CHECK(values[f * 3 + t] == whole[f * 7 + t + 1]);
  }
  const Spectrogram zeros = make({"Fp1"}, {golden_signal()}, short_frames(), {-32, 32});
  CHECK(zeros.first_time == -0.375);
  CHECK(values_of(zeros)[2 * 7 + 1] == 0);
  CHECK(values_of(zeros)[2 * 7 + 4] == whole[2 * 7]);
  const Spectrogram nans =
      make({"Fp1"}, {golden_signal()}, short_frames(), {-32, 32}, Outside::nan);
  CHECK(nans.nan_frames == std::vector<std::vector<Range>>{{{0, 4}}});
  CHECK(nans.warnings.size() == 1);
  CHECK_THROWS_AS(make({"Fp1"}, {golden_signal()}, short_frames(), {0, 15}), Error);
}

TEST_CASE("Blocks of frames are what the whole signal gives at once") {
  Values noise;
  for (unsigned i = 0, state = 1; i < 400'000; ++i) {
    state = state * 1664525 + 1013904223;
    noise.push_back(static_cast<double>(state >> 16) / 65536 - 0.5);
  }
  const std::vector<float> single(noise.begin(), noise.end());
  const auto total = static_cast<std::int64_t>(noise.size());
  for (const auto& [nperseg, hop] :
       {std::pair<std::size_t, std::size_t>{64, 16}, {64, 5000}, {16384, 64}, {16384, 100'000}}) {
    SpectrogramSettings settings;
    settings.stft.nperseg = settings.stft.nfft = nperseg;
    settings.stft.hop = hop;
    const Spectrogram made =
        make({"Fp1", "Fp2"}, {Values(noise.size()), noise}, settings, {0, total});
    settings.stft.rate = 64;
    const Stft<float> stft(settings.stft);
    const Range frames{0, stft.frames(total)}, bins{0, static_cast<std::int64_t>(stft.bins())};
    REQUIRE(made.shape.times == static_cast<std::size_t>(frames.last));
    Floats wanted(stft.bins() * made.shape.times);
    stft.run({single, 0, total}, frames, bins, wanted.data(), made.shape.times, nullptr);
    const Bytes bytes = made.array->load();
    const std::size_t half = wanted.size() * sizeof(float);
    CHECK(std::memcmp(bytes.data() + bytes.size() - half, wanted.data(), half) == 0);
  }
}

TEST_CASE("Decibels, with an end below the maximum") {
  SpectrogramSettings settings = short_frames();
  const Floats plain = values_of(make({"Fp1"}, {golden_signal()}, settings, {0, 64}));
  settings.log = LogScale::decibels;
  const Floats all = values_of(make({"Fp1"}, {golden_signal()}, settings, {0, 64}));
  float most = -1e9f;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i] == Approx(10 * std::log10(std::max(1e-10, double{plain[i]}))).margin(1e-4));
    most = std::max(most, all[i]);
  }
  settings.top = 20;
  const Floats ended = values_of(make({"Fp1"}, {golden_signal()}, settings, {0, 64}));
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(ended[i] == std::max(all[i], most - 20));
}

TEST_CASE("Normalised by channel or by recording") {
  Values twice = golden_signal();
  for (double& value : twice) value *= 2;
  SpectrogramSettings settings = short_frames();
  settings.normalize = Normalize::channel;
  const Spectrogram by_channel = make({"Fp1", "Fp2"}, {golden_signal(), twice}, settings, {0, 64});
  REQUIRE(by_channel.normalized.size() == 2);
  CHECK(by_channel.normalized[1].mean == Approx(4 * by_channel.normalized[0].mean));
  const Floats values = values_of(by_channel);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < 63; ++i) {
    CHECK(values[i] == Approx(values[i + 63]).margin(1e-5));
    sum += double{values[i]};
    squares += double{values[i]} * double{values[i]};
  }
  CHECK(sum == Approx(0).margin(1e-4));
  CHECK(squares == Approx(63));
  settings.normalize = Normalize::recording;
  CHECK(make({"Fp1", "Fp2"}, {golden_signal(), twice}, settings, {0, 64}).normalized.size() == 1);
}

TEST_CASE("Missing channels are zero or NaN on the array's scale") {
  SpectrogramSettings settings = short_frames();
  settings.signal.channels = parse_channels("O2,Fp1");
  settings.signal.missing = MissingPolicy::zero;
  const Spectrogram zero = make({"Fp1"}, {golden_signal()}, settings, {0, 64});
  CHECK(zero.missing == std::vector<bool>{true, false});
  CHECK(values_of(zero)[0] == 0);
  CHECK(values_of(zero)[63 + 14] > 0);
  settings.log = LogScale::decibels;
  CHECK(values_of(make({"Fp1"}, {golden_signal()}, settings, {0, 64}))[0] == -100);
  settings.signal.missing = MissingPolicy::nan;
  CHECK(std::isnan(values_of(make({"Fp1"}, {golden_signal()}, settings, {0, 64}))[0]));
}

TEST_CASE("Narrow types report what they lose") {
  SpectrogramSettings settings = short_frames();
  settings.type = NpyType::uint8;
  settings.uint8_scale = Uint8Scale{0.03, 0.05};
  const Spectrogram made = make({"Fp1"}, {golden_signal()}, settings, {0, 64});
  CHECK(made.losses.too_large > 0);
  CHECK(made.losses.too_small > 0);
  CHECK(made.warnings.size() == 2);
  settings.uint8_scale.reset();
  const Spectrogram own = make({"Fp1"}, {golden_signal()}, settings, {0, 64});
  CHECK(own.losses.too_large == 0);
  REQUIRE(own.uint8_scale);
  CHECK(own.uint8_scale->high > 0.0595);
}

TEST_CASE("Statistics and overviews instead of, or beside, the array") {
  const Spectrogram gathered = make({"Fp1"}, {golden_signal()}, short_frames(), {0, 64},
                                    Outside::zero, {.statistics = true, .overview = false});
  CHECK(gathered.array == nullptr);
  REQUIRE(gathered.statistics);
  CHECK(gathered.statistics->of(0, 2).count == 7);
  const Spectrogram seen = make({"Fp1"}, {golden_signal()}, short_frames(), {0, 64}, Outside::zero,
                                {.statistics = false, .overview = true});
  REQUIRE(seen.overview);
  CHECK(seen.overview->values == values_of(seen));
}

}  // namespace
}  // namespace prep::signal::signal_spectrogram_test
