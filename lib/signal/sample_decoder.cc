#include "lib/signal/sample_decoder.h"

#include <bit>
#include <cstring>

namespace prep::signal {
namespace {

// An unsigned integer of the width of Stored, its bytes swapped where the machine's order differs.
template <typename Stored, bool kBigEndian>
Stored load(const std::uint8_t* from) {
  constexpr bool kSwap = kBigEndian == (std::endian::native == std::endian::little);
  std::uint8_t bytes[sizeof(Stored)];
  if constexpr (kSwap) {
    for (std::size_t i = 0; i < sizeof(Stored); ++i) bytes[i] = from[sizeof(Stored) - 1 - i];
  } else {
    std::memcpy(bytes, from, sizeof(Stored));
  }
  return std::bit_cast<Stored>(bytes);
}

// A stored type with its width and the way to read it.
template <typename Stored, bool kBigEndian>
struct Plain {
  static constexpr std::size_t kBytes = sizeof(Stored);
  static double value(const std::uint8_t* from) {
    return static_cast<double>(load<Stored, kBigEndian>(from));
  }
};

template <bool kBigEndian>
struct Int24 {
  static constexpr std::size_t kBytes = 3;
  static double value(const std::uint8_t* from) {
    const std::uint8_t low = from[kBigEndian ? 2 : 0], high = from[kBigEndian ? 0 : 2];
    const std::uint32_t bits = static_cast<std::uint32_t>(low) << 8 |
                               static_cast<std::uint32_t>(from[1]) << 16 |
                               static_cast<std::uint32_t>(high) << 24;
    return std::bit_cast<std::int32_t>(bits) >> 8;
  }
};

template <typename Stored, typename T>
void decode_strided(const std::uint8_t* from, std::size_t stride, const Calibration& calibration,
                    std::span<T> out) {
  const Calibration c = calibration;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<T>((Stored::value(from + i * stride) - c.zero) * c.gain + c.offset);
  }
}

// With a stride that the compiler knows, it can take several samples at a time.
template <typename Stored, typename T>
void decode(const std::uint8_t* from, std::size_t stride, const Calibration& calibration,
            std::span<T> out) {
  if (stride == Stored::kBytes) {
    decode_strided<Stored>(from, Stored::kBytes, calibration, out);
  } else {
    decode_strided<Stored>(from, stride, calibration, out);
  }
}

template <bool kBigEndian, typename T>
void decode_type(const std::uint8_t* from, std::size_t stride, SampleType type,
                 const Calibration& calibration, std::span<T> out) {
  switch (type) {
    case SampleType::int16:
      return decode<Plain<std::int16_t, kBigEndian>>(from, stride, calibration, out);
    case SampleType::int24:
      return decode<Int24<kBigEndian>>(from, stride, calibration, out);
    case SampleType::int32:
      return decode<Plain<std::int32_t, kBigEndian>>(from, stride, calibration, out);
    case SampleType::float32:
      return decode<Plain<float, kBigEndian>>(from, stride, calibration, out);
    case SampleType::float64:
      return decode<Plain<double, kBigEndian>>(from, stride, calibration, out);
  }
}

template <typename T>
void decode_any(const std::uint8_t* from, std::size_t stride, SampleFormat format,
                const Calibration& calibration, std::span<T> out) {
  if (format.big_endian) {
    decode_type<true>(from, stride, format.type, calibration, out);
  } else {
    decode_type<false>(from, stride, format.type, calibration, out);
  }
}

}  // namespace

void decode_samples(const std::uint8_t* from, std::size_t stride, SampleFormat format,
                    const Calibration& calibration, std::span<float> out) {
  decode_any(from, stride, format, calibration, out);
}

void decode_samples(const std::uint8_t* from, std::size_t stride, SampleFormat format,
                    const Calibration& calibration, std::span<double> out) {
  decode_any(from, stride, format, calibration, out);
}

}  // namespace prep::signal
