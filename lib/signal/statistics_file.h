// Mean and standard deviation of every channel and frequency, gathered over a data set and written
// to a file, by which other runs normalise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/spectrogram_settings.h"
#include "lib/signal/statistics.h"

namespace prep::signal {

// Gathers. Any number of threads may add at once; what comes out does not depend on their order.
class StatisticsCollector {
 public:
  // `statistics` has the channels of these names and these frequencies (Hz).
  void add(const std::vector<std::string>& channels, const std::vector<double>& frequencies,
           const Statistics& statistics);
  std::uint64_t arrays() const { return arrays_; }
  // The file, as JSON text. throws Error(empty) where nothing was gathered, and usage where
  // arrays have different frequencies.
  std::string text(const SpectrogramSettings& settings) const;

 private:
  using ByName = std::map<std::string, Statistics>;

  std::mutex mutex_;
  std::uint64_t arrays_ = 0;
  std::map<std::vector<double>, ByName> by_frequencies_;
};

// Reads.
class StatisticsFile {
 public:
  // `name` is for messages. throws Error(corrupt) for what is no such file, Error(usage) where it
  // was made with other settings.
  StatisticsFile(std::string_view text, std::string_view name, const SpectrogramSettings& settings);

  // By frequency. throws Error(not_found) for a channel that is not in it, Error(unsupported) for
  // other frequencies.
  const std::vector<Moments>& of(const std::string& channel,
                                 const std::vector<double>& frequencies) const;

 private:
  std::string name_;
  std::vector<double> frequencies_;
  std::map<std::string, std::vector<Moments>> channels_;
};

}  // namespace prep::signal
