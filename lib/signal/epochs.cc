#include "lib/signal/epochs.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "lib/core/text.h"

namespace prep::signal {
namespace {

constexpr double kLongest = 366.0 * 86'400;  // seconds, so that numbers of samples stay exact

void check_seconds(const std::optional<double>& seconds, std::string_view name) {
  if (seconds && !(*seconds > 0 && *seconds <= kLongest)) {
    fail(Code::usage, "{} {}: give seconds, above 0 and up to a year", name, *seconds);
  }
}

std::int64_t samples_in(double seconds, double rate) {
  const double samples = seconds * rate;
  if (!(std::fabs(samples) < 0x1p53)) fail(Code::limit, "{} s at {} Hz", seconds, rate);
  return std::llround(samples);
}

class EpochPlanner {
 public:
  EpochPlanner(std::span<const Stretch> stretches, double rate, const EpochSettings& settings)
      : stretches_(stretches), rate_(rate), settings_(settings) {
    for (std::size_t i = 0; i < stretches.size(); ++i) by_start_.push_back(i);
    std::stable_sort(by_start_.begin(), by_start_.end(), [&](std::size_t a, std::size_t b) {
      return stretches[a].start < stretches[b].start;
    });
    if (!settings.length) return;
    length_ = samples_in(*settings.length, rate);
    if (length_ < 1) fail(Code::usage, "--epoch {}: less than a sample", *settings.length);
    step_ = settings.stride.value_or(*settings.length) * rate;
    if (!(step_ >= 0.5)) fail(Code::usage, "--stride {}: less than a sample", *settings.stride);
  }

  void add_whole() {
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      if (stretches_[i].samples > 0) add(i, {0, stretches_[i].samples}, nullptr);
    }
    plan_.numbered = settings_.gaps == Gaps::split && stretches_.size() > 1;
  }

  void add_epochs() {
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      divide(i, {0, stretches_[i].samples}, nullptr);
    }
    plan_.empty_reason = "shorter than an epoch";
  }

  void add_event(const Annotation& event) {
    const auto stretch = stretch_at(event.onset);
    const bool lasts = event.duration && *event.duration > 0 && *event.duration <= kLongest;
    const bool needs_duration = !settings_.length || settings_.stride;
    if (!stretch || (needs_duration && !lasts)) {
      ++(stretch ? without_duration_ : outside_);
      return;
    }
    const std::int64_t onset = samples_in(event.onset - stretches_[*stretch].start, rate_);
    if (!needs_duration) return add_if_inside(*stretch, onset - length_ / 2, length_, event);
    const std::int64_t samples = std::max<std::int64_t>(1, samples_in(*event.duration, rate_));
    if (!settings_.length) return add_if_inside(*stretch, onset, samples, event);
    divide(*stretch, {onset, std::min(onset + samples, stretches_[*stretch].samples)}, &event);
  }

  CutPlan finish(std::size_t events) {
    if (outside_ > 0) {
      plan_.warnings.push_back(fmt::format(
          "epochs around {} of {} events reach beyond the recording or into a gap: left "
          "out (--pad keeps them)",
          outside_, events));
    }
    if (without_duration_ > 0) {
      plan_.warnings.push_back(
          fmt::format("{} of {} events have no duration: left out (--epoch alone takes a stretch "
                      "around the onset)",
                      without_duration_, events));
    }
    return std::move(plan_);
  }

  CutPlan& plan() { return plan_; }

 private:
  void add(std::size_t stretch, Range samples, const Annotation* event) {
    if (plan_.cuts.size() >= kMaxCuts) {
      fail(Code::limit, "would become more than {} epochs", kMaxCuts);
    }
    plan_.cuts.push_back({stretch, samples, event});
  }

  void add_if_inside(std::size_t stretch, std::int64_t first, std::int64_t count,
                     const Annotation& event) {
    const bool inside = first >= 0 && first + count <= stretches_[stretch].samples;
    if (!inside && settings_.outside == Outside::leave_out) {
      ++outside_;
    } else {
      add(stretch, {first, first + count}, &event);
    }
  }

  void divide(std::size_t stretch, Range whole, const Annotation* event) {
    for (std::size_t i = 0;; ++i) {
      // Each from the start: a stride of no whole number of samples must not drift.
      const std::int64_t first =
          whole.first + static_cast<std::int64_t>(std::llround(static_cast<double>(i) * step_));
      if (first + length_ > whole.last) return;
      add(stretch, {first, first + length_}, event);
    }
  }

  // The stretch that holds a time; of several, the one that starts last.
  std::optional<std::size_t> stretch_at(double time) const {
    const double early = 0.5 / rate_;  // times are rounded to a few decimals
    const auto behind = std::upper_bound(
        by_start_.begin(), by_start_.end(), time + early,
        [&](double at, std::size_t index) { return at < stretches_[index].start; });
    if (behind == by_start_.begin()) return std::nullopt;
    const Stretch& stretch = stretches_[behind[-1]];
    const bool inside = (time - stretch.start) * rate_ < static_cast<double>(stretch.samples);
    return inside ? std::optional(behind[-1]) : std::nullopt;
  }

  std::span<const Stretch> stretches_;
  std::vector<std::size_t> by_start_;
  double rate_;
  const EpochSettings& settings_;
  std::int64_t length_ = 0;  // samples
  double step_ = 0;
  std::size_t outside_ = 0, without_duration_ = 0;
  CutPlan plan_;
};

}  // namespace

void EpochSettings::validate() const {
  check_seconds(length, "--epoch");
  check_seconds(stride, "--stride");
  if (stride && !length) fail(Code::usage, "--stride says nothing without --epoch");
  if (outside != Outside::leave_out && events.empty()) {
    fail(Code::usage, "--pad is about epochs around --events");
  }
}

struct EventPattern::Compiled {
  regex_t regex;
};

EventPattern::EventPattern(const std::string& pattern) : compiled_(new Compiled) {
  const int error = regcomp(&compiled_->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return;
  std::array<char, 256> message{};
  regerror(error, &compiled_->regex, message.data(), message.size());
  delete compiled_;
  fail(Code::usage, "--events {}: {}", printable(pattern), message.data());
}

EventPattern::~EventPattern() {
  regfree(&compiled_->regex);
  delete compiled_;
}

bool EventPattern::matches(std::string_view text) const {
  const std::string subject(text.substr(0, kMatchedText));
  return regexec(&compiled_->regex, subject.c_str(), 0, nullptr, 0) == 0;
}

CutPlan plan_cuts(std::span<const Stretch> stretches, double rate,
                  std::span<const Annotation> annotations, const EpochSettings& settings,
                  const EventPattern* pattern) {
  EpochPlanner planner(stretches, rate, settings);
  if (!settings.has_epochs()) {
    planner.add_whole();
    return planner.finish(0);
  }
  planner.plan().numbered = true;
  std::size_t events = 0;
  if (pattern == nullptr) {
    planner.add_epochs();
  } else {
    for (const Annotation& annotation : annotations) {
      if (!pattern->matches(annotation.text)) continue;
      ++events;
      planner.add_event(annotation);
    }
    planner.plan().empty_reason =
        events == 0 ? "no event matches" : "no epoch around an event fits";
  }
  return planner.finish(events);
}

}  // namespace prep::signal
