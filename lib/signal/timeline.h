// Where a channel's samples lie in time: those of one segment, or of all segments with NaN in the
// gaps between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/signal/recording.h"
#include "lib/signal/stft.h"

namespace prep::signal {

class Timeline {
 public:
  // Of one segment, or of all. Gaps are rounded to samples. throws Error(unsupported) where
  // segments go back in time, Error(limit) for gaps of more than a day in all.
  Timeline(const RecordingInfo& info, std::size_t channel, std::optional<std::size_t> segment);

  std::int64_t length() const { return length_; }
  // Whether there is any sample of the file in it.
  bool has_samples(Range range) const;
  // What is to be read for samples [range.first, range.last), which go to `out`. Gaps are filled
  // with NaN at once.
  template <typename T>
  void request(Range range, T* out, std::vector<ReadRequest<T>>& requests) const;

 private:
  struct Piece {
    Range place;              // on this line
    std::uint64_t first = 0;  // of the file
  };

  void add_segments(const RecordingInfo& info);

  std::size_t channel_;
  std::int64_t length_ = 0;
  std::vector<Piece> pieces_;  // in order, not empty
};

}  // namespace prep::signal
