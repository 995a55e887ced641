// Stretches without gaps, out of the times that records carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/signal/recording.h"

namespace prep::signal {

// Feed it every record in the file's order. A record that does not start where the one before it
// ended, within a tolerance, starts another segment.
class SegmentBuilder {
 public:
  // Seconds: how long a record lasts, and how far from it counts as a gap.
  SegmentBuilder(double record_duration, double tolerance)
      : duration_(record_duration), tolerance_(tolerance) {}

  // One record that starts at `time` (seconds); without a time, it goes on where the last ended.
  // throws Error limit for an absurd number of segments.
  void add(std::optional<double> time);
  // That many records without times.
  void add_untimed(std::uint64_t count);

  const std::vector<Segment>& segments() const { return segments_; }
  // What is odd about the times.
  std::vector<std::string> warnings() const;

 private:
  double duration_, tolerance_;
  std::vector<Segment> segments_;
  std::uint64_t records_ = 0;
  double expected_ = 0;  // where the next record starts if there is no gap
  double drift_ = 0;     // the most that a time departed from its segment's count of records
  bool backwards_ = false, untimed_ = false, timed_ = false;
};

}  // namespace prep::signal
