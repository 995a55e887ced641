// The options of prep-spectrogram, as words and as settings.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/signal/spectrogram_settings.h"
#include "tools/recording_source.h"

namespace prep {

class SpectrogramOptions {
 public:
  void declare(CLI::App& app);

  // After parsing. All throw Error usage where options don't go together, or as reading the files
  // that they name does.
  signal::SpectrogramSettings settings();
  RecordingOptions recordings(const signal::SpectrogramSettings& settings);

  // The files that are read for options, with a hash of what is in them: part of what decides an
  // output's bytes.
  const std::map<std::string, std::string>& files() const { return files_; }
  const std::string& stats_path() const { return stats_; }
  bool preview() const { return preview_; }

 private:
  // What a preset says of options that are not given.
  struct Preset {
    signal::Detrend detrend;
    signal::Center center;
    signal::Scaling scaling;
    bool window_centred;
  };

  void declare_signal(CLI::App& app);
  void declare_epochs(CLI::App& app);
  void declare_transform(CLI::App& app);
  void declare_values(CLI::App& app);
  void declare_inputs(CLI::App& app);

  std::string read_file(const std::string& path);
  std::string list_or_file(const std::string& word);
  signal::SignalSettings signal_settings();
  signal::StftSettings stft_settings() const;
  void set_type(signal::SpectrogramSettings& settings) const;
  void set_log(signal::SpectrogramSettings& settings) const;
  void set_normalize(signal::SpectrogramSettings& settings);
  void use_hms(signal::SpectrogramSettings& settings) const;

  std::string channels_, montage_ = "none", missing_ = "error";
  std::optional<double> rate_, highpass_, lowpass_;
  std::string notches_;
  std::optional<double> epoch_, stride_;
  std::string events_, gaps_ = "split", pad_ = "none";
  std::string preset_ = "scipy";
  std::optional<std::string> window_, detrend_, center_, mode_, scaling_;
  std::optional<std::size_t> nperseg_, hop_, nfft_;
  std::string precision_ = "float";
  std::optional<double> fmin_, fmax_;
  std::string bands_;
  std::optional<std::size_t> mels_;
  std::string log_ = "none", normalize_ = "none", stats_, dtype_ = "float32", layout_ = "CFT";
  bool preview_ = false;
  std::string unit_, npy_layout_ = "channels-time", channel_names_, time_column_ = "auto";
  std::optional<double> rate_in_;
  std::vector<std::string> parts_;
  std::map<std::string, std::string> files_;
};

}  // namespace prep
