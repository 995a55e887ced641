#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/spectrogram_settings.h"

namespace prep::signal::signal_spectrogram_settings_test {
namespace {

TEST_CASE("Settings that do not go together are wrong usage") {
  CHECK_NOTHROW(SpectrogramSettings().validate());
  const std::vector<std::function<void(SpectrogramSettings&)>> wrong{
      [](auto& s) { s.signal.rate = 0; },
      [](auto& s) { s.signal.highpass = -1; },
      [](auto& s) {
        s.signal.notches = {50, 0};
      },
      [](auto& s) { s.signal.highpass = s.signal.lowpass = 10; },
      [](auto& s) { s.fmin = -1; },
      [](auto& s) { s.fmin = 9, s.fmax = 8; },
      [](auto& s) { s.bands = parse_bands("alpha"), s.mels = 4; },
      [](auto& s) { s.bands = parse_bands("alpha"), s.fmax = 4; },
      [](auto& s) { s.stft.mode = Mode::complex; },
      [](auto& s) {
        s.stft.mode = Mode::complex;
        s.type = NpyType::complex64;
        s.log = LogScale::decibels;
      },
      [](auto& s) { s.top = 0; },
      [](auto& s) {
        s.uint8_scale = Uint8Scale{1, 1};
      },
      [](auto& s) { s.stft.nperseg = 0; },
      [](auto& s) { s.stft.nfft = 128; },
      [](auto& s) { s.stft.hop = 0; }};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    SpectrogramSettings settings;
    wrong[i](settings);
    INFO(i);
    try {
      settings.validate();
      FAIL("was taken");
    } catch (const Error& error) {
      CHECK(error.code() == Code::usage);
    }
  }
}

TEST_CASE("Settings as JSON tell what values mean, not how they are stored") {
  SpectrogramSettings settings;
  const nlohmann::ordered_json plain = settings_json(settings);
  CHECK(plain["window"] == "hann");
  CHECK(plain["fmin"] == nullptr);
  CHECK(plain["bands"] == nullptr);
  settings.layout = Layout::ftc;
  settings.type = NpyType::float16;
  settings.precision = Precision::twofold;
  CHECK(settings_json(settings) == plain);
  settings.bands = parse_bands("alpha");
  settings.log = LogScale::decibels;
  settings.top = 80;
  const nlohmann::ordered_json other = settings_json(settings);
  CHECK(other["bands"] == nlohmann::ordered_json{{8.0, 13.0}});
  CHECK(other["log"] == "db");
  CHECK(other["top"] == 80);
  settings.hms = true;
  CHECK(settings_json(settings)["preset"] == "hms");
  CHECK_FALSE(settings_json(settings).contains("window"));
}

}  // namespace
}  // namespace prep::signal::signal_spectrogram_settings_test
