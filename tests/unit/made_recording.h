// A recording whose samples a test has made up.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/signal/recording.h"

namespace prep::signal {

class MadeRecording final : public Recording {
 public:
  // Channel c holds samples[c], in microvolts. Its name is names[c].
  MadeRecording(double rate, const std::vector<std::string>& names,
                std::vector<std::vector<double>> samples)
      : samples_(std::move(samples)) {
    info_.format = "made";
    info_.record_duration = 1 / rate;
    for (std::size_t c = 0; c < samples_.size(); ++c) {
      Channel channel;
      channel.label = channel.name = names[c];
      channel.file_unit = channel.unit = "\xc2\xb5V";
      channel.unit_known = true;
      channel.rate = rate;
      channel.samples_per_record = 1;
      channel.samples = samples_[c].size();
      info_.channels.push_back(std::move(channel));
    }
    info_.segments.push_back({0, 0, samples_[0].size()});
  }

  // Each with its start in seconds and its length in samples, instead of one that holds them all.
  void set_segments(const std::vector<std::pair<double, std::uint64_t>>& segments) {
    info_.segments.clear();
    std::uint64_t first = 0;
    for (const auto& [start, samples] : segments) {
      info_.segments.push_back({start, first, samples});
      first += samples;
    }
  }
  RecordingInfo& change_info() { return info_; }

 private:
  template <typename T>
  void copy(std::span<const ReadRequest<T>> requests) const {
    for (const ReadRequest<T>& request : requests) {
      for (std::size_t i = 0; i < request.out.size(); ++i) {
        request.out[i] = static_cast<T>(samples_[request.channel][request.first + i]);
      }
    }
  }
  void do_read(std::span<const ReadRequest<float>> requests) const override { copy(requests); }
  void do_read(std::span<const ReadRequest<double>> requests) const override { copy(requests); }

  std::vector<std::vector<double>> samples_;
};

}  // namespace prep::signal
