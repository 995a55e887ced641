// A recording's channels as they go into the transform: in their montage, filtered, resampled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/shared_work.h"
#include "lib/signal/filter.h"
#include "lib/signal/montage.h"
#include "lib/signal/recording.h"
#include "lib/signal/resample.h"
#include "lib/signal/scratch_rows.h"
#include "lib/signal/spectrogram_settings.h"
#include "lib/signal/timeline.h"

namespace prep::signal {

// Resamplers are costly to make; a data set needs a few. One thread at a time.
class ResamplerCache {
 public:
  const Resampler& get(const Ratio& ratio);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Resampler> resamplers_;
};

// What is done to one recording's channels.
struct SignalPlan {
  std::vector<OutputChannel> outputs;
  std::vector<std::size_t> average;                  // see ChannelPlan
  std::vector<std::vector<Filter>> filters;          // of each output, in this order
  std::vector<std::optional<Resampler>> resamplers;  // of each output
  double rate = 0;                                   // Hz, of all outputs
  std::vector<std::string> warnings;
};

// throws Error as plan_channels(), rate_ratio() and the filters do, and unsupported for outputs of
// different rates.
SignalPlan plan_signal(const RecordingInfo& info, const SignalSettings& settings,
                       ResamplerCache& resamplers);

// The outputs over one segment, or over all with NaN in the gaps. Sample i of all outputs is at
// start() + i / rate. Filters see the whole of it at once, so that no epoch shows where it was cut.
class PreparedSignal {
 public:
  PreparedSignal(std::shared_ptr<const Recording> recording, std::shared_ptr<const SignalPlan> plan,
                 std::optional<std::size_t> segment);

  const Recording& recording() const { return *recording_; }
  const SignalPlan& plan() const { return *plan_; }
  double start() const { return start_; }  // seconds
  std::int64_t length() const { return length_; }
  // Whether any of these samples comes from the file: not all lie in a gap.
  bool has_samples(Range range) const;

  // Runs the filters, if there are any. Called before read(), by any number of threads at once:
  // they share the work, and come back when it is done.
  void prepare(const Crew& crew);
  // What became of samples that could not be filtered; after prepare().
  std::vector<std::string> warnings() const;

  // The memory that read() and its output take for each sample of the signal, where a value of the
  // output has this many bytes: all outputs, and what they are resampled from and mixed of.
  std::size_t bytes_a_sample(std::size_t value_bytes) const;

  // Row o of `out` gets the samples of output o; rows lie `stride` apart. Those of missing outputs
  // are left alone. Any number of threads at once. T is float or double.
  template <typename T>
  void read(Range range, T* out, std::size_t stride) const;

 private:
  std::int64_t native_length(std::size_t output) const;
  Range native_range(std::size_t output, Range range) const;
  const Timeline& timeline(std::size_t channel) const { return *timelines_[channel]; }
  bool is_plain(std::size_t output) const;
  template <typename T>
  void read_mixed(const std::vector<Range>& ranges, const std::vector<T*>& rows) const;
  template <typename T>
  void read_native(const std::vector<Range>& ranges, const std::vector<T*>& rows) const;
  void make_scratch();
  void fill(std::size_t piece);
  void filter(std::size_t output);

  std::shared_ptr<const Recording> recording_;
  std::shared_ptr<const SignalPlan> plan_;
  std::vector<std::optional<Timeline>> timelines_;  // of the channels that are used
  double start_ = 0;
  std::int64_t length_ = 0;

  std::once_flag scratch_made_;
  std::unique_ptr<ScratchRows> filtered_;
  std::unique_ptr<SharedWork> filling_, filtering_;
  std::int64_t pieces_ = 0;
  std::vector<FilterGaps> gaps_;  // of each output
};

}  // namespace prep::signal
