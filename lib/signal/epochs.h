// Which stretches of a recording become arrays: all of it, epochs of fixed length, or epochs around
// annotations.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/recording.h"
#include "lib/signal/stft.h"

namespace prep::signal {

enum class Gaps { split, nan };
enum class Outside { leave_out, zero, nan };

struct EpochSettings {
  std::optional<double> length, stride;  // seconds
  std::string events;                    // POSIX extended regular expression; "": no events
  Gaps gaps = Gaps::split;
  Outside outside = Outside::leave_out;  // what an epoch around an event finds there

  bool has_epochs() const { return length.has_value() || !events.empty(); }
  // throws Error(usage).
  void validate() const;
};

// Picks annotations whose text has a match. Texts longer than this are matched up to here.
inline constexpr std::size_t kMatchedText = 4096;
class EventPattern {
 public:
  explicit EventPattern(const std::string& pattern);  // throws Error(usage)
  EventPattern(const EventPattern&) = delete;
  EventPattern& operator=(const EventPattern&) = delete;
  ~EventPattern();
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  Compiled* compiled_;
};

// A piece of the time axis without a break in its numbering of samples.
struct Stretch {
  double start = 0;          // seconds
  std::int64_t samples = 0;  // at the rate that all have in common
};

struct Cut {
  std::size_t stretch = 0;
  Range samples;                      // of the stretch; reach outside of it where that is padded
  const Annotation* event = nullptr;  // of the recording
};

struct CutPlan {
  std::vector<Cut> cuts;
  bool numbered = false;              // whether they are to be told apart by number
  std::vector<std::string> warnings;  // on what was left out
  std::string empty_reason;           // why there are no cuts
};

inline constexpr std::size_t kMaxCuts = 1'000'000;

// Without epochs, every stretch is a cut. Epochs begin at the start of each stretch and every
// `stride` (by default their length) after it, and what remains at its end is dropped. With events:
//
//     length alone        that long, with the annotation's onset in the middle
//     neither             from the onset on as long as the annotation lasts
//     length and stride   the annotation's duration, divided as a stretch is
//
// throws Error(limit) for more than kMaxCuts, Error(usage) for an epoch of less than a sample.
CutPlan plan_cuts(std::span<const Stretch> stretches, double rate,
                  std::span<const Annotation> annotations, const EpochSettings& settings,
                  const EventPattern* pattern);

}  // namespace prep::signal
