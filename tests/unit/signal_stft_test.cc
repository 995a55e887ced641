#include <hwy/targets.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/stft.h"

namespace prep::signal::signal_stft_test {
namespace {

using Values = std::vector<double>;
constexpr double kPi = std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Memory of just the samples that the frames need, so that the sanitizer sees every slip.
template <typename T, typename Out = T>
std::vector<Out> transformed(const Stft<T>& stft, const std::vector<T>& signal, std::int64_t block,
                             std::vector<std::int64_t>* touched = nullptr) {
  const auto total = static_cast<std::int64_t>(signal.size());
  const std::int64_t frames = stft.frames(total);
  std::vector<Out> out(stft.bins() * static_cast<std::size_t>(frames));
  for (std::int64_t first = 0; first < frames; first += block) {
    const Range some{first, std::min(frames, first + block)};
    const Range needed = stft.samples_for(some, total);
    const std::vector<T> part(signal.begin() + needed.first, signal.begin() + needed.last);
    stft.run({part, needed.first, total}, some, {0, static_cast<std::int64_t>(stft.bins())},
             out.data() + first, static_cast<std::size_t>(frames), touched);
  }
  return out;
}

template <typename T = double>
std::vector<T> first_golden() {
  std::vector<T> x;
  for (int n = 0; n < 64; ++n) {
    x.push_back(static_cast<T>(std::sin(2 * kPi * 10 * n / 64) +
                               0.5 * std::cos(2 * kPi * 20 * n / 64 + 0.3) + 0.25));
  }
  return x;
}

template <typename T = double>
std::vector<T> second_golden() {
  std::vector<T> x;
  for (int n = 0; n < 64; ++n) {
    x.push_back(
        static_cast<T>(0.01 * n + (n % 2 == 0 ? 0.5 : -0.5) + std::sin(2 * kPi * 5.5 * n / 64)));
  }
  return x;
}

StftSettings golden_settings(std::size_t nperseg = 16, std::size_t hop = 8, std::size_t nfft = 16) {
  StftSettings settings;
  settings.rate = 64;
  settings.nperseg = nperseg;
  settings.hop = hop;
  settings.nfft = nfft;
  return settings;
}

template <typename T = double>
double golden_sum(const StftSettings& settings) {
  const Stft<T> stft(settings);
  double sum = 0;
  for (const auto& signal : {first_golden<T>(), second_golden<T>()}) {
    for (const T value : transformed(stft, signal, 100)) sum += static_cast<double>(value);
  }
  return sum;
}

template <typename T>
std::vector<T> noise(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(length);
  for (T& value : x) value = static_cast<T>(random() % 20001) / T{100} - T{100};
  return x;
}

TEST_CASE("A spectrogram is scipy's: power densities") {
  const Stft<double> stft(golden_settings());
  REQUIRE(stft.bins() == 9);
  REQUIRE(stft.frames(64) == 7);
  CHECK(stft.time(0) == 0.125);
  CHECK(stft.time(6) == 0.875);
  CHECK(stft.frequency(8) == 32);
  const Values x0 = transformed(stft, first_golden(), 100);
  const Values x1 = transformed(stft, second_golden(), 100);
  CHECK(x0[2 * 7 + 0] == Approx(0.0595518073293505).epsilon(1e-12));
  CHECK(x0[3 * 7 + 0] == Approx(0.0602878529730589).epsilon(1e-12));
  CHECK(x0[5 * 7 + 3] == Approx(0.0214841940880298).epsilon(1e-12));
  CHECK(x1[0 * 7 + 0] == Approx(0.0250258542297621).epsilon(1e-12));
  CHECK(x1[8 * 7 + 6] == Approx(0.0417718604853009).epsilon(1e-12));
  double squares = 0;
  for (const double value : x0) squares += value * value;
  for (const double value : x1) squares += value * value;
  CHECK(squares == Approx(0.145981503518002).epsilon(1e-12));
}

TEST_CASE("A spectrogram is scipy's: detrending, scaling, odd lengths, zeros at the end") {
  StftSettings settings = golden_settings();
  CHECK(golden_sum(settings) == Approx(2.6520020853878).epsilon(1e-12));
  settings.detrend = Detrend::linear;
  CHECK(golden_sum(settings) == Approx(2.61961419643841).epsilon(1e-12));
  settings.detrend = Detrend::none;
  CHECK(golden_sum(settings) == Approx(2.6951665351199).epsilon(1e-12));
  settings.detrend = Detrend::constant;
  settings.scaling = Scaling::spectrum;
  CHECK(golden_sum(settings) == Approx(15.9120125123268).epsilon(1e-12));
  CHECK(golden_sum(golden_settings(15, 7, 15)) == Approx(2.8503049600411).epsilon(1e-12));
  settings = golden_settings(15, 3, 32);
  settings.detrend = Detrend::linear;
  settings.scaling = Scaling::spectrum;
  CHECK(golden_sum(settings) == Approx(79.0933677133553).epsilon(1e-12));
  CHECK(golden_sum<float>(settings) == Approx(79.0933677133553).epsilon(2e-6));
}

TEST_CASE("Frames around samples are torch's and librosa's") {
  StftSettings settings = golden_settings();
  settings.detrend = Detrend::none;
  settings.scaling = Scaling::none;
  settings.window_centred = true;
  CHECK(golden_sum(settings) == Approx(620.327138620004).epsilon(1e-12));
  settings.center = Center::reflect;
  CHECK(golden_sum(settings) == Approx(914.433570877814).epsilon(1e-12));
  CHECK(golden_sum<float>(settings) == Approx(914.433570877814).epsilon(2e-6));
  settings.center = Center::zero;
  CHECK(golden_sum(settings) == Approx(729.569721949783).epsilon(1e-12));
  CHECK(Stft<double>(settings).frames(64) == 9);
  CHECK(Stft<double>(settings).time(8) == 1);
}

TEST_CASE("Every length is transformed as its definition says") {
  std::vector<std::size_t> lengths(140);
  std::iota(lengths.begin(), lengths.end(), 1);
  lengths.insert(lengths.end(), {211, 256, 360, 401, 422, 1000, 1155});
  for (const std::size_t n : lengths) {
    StftSettings settings = golden_settings(n, 1, n);
    settings.window.kind = Window::Kind::boxcar;
    settings.detrend = Detrend::none;
    settings.scaling = Scaling::none;
    settings.mode = Mode::complex;
    const Values x = noise<double>(n, static_cast<unsigned>(n));
    const auto spectrum = transformed<double, std::complex<double>>(Stft<double>(settings), x, 1);
    const std::vector<float> floats(x.begin(), x.end());
    const auto rough = transformed<float, std::complex<float>>(Stft<float>(settings), floats, 1);
    const double size = 100 * std::sqrt(static_cast<double>(n));
    CAPTURE(n);
    REQUIRE(spectrum.size() == n / 2 + 1);
    for (std::size_t k = 0; k < spectrum.size(); ++k) {
      std::complex<double> sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        sum += x[j] *
               std::polar(1.0, -2 * kPi * static_cast<double>(j * k % n) / static_cast<double>(n));
      }
      REQUIRE(std::abs(spectrum[k] - sum) < 1e-14 * size);
      REQUIRE(std::abs(std::complex<double>(rough[k]) - sum) < 1e-6 * size);
    }
  }
}

TEST_CASE("How frames are divided over calls does not show") {
  for (const Center center : {Center::none, Center::reflect, Center::zero}) {
    StftSettings settings = golden_settings(30, 7, 48);
    settings.center = center;
    settings.window_centred = center == Center::zero;
    const Stft<float> stft(settings);
    const std::vector<float> x = noise<float>(2000, 1);
    const std::vector<float> whole = transformed(stft, x, 10000);
    for (const std::int64_t block : {1, 3, 16, 17, 100}) {
      CHECK(transformed(stft, x, block) == whole);
    }
  }
}

TEST_CASE("Some bins are the same as all") {
  const Stft<double> stft(golden_settings());
  const Values x = first_golden(), all = transformed(stft, x, 100);
  Values some(3 * 7);
  stft.run({x, 0, 64}, {0, 7}, {4, 7}, some.data(), 7, nullptr);
  CHECK(some == Values(all.begin() + 4 * 7, all.begin() + 7 * 7));
}

TEST_CASE("What is not finite spoils the frames that it is in") {
  for (const double bad : {kNan, std::numeric_limits<double>::infinity()}) {
    for (const Detrend detrend : {Detrend::none, Detrend::constant, Detrend::linear}) {
      StftSettings settings = golden_settings();
      settings.detrend = detrend;
      const Stft<double> stft(settings);
      Values x = first_golden();
      const Values sound = transformed(stft, x, 100);
      x[20] = bad;
      std::vector<std::int64_t> touched;
      const Values spoilt = transformed(stft, x, 100, &touched);
      CHECK(touched == std::vector<std::int64_t>{1, 2});
      for (std::size_t i = 0; i < sound.size(); ++i) {
        const bool hit = i % 7 == 1 || i % 7 == 2;
        CHECK((hit ? std::isnan(spoilt[i]) : spoilt[i] == sound[i]));
      }
    }
  }
}

TEST_CASE("A large offset costs no precision") {
  const std::vector<float> x = noise<float>(256, 3);
  std::vector<float> lifted = x;
  for (float& value : lifted) value = std::round(value) + 100000.0f;
  Values exact(lifted.begin(), lifted.end());
  for (const Detrend detrend : {Detrend::constant, Detrend::linear}) {
    StftSettings settings = golden_settings(256, 64, 256);
    settings.detrend = detrend;
    const std::vector<float> rough = transformed(Stft<float>(settings), lifted, 1);
    const Values fine = transformed(Stft<double>(settings), exact, 1);
    const double most = *std::max_element(fine.begin(), fine.end());
    for (std::size_t k = 0; k < fine.size(); ++k) {
      REQUIRE(std::fabs(static_cast<double>(rough[k]) - fine[k]) < 1e-6 * most);
    }
  }
}

TEST_CASE("Results are the same with every instruction set") {
  const std::int64_t supported = hwy::SupportedTargets();
  std::set<std::string> names;
  for (const std::size_t nfft : {256, 90, 77, 67, 134}) {
    for (const Mode mode : {Mode::psd, Mode::magnitude}) {
      StftSettings settings = golden_settings(67, 11, nfft);
      settings.detrend = mode == Mode::psd ? Detrend::constant : Detrend::linear;
      settings.mode = mode;
      const std::vector<float> floats = noise<float>(1000, 7);
      const Values doubles = noise<double>(1000, 8);
      std::vector<float> first_floats;
      Values first_doubles;
      for (std::int64_t left = supported; left != 0; left &= left - 1) {
        hwy::SetSupportedTargetsForTest(left & -left);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        names.insert(std::string(stft_target()));
        const std::vector<float> rough = transformed(Stft<float>(settings), floats, 1000);
        const Values fine = transformed(Stft<double>(settings), doubles, 1000);
        if (first_floats.empty()) first_floats = rough, first_doubles = fine;
        REQUIRE(rough == first_floats);
        REQUIRE(fine == first_doubles);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK(names.size() >= 2);
}

TEST_CASE("What is too short is refused") {
  StftSettings settings = golden_settings();
  CHECK(Stft<float>(settings).frames(15) == 0);
  CHECK(Stft<float>(settings).frames(16) == 1);
  CHECK_NOTHROW(Stft<float>(settings).check_length(16));
  CHECK_THROWS_WITH(Stft<float>(settings).check_length(15),
                    "15 samples are too few: one frame takes 16");
  settings.center = Center::reflect;
  CHECK(Stft<float>(settings).frames(8) == 0);
  CHECK(Stft<float>(settings).frames(9) == 2);
  CHECK_THROWS_WITH(Stft<float>(settings).check_length(8),
                    "8 samples are too few: one frame takes 9");
  settings.center = Center::zero;
  CHECK(Stft<float>(settings).frames(1) == 1);
  CHECK(Stft<float>(settings).frames(0) == 0);
}

TEST_CASE("Settings that make no sense are refused") {
  CHECK_THROWS_AS(Stft<float>(golden_settings(17, 8, 16)), Error);
  CHECK_THROWS_AS(Stft<float>(golden_settings(0, 8, 16)), Error);
  CHECK_THROWS_AS(Stft<float>(golden_settings(16, 0, 16)), Error);
  CHECK_THROWS_AS(Stft<float>(golden_settings(16, 8, kMaxTransform + 1)), Error);
  StftSettings settings = golden_settings();
  settings.rate = kNan;
  CHECK_THROWS_AS(Stft<float>(settings), Error);
  const Stft<float> stft(golden_settings());
  std::vector<float> x(64), out(9);
  CHECK_THROWS_AS(stft.run({x, 0, 64}, {6, 8}, {0, 9}, out.data(), 2, nullptr), Error);
  CHECK_THROWS_AS(stft.run({x, 10, 80}, {0, 1}, {0, 9}, out.data(), 1, nullptr), Error);
  CHECK_THROWS_AS(stft.run({x, 0, 64}, {0, 1}, {0, 10}, out.data(), 1, nullptr), Error);
}

}  // namespace
}  // namespace prep::signal::signal_stft_test
