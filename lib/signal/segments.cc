#include "lib/signal/segments.h"

#include <algorithm>
#include <cmath>

#include "lib/core/error.h"

namespace prep::signal {
namespace {

constexpr std::size_t kMaxSegments = 1'000'000;

}  // namespace

void SegmentBuilder::add(std::optional<double> time) {
  timed_ = timed_ || time;
  untimed_ = untimed_ || !time;
  const double start = time.value_or(expected_);
  const double jump = start - expected_;
  if (segments_.empty() || std::abs(jump) > tolerance_) {
    backwards_ = backwards_ || (!segments_.empty() && jump < 0);
    if (segments_.size() >= kMaxSegments) {
      fail(Code::limit, "its records have more than {} gaps between them", kMaxSegments);
    }
    segments_.push_back({start, records_, 0});
  }
  Segment& segment = segments_.back();
  const double counted = segment.start + static_cast<double>(segment.records) * duration_;
  drift_ = std::max(drift_, std::abs(start - counted));
  ++segment.records;
  ++records_;
  expected_ = start + duration_;
}

void SegmentBuilder::add_untimed(std::uint64_t count) {
  if (count == 0) return;
  add(std::nullopt);
  segments_.back().records += count - 1;
  records_ += count - 1;
  expected_ += static_cast<double>(count - 1) * duration_;
}

std::vector<std::string> SegmentBuilder::warnings() const {
  std::vector<std::string> warnings;
  if (backwards_) warnings.push_back("the times of its records go backwards");
  if (timed_ && untimed_) warnings.push_back("some of its records carry no time");
  if (drift_ > 2 * tolerance_) {
    warnings.push_back(fmt::format(
        "the times of its records depart by up to {:.3g} s from its sampling rate", drift_));
  }
  return warnings;
}

}  // namespace prep::signal
