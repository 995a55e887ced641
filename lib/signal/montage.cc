#include "lib/signal/montage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "lib/core/text.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

using Chosen = std::pair<std::string, std::optional<std::size_t>>;  // output's name, channel

struct Chain {
  const char* name;
  std::array<const char*, 5> electrodes;
};

constexpr Chain kDoubleBanana[] = {{"LL", {"Fp1", "F7", "T3", "T5", "O1"}},
                                   {"LP", {"Fp1", "F3", "C3", "P3", "O1"}},
                                   {"RP", {"Fp2", "F4", "C4", "P4", "O2"}},
                                   {"RL", {"Fp2", "F8", "T4", "T6", "O2"}}};

Montage double_banana() {
  Montage montage{Montage::Kind::bipolar, {}};
  for (const Chain& chain : kDoubleBanana) {
    for (std::size_t i = 0; i + 1 < chain.electrodes.size(); ++i) {
      montage.pairs.push_back({chain.electrodes[i], chain.electrodes[i + 1], chain.name});
    }
  }
  return montage;
}

Montage::Pair parse_pair(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view first = trim(text.substr(0, dash));
  const std::string_view second =
      dash == std::string_view::npos ? std::string_view() : trim(text.substr(dash + 1));
  if (first.empty() || second.empty() || second.find('-') != std::string_view::npos) {
    fail(Code::usage, "--montage bipolar: '{}' is not a pair like Fp1-F7", printable(text));
  }
  return {std::string(first), std::string(second), ""};
}

Montage bipolar(std::string_view list) {
  Montage montage{Montage::Kind::bipolar, {}};
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    montage.pairs.push_back(parse_pair(trim(list.substr(at, end - at))));
    at = end + 1;
  }
  return montage;
}

// Makes the plan for one recording.
class ChannelPlanner {
 public:
  ChannelPlanner(const RecordingInfo& info, const ChannelSelection& selection, MissingPolicy missing)
      : info_(info), finder_(info), policy_(missing) {
    choose(selection);
  }

  ChannelPlan plan(const Montage& montage) {
    switch (montage.kind) {
      case Montage::Kind::none:
        add_chosen();
        break;
      case Montage::Kind::average:
        add_chosen();
        subtract_average();
        break;
      case Montage::Kind::bipolar:
        for (const Montage::Pair& pair : montage.pairs) add_pair(pair);
        break;
    }
    check_missing();
    list_channels();
    return std::move(plan_);
  }

 private:
  // --- which channels ---

  void choose(const ChannelSelection& selection) {
    if (selection.all) {
      for (std::size_t i = 0; i < info_.channels.size(); ++i) {
        const Channel& channel = info_.channels[i];
        if (channel.kind == ChannelKind::signal && channel.fault.empty()) {
          chosen_.push_back({channel.name, i});
        }
      }
      return;
    }
    restricted_ = true;
    for (const ChannelSelection::Name& name : selection.names) {
      const auto channel = find(name.text);
      if (!channel && name.optional) {
        plan_.warnings.push_back(fmt::format("it has no {}: left out", name.text));
        continue;
      }
      chosen_.push_back({output_name(name.text, channel), channel});
    }
  }

  // A name that is a place (":3") or a raw label says less than the channel's own.
  std::string output_name(const std::string& asked, std::optional<std::size_t> channel) const {
    const std::string clean = clean_label(asked);
    if (!channel) return clean;
    const std::string& own = info_.channels[*channel].name;
    // "T8-P8:2" is a name of its own; "EEG Fp1-LE" and "EEG Fp1-REF" of one file stay apart.
    return channel_id(clean) == channel_id(own) ? clean : own;
  }

  // The channel of that name, if it is there and can be read.
  std::optional<std::size_t> find(const std::string& name) {
    const auto match = finder_.find(name);
    if (!match) return std::nullopt;
    const Channel& channel = info_.channels[match->channel];
    if (!channel.is_readable()) {
      faults_.push_back(
          fmt::format("channel '{}' can't be read: {}", printable(channel.label),
                      channel.fault.empty() ? "it holds annotations" : channel.fault));
      return std::nullopt;
    }
    if (match->others > 0 && ambiguous_.insert(name).second) {
      plan_.warnings.push_back(
          fmt::format("{} channels go by the name {}: the first is taken, :{} in the file",
                      match->others + 1, printable(name), match->channel + 1));
    }
    return match->channel;
  }

  // --- outputs ---

  void add_chosen() {
    for (const auto& [name, channel] : chosen_) {
      if (!channel) {
        add_missing(name, "");
      } else {
        add(name, "", {{*channel, 1}});
      }
    }
  }

  void add(const std::string& name, const std::string& chain,
           std::vector<OutputChannel::Term> terms) {
    OutputChannel output;
    output.name = name;
    output.chain = chain;
    output.unit = info_.channels[terms[0].channel].unit;
    output.terms = std::move(terms);
    plan_.outputs.push_back(std::move(output));
  }

  void add_missing(const std::string& name, const std::string& chain) {
    missing_.push_back(name);
    if (policy_ == MissingPolicy::skip) return;
    OutputChannel output;
    output.name = name;
    output.chain = chain;
    output.missing = true;
    plan_.outputs.push_back(std::move(output));
  }

  void subtract_average() {
    const auto is_member = [&](const OutputChannel& output) {
      return !output.missing && is_scalp_electrode(output.name);
    };
    // A1 to H32 of a 256-channel cap are no electrodes of the 10-10 system, though some are spelt
    // like them.
    const auto members = std::count_if(plan_.outputs.begin(), plan_.outputs.end(), is_member);
    const bool named = 2 * static_cast<std::size_t>(members) >= plan_.outputs.size();
    for (OutputChannel& output : plan_.outputs) {
      if (output.missing || (named && !is_member(output))) continue;
      output.minus_average = true;
      const std::size_t channel = output.terms[0].channel;
      if (!plan_.average.empty()) check_alike(plan_.average[0], channel);
      plan_.average.push_back(channel);
    }
  }

  void add_pair(const Montage::Pair& pair) {
    const std::string name = clean_label(pair.first) + "-" + clean_label(pair.second);
    const auto first = find_chosen(pair.first), second = find_chosen(pair.second);
    if (first && second) {
      check_alike(*first, *second);
      return add(name, pair.chain, {{*first, 1}, {*second, -1}});
    }
    if (const auto whole = find_chosen(name)) return add(name, pair.chain, {{*whole, 1}});
    const std::string reverse = clean_label(pair.second) + "-" + clean_label(pair.first);
    if (const auto whole = find_chosen(reverse)) return add(name, pair.chain, {{*whole, -1}});
    add_missing(name, pair.chain);
  }

  std::optional<std::size_t> find_chosen(const std::string& name) {
    const auto channel = find(name);
    if (!channel || !restricted_) return channel;
    const bool chosen = std::any_of(chosen_.begin(), chosen_.end(),
                                    [&](const Chosen& c) { return c.second == channel; });
    return chosen ? channel : std::nullopt;
  }

  void check_alike(std::size_t a, std::size_t b) const {
    const Channel &first = info_.channels[a], &second = info_.channels[b];
    if (first.unit != second.unit || first.rate != second.rate) {
      fail(Code::unsupported,
           "{} ({} at {} Hz) and {} ({} at {} Hz) can't be subtracted from each other",
           printable(first.name), first.unit.empty() ? "no unit" : printable(first.unit),
           first.rate, printable(second.name),
           second.unit.empty() ? "no unit" : printable(second.unit), second.rate);
    }
  }

  // --- the end ---

  void check_missing() {
    if (missing_.empty()) return;
    std::string names;
    for (const std::string& name : missing_) names += (names.empty() ? "" : ", ") + printable(name);
    if (policy_ == MissingPolicy::error) {
      std::string faults;
      for (const std::string& fault : faults_) faults += "; " + fault;
      fail(Code::not_found, "it has no {}{}; it has {}", names, faults, finder_.list());
    }
    const char* what = policy_ == MissingPolicy::skip   ? "left out"
                       : policy_ == MissingPolicy::zero ? "zeros"
                                                        : "NaN";
    plan_.warnings.push_back(fmt::format("it has no {}: {}", names, what));
  }

  void list_channels() {
    std::set<std::size_t> used(plan_.average.begin(), plan_.average.end());
    for (const OutputChannel& output : plan_.outputs) {
      for (const OutputChannel::Term& term : output.terms) used.insert(term.channel);
    }
    plan_.channels.assign(used.begin(), used.end());
  }

  const RecordingInfo& info_;
  ChannelFinder finder_;
  MissingPolicy policy_;
  bool restricted_ = false;
  std::vector<Chosen> chosen_;
  std::vector<std::string> missing_, faults_;
  std::set<std::string> ambiguous_;
  ChannelPlan plan_;
};

}  // namespace

Montage parse_montage(std::string_view word) {
  constexpr std::string_view kBipolar = "bipolar:";
  if (word == "none") return {};
  if (word == "average") return {Montage::Kind::average, {}};
  if (word == "double-banana") return double_banana();
  if (word.starts_with(kBipolar)) return bipolar(word.substr(kBipolar.size()));
  fail(Code::usage, "--montage: '{}' is none of none, average, bipolar:LIST, double-banana",
       printable(word));
}

ChannelPlan plan_channels(const RecordingInfo& info, const ChannelSelection& selection,
                          const Montage& montage, MissingPolicy missing) {
  return ChannelPlanner(info, selection, missing).plan(montage);
}

}  // namespace prep::signal
