#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "lib/signal/spectrogram_json.h"

namespace prep::signal::signal_spectrogram_json_test {
namespace {

using nlohmann::json;

Spectrogram two_channels() {
  Spectrogram made;
  made.shape = {2, 3, 4};
  made.channels = {"Fp1", "a\"b"};
  made.units = {"\xc2\xb5V", ""};
  made.missing = {false, true};
  made.axis.bins = {0, 3};
  made.axis.centres = {0, 4, 8};
  made.rate = 64;
  made.first_time = 0.125;
  made.time_step = 0.0625;
  made.nan_frames = {{{1, 3}}, {}};
  return made;
}

TEST_CASE("What stands beside an array") {
  RecordingInfo info;
  info.format = "EDF+D";
  info.start = "2020-01-31T23:59:59";
  SpectrogramSettings settings;
  settings.layout = Layout::ctf;
  const std::string text =
      spectrogram_json(two_channels(), settings, {"edf", &info, {}, 0, 1, nullptr}, {"odd"});
  CHECK(text.back() == '\n');
  CHECK(text.find('\n') == text.size() - 1);
  const json found = json::parse(text);
  CHECK(found["format"] == "prep-spectrogram");
  CHECK(found["version"] == 1);
  CHECK(found["source"] ==
        json{{"name", "edf"}, {"format", "EDF+D"}, {"start", "2020-01-31T23:59:59"}});
  CHECK(found["array"] == json{{"dtype", "<f4"}, {"layout", "CTF"}, {"shape", {2, 4, 3}}});
  CHECK(found["channels"][0] ==
        json{{"name", "Fp1"}, {"unit", "\xc2\xb5V"}, {"nan_frames", {{1, 3}}}});
  CHECK(found["channels"][1] == json{{"name", "a\"b"}, {"unit", nullptr}, {"missing", true}});
  CHECK(found["frequencies"] == json{0, 4, 8});
  CHECK(found["times"] == json{{"first", 0.125}, {"step", 0.0625}, {"count", 4}});
  CHECK(found["settings"]["window"] == "hann");
  CHECK(found["warnings"] == json{"odd"});
  CHECK_FALSE(found.contains("epoch"));
  CHECK_FALSE(found.contains("bands"));
}

TEST_CASE("Epochs, norms, bands and scales") {
  Spectrogram made = two_channels();
  made.axis.bank = FilterBank{{{"alpha", 8, 13, 2, {1}}}};
  made.normalized = {{10, 1.5, 0.5}};
  made.uint8_scale = Uint8Scale{-40, 60};
  made.dead_pairs = {{true, false, false, false}, {}};
  const RecordingInfo info;
  const Annotation event{3, std::nullopt, "seiz\xff"};
  const json found = json::parse(
      spectrogram_json(made, SpectrogramSettings(), {"edf", &info, 7, 2.5, 1, &event}, {}));
  CHECK(found["source"]["start"] == nullptr);
  CHECK(found["epoch"]["number"] == 7);
  CHECK(found["epoch"]["start"] == 2.5);
  CHECK(found["epoch"]["duration"] == 1);
  CHECK(found["epoch"]["event"]["onset"] == 3);
  CHECK(found["epoch"]["event"]["duration"] == nullptr);
  CHECK(found["bands"] == json{{{"name", "alpha"}, {"low", 8}, {"high", 13}}});
  CHECK(found["normalized_by"] == json{{"mean", {1.5}}, {"deviation", {0.5}}});
  CHECK(found["uint8"] == json{{"low", -40}, {"high", 60}});
  CHECK(found["channels"][0]["dead_pairs"] == json{true, false, false, false});
}

}  // namespace
}  // namespace prep::signal::signal_spectrogram_json_test
