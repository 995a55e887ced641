// Stored samples to physical values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prep::signal {

enum class SampleType { int16, int24, int32, float32, float64 };

struct SampleFormat {
  SampleType type = SampleType::int16;
  bool big_endian = false;

  std::size_t bytes() const {
    switch (type) {
      case SampleType::int16:
        return 2;
      case SampleType::int24:
        return 3;
      case SampleType::int32:
      case SampleType::float32:
        return 4;
      case SampleType::float64:
        return 8;
    }
    return 0;
  }
};

// value = (stored - zero) * gain + offset, in double.
struct Calibration {
  double zero = 0, gain = 1, offset = 0;
};

// Decodes out.size() samples, the first at `from`, each `stride` bytes after the one before.
// Nothing outside of these samples' bytes is read.
void decode_samples(const std::uint8_t* from, std::size_t stride, SampleFormat format,
                    const Calibration& calibration, std::span<float> out);
void decode_samples(const std::uint8_t* from, std::size_t stride, SampleFormat format,
                    const Calibration& calibration, std::span<double> out);

}  // namespace prep::signal
