// Runs one function of lib/signal, so that scripts can compare it with scipy.
//
//     signal_driver COMMAND [NAME=VALUE]... < doubles > doubles
//
// Numbers are native doubles, raw. The commands stand at the end of the file. With block=N frames
// or outputs are made N at a time, each from no more samples than are needed.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/core/error.h"
#include "lib/signal/array_encoding.h"
#include "lib/signal/filter.h"
#include "lib/signal/filter_bank.h"
#include "lib/signal/hms.h"
#include "lib/signal/log_scale.h"
#include "lib/signal/resample.h"
#include "lib/signal/statistics.h"
#include "lib/signal/stft.h"
#include "lib/signal/window.h"

namespace prep::signal {
namespace {

using Values = std::vector<double>;

class Arguments {
 public:
  explicit Arguments(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) fail(Code::usage, "{} is not NAME=VALUE", word);
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto at = values_.find(name);
    return at == values_.end() ? otherwise : at->second;
  }
  double number(const std::string& name, double otherwise = 0) const {
    const std::string word = text(name);
    return word.empty() ? otherwise : std::stod(word);
  }
  std::size_t size(const std::string& name, std::size_t otherwise = 0) const {
    return static_cast<std::size_t>(number(name, static_cast<double>(otherwise)));
  }
  // Which of the words the value is, the first one by default.
  template <typename Enum>
  Enum choice(const std::string& name, const std::vector<std::string>& words) const {
    const std::string word = text(name, words[0]);
    const auto at = std::find(words.begin(), words.end(), word);
    if (at == words.end()) fail(Code::usage, "{}={}", name, word);
    return static_cast<Enum>(at - words.begin());
  }

 private:
  std::map<std::string, std::string> values_;
};

Values read_values() {
  Values values;
  double buffer[4096];
  while (const std::size_t count = std::fread(buffer, sizeof(double), std::size(buffer), stdin)) {
    values.insert(values.end(), buffer, buffer + count);
  }
  return values;
}

StftSettings stft_settings(const Arguments& arguments) {
  StftSettings settings;
  settings.rate = arguments.number("rate", 1);
  settings.window = parse_window(arguments.text("window", "hann"));
  settings.nperseg = arguments.size("nperseg", 256);
  settings.hop = arguments.size("hop", settings.nperseg / 2);
  settings.nfft = arguments.size("nfft", settings.nperseg);
  settings.detrend = arguments.choice<Detrend>("detrend", {"none", "constant", "linear"});
  settings.center = arguments.choice<Center>("center", {"none", "reflect", "zero"});
  settings.window_centred = arguments.size("centred") != 0;
  settings.scaling = arguments.choice<Scaling>("scaling", {"density", "spectrum", "none"});
  settings.mode = arguments.choice<Mode>("mode", {"psd", "magnitude", "complex"});
  return settings;
}

// Hands over a part of the signal that holds just `range`, in memory of that size.
template <typename T>
std::vector<T> cut(const Values& signal, Range range) {
  return {signal.begin() + range.first, signal.begin() + range.last};
}

template <typename T, typename Out>
Values spectrogram(const Arguments& arguments, const Values& signal) {
  const Stft<T> stft(stft_settings(arguments));
  const auto total = static_cast<std::int64_t>(signal.size());
  stft.check_length(total);
  const std::int64_t frames = stft.frames(total);
  const auto block = static_cast<std::int64_t>(arguments.size("block", signal.size()));
  const Range bins{0, static_cast<std::int64_t>(stft.bins())};
  std::vector<Out> out(stft.bins() * static_cast<std::size_t>(frames));
  for (std::int64_t first = 0; first < frames; first += block) {
    const Range some{first, std::min(frames, first + block)};
    const Range needed = stft.samples_for(some, total);
    const std::vector<T> samples = cut<T>(signal, needed);
    stft.run({samples, needed.first, total}, some, bins, out.data() + first,
             static_cast<std::size_t>(frames), nullptr);
  }
  Values values;
  for (const Out& value : out) {
    if constexpr (std::is_same_v<Out, T>) {
      values.push_back(value);
    } else {
      values.insert(values.end(), {value.real(), value.imag()});
    }
  }
  return values;
}

template <typename T>
Values spectrogram_of(const Arguments& arguments, const Values& signal) {
  if (stft_settings(arguments).mode == Mode::complex) {
    return spectrogram<T, std::complex<T>>(arguments, signal);
  }
  return spectrogram<T, T>(arguments, signal);
}

Values run_stft(const Arguments& arguments) {
  const Values signal = read_values();
  return arguments.text("precision", "double") == "float"
             ? spectrogram_of<float>(arguments, signal)
             : spectrogram_of<double>(arguments, signal);
}

Values run_window(const Arguments& arguments) {
  return make_window(parse_window(arguments.text("window")), arguments.size("length"));
}

Filter make_filter(const Arguments& arguments) {
  const double hz = arguments.number("hz"), rate = arguments.number("rate");
  const auto order = static_cast<int>(arguments.number("order", 4));
  const std::string kind = arguments.text("kind");
  if (kind == "highpass") return make_highpass(hz, rate, order);
  if (kind == "lowpass") return make_lowpass(hz, rate, order);
  return make_notch(hz, rate, arguments.number("quality", 30));
}

Values run_filter(const Arguments& arguments) {
  Values signal = read_values();
  filter_zero_phase(make_filter(arguments), signal);
  return signal;
}

template <typename T>
Values resampled(const Arguments& arguments, const Values& signal) {
  const Resampler resampler({static_cast<std::int64_t>(arguments.size("up")),
                             static_cast<std::int64_t>(arguments.size("down"))},
                            arguments.choice<ResampleEdge>("edge", {"zero", "repeat"}));
  const auto total = static_cast<std::int64_t>(signal.size());
  const std::int64_t length = resampler.output_length(total);
  const std::int64_t block =
      static_cast<std::int64_t>(arguments.size("block", static_cast<std::size_t>(length)));
  std::vector<T> out(static_cast<std::size_t>(length));
  for (std::int64_t first = 0; first < length; first += block) {
    const Range some{first, std::min(length, first + block)};
    const Range needed = resampler.samples_for(some, total);
    const std::vector<T> samples = cut<T>(signal, needed);
    resampler.run<T>({samples, needed.first, total}, some, out.data() + first);
  }
  return {out.begin(), out.end()};
}

Values run_resample(const Arguments& arguments) {
  const Values signal = read_values();
  return arguments.text("precision", "double") == "float" ? resampled<float>(arguments, signal)
                                                          : resampled<double>(arguments, signal);
}

Values run_ratio(const Arguments& arguments) {
  const Ratio ratio = rate_ratio(arguments.number("from"), arguments.number("to"));
  return {static_cast<double>(ratio.up), static_cast<double>(ratio.down)};
}

// The bank as a matrix [rows, bins].
Values run_bank(const Arguments& arguments) {
  const double rate = arguments.number("rate");
  const std::size_t nfft = arguments.size("nfft");
  const std::string bands = arguments.text("bands");
  const FilterBank bank = bands.empty()
                              ? make_mel_bank(arguments.size("mels"), arguments.number("low"),
                                              arguments.number("high"), rate, nfft)
                              : make_band_bank(parse_bands(bands), rate, nfft);
  const std::size_t bins = nfft / 2 + 1;
  Values unit(bins * bins), matrix(bank.rows.size() * bins);
  for (std::size_t i = 0; i < bins; ++i) unit[i * bins + i] = 1;
  apply_bank(bank, 0, unit.data(), bins, bins, matrix.data(), bins);
  return matrix;
}

Values run_decibels(const Arguments& arguments) {
  Values values = read_values();
  Decibels decibels;
  decibels.reference = arguments.number("reference", 1);
  decibels.least = arguments.number("least", 1e-10);
  if (!arguments.text("floor").empty()) decibels.floor = arguments.number("floor");
  to_decibels<double>(values, decibels);
  return values;
}

Values run_logarithms(const Arguments& arguments) {
  Values values = read_values();
  to_logarithms<double>(values, arguments.number("least", 1e-10));
  return values;
}

Values run_float16(const Arguments&) {
  const Values values = read_values();
  Values halves;
  for (const double value : values) halves.push_back(to_float16(static_cast<float>(value)));
  return halves;
}

Values run_statistics(const Arguments& arguments) {
  const Values values = read_values();
  const std::vector<float> floats(values.begin(), values.end());
  const std::size_t block = arguments.size("block", floats.size());
  Statistics all(1, 1);
  for (std::size_t i = 0; i < floats.size(); i += block) {
    Statistics some(1, 1);
    some.add(0, 0, std::span(floats).subspan(i, std::min(block, floats.size() - i)));
    all.merge(some);
  }
  const Moments moments = all.of(0, 0);
  return {static_cast<double>(moments.count), moments.mean, moments.deviation};
}

// Five electrodes, one after the other.
Values run_hms(const Arguments&) {
  const Values signals = read_values();
  std::array<std::span<const double>, 5> electrodes;
  const std::size_t length = signals.size() / electrodes.size();
  for (std::size_t i = 0; i < electrodes.size(); ++i) {
    electrodes[i] = std::span(signals).subspan(i * length, length);
  }
  const HmsImage image = HmsSpectrogram().chain(electrodes);
  return {image.values.begin(), image.values.end()};
}

const std::map<std::string_view, std::function<Values(const Arguments&)>> kCommands = {
    {"bank", run_bank},       {"decibels", run_decibels}, {"filter", run_filter},
    {"float16", run_float16}, {"hms", run_hms},           {"logarithms", run_logarithms},
    {"ratio", run_ratio},     {"resample", run_resample}, {"statistics", run_statistics},
    {"stft", run_stft},       {"window", run_window},
};

int run(int argc, char** argv) {
  const auto command = kCommands.find(argc > 1 ? argv[1] : "");
  if (command == kCommands.end()) fail(Code::usage, "signal_driver COMMAND [NAME=VALUE]...");
  const Values values = command->second(Arguments({argv + 2, argv + argc}));
  const std::size_t written = std::fwrite(values.data(), sizeof(double), values.size(), stdout);
  return written == values.size() && std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace prep::signal

int main(int argc, char** argv) {
  try {
    return prep::signal::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "signal_driver: %s\n", error.what());
    return 2;
  }
}
