#include "lib/signal/spectrogram_settings.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

using nlohmann::ordered_json;

void check_rates(const SpectrogramSettings& s) {
  const auto positive = [](const std::optional<double>& value, std::string_view name) {
    if (value && !(std::isfinite(*value) && *value > 0)) {
      fail(Code::usage, "{} {}: it has to be above 0", name, *value);
    }
  };
  positive(s.signal.rate, "--rate");
  positive(s.signal.highpass, "--highpass");
  positive(s.signal.lowpass, "--lowpass");
  for (const double notch : s.signal.notches) positive(notch, "--notch");
  if (s.signal.highpass && s.signal.lowpass && *s.signal.highpass >= *s.signal.lowpass) {
    fail(Code::usage, "--highpass {} and --lowpass {} leave nothing", *s.signal.highpass,
         *s.signal.lowpass);
  }
}

void check_frequencies(const SpectrogramSettings& s) {
  if (!s.bands.empty() && s.mels > 0) fail(Code::usage, "--bands and --mel exclude each other");
  if (!s.bands.empty() && (s.fmin || s.fmax)) {
    fail(Code::usage, "--bands have limits of their own: leave out --fmin and --fmax");
  }
  const double low = s.fmin.value_or(0);
  if (low < 0 || !std::isfinite(low)) fail(Code::usage, "--fmin {}: 0 is the least", low);
  if (s.fmax && !(*s.fmax >= low && std::isfinite(*s.fmax))) {
    fail(Code::usage, "--fmax {} is below --fmin {}", *s.fmax, low);
  }
}

void check_complex(const SpectrogramSettings& s) {
  if (s.stft.mode != Mode::complex) return;
  if (s.type != NpyType::complex64) {
    fail(Code::usage, "--mode complex gives complex64 and no other --dtype");
  }
  if (!s.bands.empty() || s.mels > 0 || s.log != LogScale::none || s.normalize != Normalize::none) {
    fail(Code::usage, "--mode complex goes with no --bands, --mel, --log or --normalize");
  }
}

std::string_view word(Detrend detrend) {
  return detrend == Detrend::none ? "none" : detrend == Detrend::constant ? "constant" : "linear";
}

std::string_view word(Center center) {
  return center == Center::none ? "none" : center == Center::reflect ? "reflect" : "zero";
}

std::string_view word(Mode mode) {
  return mode == Mode::psd ? "psd" : mode == Mode::magnitude ? "magnitude" : "complex";
}

std::string_view word(Scaling scaling) {
  return scaling == Scaling::none ? "none" : scaling == Scaling::density ? "density" : "spectrum";
}

std::string_view word(Montage::Kind montage) {
  return montage == Montage::Kind::none      ? "none"
         : montage == Montage::Kind::average ? "average"
                                             : "bipolar";
}

std::string_view word(LogScale log) {
  return log == LogScale::none ? "none" : log == LogScale::natural ? "log" : "db";
}

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json bands_json(const std::vector<Band>& bands) {
  if (bands.empty()) return nullptr;
  ordered_json list = ordered_json::array();
  for (const Band& band : bands) list.push_back({band.low, band.high});
  return list;
}

void add_transform(const SpectrogramSettings& s, ordered_json& json) {
  json["window"] = window_name(s.stft.window);
  json["nperseg"] = s.stft.nperseg;
  json["hop"] = s.stft.hop;
  json["nfft"] = s.stft.nfft;
  json["window_centred"] = s.stft.window_centred;
  json["detrend"] = word(s.stft.detrend);
  json["center"] = word(s.stft.center);
  json["mode"] = word(s.stft.mode);
  json["scaling"] = word(s.stft.scaling);
  json["fmin"] = optional_json(s.fmin);
  json["fmax"] = optional_json(s.fmax);
  json["bands"] = bands_json(s.bands);
  json["mel"] = s.mels;
  json["log"] = word(s.log);
  json["top"] = optional_json(s.top);
}

}  // namespace

void SpectrogramSettings::validate() const {
  check_rates(*this);
  check_frequencies(*this);
  check_complex(*this);
  if (top && !(std::isfinite(*top) && *top > 0)) {
    fail(Code::usage, "--log db:{}: it has to be above 0", *top);
  }
  if (uint8_scale && !(std::isfinite(uint8_scale->low) && std::isfinite(uint8_scale->high) &&
                       uint8_scale->low < uint8_scale->high)) {
    fail(Code::usage, "--dtype uint8:{}:{} is no range", uint8_scale->low, uint8_scale->high);
  }
  if (!hms) Stft<float>{stft};
}

ordered_json settings_json(const SpectrogramSettings& s) {
  ordered_json json;
  json["highpass"] = optional_json(s.signal.highpass);
  json["lowpass"] = optional_json(s.signal.lowpass);
  json["notch"] = s.signal.notches;
  json["rate"] = optional_json(s.signal.rate);
  json["montage"] = word(s.signal.montage.kind);
  if (s.hms) {
    json["preset"] = "hms";
  } else {
    add_transform(s, json);
  }
  return json;
}

}  // namespace prep::signal
