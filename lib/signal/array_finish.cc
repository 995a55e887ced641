#include "lib/signal/array_finish.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

constexpr std::size_t kBlockValues = std::size_t{4} << 20;

}  // namespace

// Channels are the pieces that are shared out: each has statistics of its own.
void ArrayFinisher::for_each_row(
    bool write, const std::function<void(std::size_t, std::size_t, std::span<float>)>& f) const {
  crew_.run(store_.shape().channels, [&](std::size_t channel) {
    for (std::size_t frequency = 0; frequency < store_.shape().frequencies; ++frequency) {
      store_.visit_row(channel, frequency, write,
                       [&](std::span<float> values) { f(channel, frequency, values); });
    }
  });
}

void ArrayFinisher::raise_to(float least) const {
  for_each_row(/*write=*/true, [&](std::size_t, std::size_t, std::span<float> values) {
    for (float& value : values) value = value < least ? least : value;
  });
}

Statistics ArrayFinisher::gather() const {
  Statistics statistics(store_.shape().channels, store_.shape().frequencies);
  for_each_row(/*write=*/false,
               [&](std::size_t channel, std::size_t frequency, std::span<const float> values) {
                 statistics.add(channel, frequency, values);
               });
  return statistics;
}

void ArrayFinisher::normalize(
    const std::function<Moments(std::size_t, std::size_t)>& moments) const {
  for_each_row(/*write=*/true,
               [&](std::size_t channel, std::size_t frequency, std::span<float> values) {
                 prep::signal::normalize(values, moments(channel, frequency));
               });
}

Uint8Scale ArrayFinisher::range() const {
  float low = std::numeric_limits<float>::infinity(), high = -low;
  std::mutex mutex;
  for_each_row(/*write=*/false, [&](std::size_t, std::size_t, std::span<const float> values) {
    float least = std::numeric_limits<float>::infinity(), most = -least;
    for (const float value : values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
    const std::lock_guard lock(mutex);
    low = std::min(low, least);
    high = std::max(high, most);
  });
  if (low > high) return {};
  if (low == high) high = std::nextafter(high, std::numeric_limits<float>::infinity());
  return {static_cast<double>(low), static_cast<double>(high)};
}

EncodingLosses ArrayFinisher::encode(ArrayStore& to, NpyType type, const Uint8Scale& scale) const {
  const ArrayShape& shape = store_.shape();
  const std::size_t rows = shape.channels * shape.frequencies, times = shape.times;
  const std::size_t each =
      std::clamp<std::size_t>(kBlockValues / rows, 16, std::max<std::size_t>(16, times));
  EncodingLosses losses;
  std::mutex mutex;
  crew_.run((times + each - 1) / each, [&](std::size_t piece) {
    const std::size_t first = piece * each, count = std::min(each, times - first);
    std::vector<float> block(rows * count);
    store_.get(block.data(), count, first);
    const EncodingLosses some = put_encoded(block, type, scale, count, first, to);
    const std::lock_guard lock(mutex);
    losses += some;
  });
  return losses;
}

EncodingLosses put_encoded(std::span<const float> block, NpyType type, const Uint8Scale& scale,
                           std::size_t block_times, std::size_t first_time, ArrayStore& to) {
  EncodingLosses losses;
  if (type == NpyType::float16) {
    std::vector<std::uint16_t> halves(block.size());
    losses = encode_float16(block, halves.data());
    to.put(halves.data(), block_times, first_time);
  } else if (type == NpyType::uint8) {
    std::vector<std::uint8_t> bytes(block.size());
    losses = encode_uint8(block, scale, bytes.data());
    to.put(bytes.data(), block_times, first_time);
  } else {
    to.put(block.data(), block_times, first_time);
  }
  return losses;
}

}  // namespace prep::signal
