// Recordings that are a plain array of channels and samples: BrainVision, .npy, CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/signal/random_access.h"
#include "lib/signal/recording.h"
#include "lib/signal/sample_decoder.h"

namespace prep::signal {

struct ArrayLayout {
  std::uint64_t offset = 0;  // of the first sample, in bytes
  std::uint64_t channels = 0, samples = 0;
  SampleFormat format;
  // true: all channels of a moment, then those of the next; false: a channel after the other.
  bool interleaved = true;

  std::uint64_t bytes() const { return channels * samples * format.bytes(); }
};

class ArrayRecording final : public Recording {
 public:
  // The array must lie inside of `data`; `info` has layout.channels channels of layout.samples
  // samples and a record is one sample; `calibrations`, one a channel.
  ArrayRecording(std::unique_ptr<RandomAccess> data, const ArrayLayout& layout,
                 std::vector<Calibration> calibrations, RecordingInfo info);

 private:
  void do_read(std::span<const ReadRequest<float>> requests) const override { run(requests); }
  void do_read(std::span<const ReadRequest<double>> requests) const override { run(requests); }

  template <typename T>
  void run(std::span<const ReadRequest<T>> requests) const;
  template <typename T>
  void read_interleaved(std::span<const ReadRequest<T>> requests) const;
  template <typename T>
  void read_planar(const ReadRequest<T>& request) const;

  std::unique_ptr<RandomAccess> data_;
  ArrayLayout layout_;
  std::vector<Calibration> calibrations_;
};

}  // namespace prep::signal
