// A recording: channels of samples over time, whatever the file's format.
//
// Times are seconds from the recording's start. Samples of a channel are numbered from 0 over all
// segments as if there were no gaps between them. Voltages are in microvolts; what is no voltage,
// or of a unit that nobody told, is in the file's own unit.
//
// Messages of errors and warnings don't name the file; the caller does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"

namespace prep::signal {

enum class ChannelKind {
  signal,
  status,       // triggers: left out unless asked for by name
  annotations,  // text, not samples: can't be read
};

struct Channel {
  std::string label;      // as in the file, as UTF-8
  std::string name;       // cleaned ("EEG FP1-REF" is "Fp1") and unique: a second one is "Fp1:2"
  std::string file_unit;  // as in the file, as UTF-8
  std::string unit;       // of the samples that are read: "µV", …, "" if not known
  bool unit_known = false;
  double rate = 0;                       // Hz; > 0 where there are samples
  std::uint64_t samples_per_record = 0;  // see Segment
  std::uint64_t samples = 0;
  ChannelKind kind = ChannelKind::signal;
  std::string fault;  // why it can't be read ("its digital range is empty"); "" if it can

  bool is_readable() const { return kind != ChannelKind::annotations && fault.empty(); }
};

// A stretch without gaps: `records` records from `first_record` on. A record is a format's smallest
// unit of time that all channels share; where there is none, one sample.
struct Segment {
  double start = 0;  // seconds
  std::uint64_t first_record = 0, records = 0;
};

struct SampleRange {
  std::uint64_t first = 0, count = 0;
};

struct Annotation {
  double onset = 0;  // seconds, on the time axis of the segments
  std::optional<double> duration;
  std::string text;  // UTF-8
};

struct RecordingInfo {
  std::string_view format;  // "EDF", "EDF+C", "EDF+D", "BDF", "BrainVision", "npy", "CSV", …
  std::vector<Channel> channels;
  std::vector<Segment> segments;        // at least one, in the file's order
  std::vector<Annotation> annotations;  // by onset
  double record_duration = 0;           // seconds
  std::optional<std::string> start;     // "2020-01-31T23:59:59", local time; null if not known
  std::vector<std::string> warnings;    // each said once

  SampleRange range(std::size_t channel, std::size_t segment) const {
    const std::uint64_t scale = channels[channel].samples_per_record;
    return {segments[segment].first_record * scale, segments[segment].records * scale};
  }
};

// What some files don't say themselves.
struct OpenOptions {
  std::string unit;                // of channels whose unit the file leaves open; "" if not given
  std::optional<double> rate;      // Hz: of a .npy, or of a CSV without a time column
  std::vector<std::string> names;  // of the channels of a .npy or of a CSV without a header row
  enum class NpyLayout { channels_time, time_channels } npy_layout = NpyLayout::channels_time;
  // automatic: a first column named "time", "t", "seconds", "timestamp", …, or one without a name
  // that rises evenly; first: the first column, in seconds, whatever its name; none: there is none.
  enum class TimeColumn { automatic, first, none } time_column = TimeColumn::automatic;
};

// Samples [first, first + out.size()) of a channel, and where they go.
template <typename T>
struct ReadRequest {
  std::size_t channel = 0;
  std::uint64_t first = 0;
  std::span<T> out;
};

// An open recording. Any number of threads may read at the same time.
class Recording {
 public:
  virtual ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const RecordingInfo& info() const { return info_; }
  // For what whoever opened it found odd. Not while others read.
  void add_warning(const std::string& warning) { info_.warnings.push_back(warning); }

  // Reads for several channels in one pass over the part of the file that the requests touch, in
  // bounded memory. Most formats interleave channels, so ask for all the channels of a stretch of
  // time at once. throws Error: usage for a channel that can't be read (its fault) or a range
  // outside of it; io, truncated.
  void read(std::span<const ReadRequest<float>> requests) const;
  void read(std::span<const ReadRequest<double>> requests) const;

  // One channel.
  template <typename T>
  void read(std::size_t channel, std::uint64_t first, std::span<T> out) const {
    const ReadRequest<T> request{channel, first, out};
    read(std::span<const ReadRequest<T>>(&request, 1));
  }

 protected:
  Recording() = default;
  // Ranges have been checked, none is empty.
  virtual void do_read(std::span<const ReadRequest<float>> requests) const = 0;
  virtual void do_read(std::span<const ReadRequest<double>> requests) const = 0;

  RecordingInfo info_;

 private:
  template <typename T>
  void check_and_read(std::span<const ReadRequest<T>> requests) const;
};

}  // namespace prep::signal
