#include "lib/signal/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace prep::signal {
namespace {

constexpr double kMostGaps = 86'400;  // seconds of NaN that a file of a few bytes may ask for

}  // namespace

Timeline::Timeline(const RecordingInfo& info, std::size_t channel,
                   std::optional<std::size_t> segment)
    : channel_(channel) {
  if (!segment) {
    add_segments(info);
    return;
  }
  const SampleRange samples = info.range(channel, *segment);
  length_ = static_cast<std::int64_t>(samples.count);
  if (length_ > 0) pieces_.push_back({{0, length_}, samples.first});
}

void Timeline::add_segments(const RecordingInfo& info) {
  const double rate = info.channels[channel_].rate;
  const double start = info.segments.front().start;
  double gaps = 0;
  for (std::size_t i = 0; i < info.segments.size(); ++i) {
    const SampleRange samples = info.range(channel_, i);
    const double place = (info.segments[i].start - start) * rate;
    gaps += place - static_cast<double>(length_);
    // A time that is rounded to a few decimals can be a sample early.
    if (!(place >= static_cast<double>(length_) - 1)) {
      fail(Code::unsupported, "goes back in time at {} s; --gaps split takes it in pieces",
           info.segments[i].start);
    }
    if (gaps > kMostGaps * rate) {
      fail(Code::limit, "has gaps of more than a day; --gaps split takes it in pieces");
    }
    const std::int64_t first = std::max(length_, static_cast<std::int64_t>(std::llround(place)));
    length_ = first + static_cast<std::int64_t>(samples.count);
    if (samples.count > 0) pieces_.push_back({{first, length_}, samples.first});
  }
}

bool Timeline::has_samples(Range range) const {
  return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    return piece.place.first < range.last && range.first < piece.place.last;
  });
}

template <typename T>
void Timeline::request(Range range, T* out, std::vector<ReadRequest<T>>& requests) const {
  // From the first piece that ends behind the range's start.
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), range.first,
                                [](std::int64_t at, const Piece& p) { return at < p.place.last; });
  std::int64_t at = range.first;
  while (at < range.last) {
    const bool in_gap = piece == pieces_.end() || at < piece->place.first;
    const std::int64_t next = piece == pieces_.end() ? range.last
                              : in_gap               ? piece->place.first
                                                     : piece->place.last;
    const std::int64_t end = std::min(range.last, next);
    const std::span<T> part(out + (at - range.first), static_cast<std::size_t>(end - at));
    if (in_gap) {
      std::fill(part.begin(), part.end(), std::numeric_limits<T>::quiet_NaN());
    } else {
      requests.push_back(
          {channel_, piece->first + static_cast<std::uint64_t>(at - piece->place.first), part});
      ++piece;
    }
    at = end;
  }
}

template void Timeline::request(Range, float*, std::vector<ReadRequest<float>>&) const;
template void Timeline::request(Range, double*, std::vector<ReadRequest<double>>&) const;

}  // namespace prep::signal
