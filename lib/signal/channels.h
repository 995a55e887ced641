// Names of EEG channels, and which channels a run takes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/recording.h"

namespace prep::signal {

// A label as the 10-20 system writes it: without "EEG " or "POL " before, without "-REF", "-LE",
// "-AVG", "-AR" and dots after, electrodes in their usual case: "EEG FP1-REF", "Fp1." and "FP1" are
// all "Fp1". A pair of electrodes ("FP1-F7") stays one. Other labels keep their case.
std::string clean_label(std::string_view label);

// The electrode's name in the 10-20 system of today for its older one, the same on both: T3 is T7,
// T4 T8, T5 P7, T6 P8; ECG is EKG. For comparing clean names without regard to case: lower case.
std::string channel_id(std::string_view clean_name);

// Whether it is an electrode of the 10-10 system that is on the scalp (no ears, no mastoids).
bool is_scalp_electrode(std::string_view clean_name);

// Sets `name` of all channels: their clean label; of several with one name, the second is "Fp1:2".
void name_channels(std::vector<Channel>& channels);

// What is done about a channel that is asked for and not there (or can't be read).
enum class MissingPolicy { error, zero, nan, skip };

// Which channels: those named, or all signals that can be read.
struct ChannelSelection {
  struct Name {
    std::string text;
    bool optional = false;  // left out where it is not there, whatever the policy
  };
  bool all = true;
  std::vector<Name> names;
};

// "" or "all"; "10-20"; or names with commas between them. `word` is what --channels was given.
// "10-20" is Fp1 F3 C3 P3 F7 T3 T5 O1 Fz Cz Pz Fp2 F4 C4 P4 F8 T4 T6 O2 in this order, and EKG
// where there is one. A name is a label as in the file, a clean name, an alias of it (T7 for T3),
// any case; ":3" is the file's third channel. throws Error usage.
ChannelSelection parse_channels(std::string_view word);
// What a file of names holds: one a line; blank lines and those that start with '#' don't count.
ChannelSelection parse_channel_file(std::string_view text);

// Finds channels of one recording by name.
class ChannelFinder {
 public:
  explicit ChannelFinder(const RecordingInfo& info);

  struct Match {
    std::size_t channel = 0;
    std::size_t others = 0;  // further channels that the name would fit as well
  };
  // The closest: ":3", then the label as it stands, then the unique name, then the name without
  // regard to case and age. nullopt if there is none. A channel found may be unreadable.
  std::optional<Match> find(std::string_view name) const;
  // For messages: what is there ("Fp1, Fp2, … (64 in all)").
  std::string list() const;

 private:
  const RecordingInfo& info_;
  std::vector<std::string> ids_;
};

}  // namespace prep::signal
