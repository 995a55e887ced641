// What comes out of a recording's channels: each channel as it is, against the average, or the
// difference of two. Names and weights only; no samples are touched here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/signal/channels.h"
#include "lib/signal/recording.h"

namespace prep::signal {

struct Montage {
  struct Pair {
    std::string first, second;  // names of electrodes; the output is first - second
    std::string chain;          // "LL", "LP", "RP", "RL" of the double banana; else ""
  };
  enum class Kind { none, average, bipolar } kind = Kind::none;
  std::vector<Pair> pairs;
};

// "none", "average", "double-banana", or "bipolar:Fp1-F7,F7-T3". throws Error usage.
//
// Double banana: left lateral LL Fp1-F7-T3-T5-O1, left parasagittal LP Fp1-F3-C3-P3-O1, right
// parasagittal RP Fp2-F4-C4-P4-O2, right lateral RL Fp2-F8-T4-T6-O2: four pairs each, in this
// order.
Montage parse_montage(std::string_view word);

// An output is the sum of weight * channel over its terms, less the mean of the plan's `average`
// where `minus_average`.
struct OutputChannel {
  struct Term {
    std::size_t channel = 0;  // of the recording
    double weight = 1;
  };
  std::string name;
  std::string chain;  // see Montage::Pair
  std::string unit;   // of the output; "" if not known
  std::vector<Term> terms;
  bool minus_average = false;
  bool missing = false;  // there is nothing to make it of: filled as the policy says, no terms
};

struct ChannelPlan {
  std::vector<OutputChannel> outputs;
  std::vector<std::size_t> average;   // channels of the recording whose mean is subtracted
  std::vector<std::size_t> channels;  // all that are read for it, rising
  std::vector<std::string> warnings;
};

// Outputs are named as asked for ("T3" where the file has T7), without a selection as the channels
// are. The average is that of the chosen scalp electrodes and is subtracted from them alone (EKG
// stays as it is); where most names are no electrodes', it is that of all chosen. A pair is the
// difference of two channels, or a channel that the file already has as such a pair, then of those
// chosen only if there is a selection. Without a selection, status channels and those that can't be
// read are left out.
//
// throws Error not_found, with MissingPolicy::error, when something is not there: the message lists
// what is. throws Error unsupported for a difference of channels with different units or rates.
ChannelPlan plan_channels(const RecordingInfo& info, const ChannelSelection& selection,
                          const Montage& montage, MissingPolicy missing);

}  // namespace prep::signal
