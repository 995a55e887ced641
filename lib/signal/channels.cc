#include "lib/signal/channels.h"

#include <algorithm>
#include <array>
#include <map>

#include "lib/core/text.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

constexpr std::size_t kNamesInList = 100;

// The 10-10 system with the older names of the 10-20 system, and what is not on the scalp.
constexpr std::array kScalp = {
    "Fp1", "Fpz",  "Fp2", "AF9", "AF7", "AF5", "AF3", "AF1",  "AFz", "AF2",  "AF4", "AF6",
    "AF8", "AF10", "F9",  "F7",  "F5",  "F3",  "F1",  "Fz",   "F2",  "F4",   "F6",  "F8",
    "F10", "FT9",  "FT7", "FC5", "FC3", "FC1", "FCz", "FC2",  "FC4", "FC6",  "FT8", "FT10",
    "T9",  "T7",   "C5",  "C3",  "C1",  "Cz",  "C2",  "C4",   "C6",  "T8",   "T10", "TP9",
    "TP7", "CP5",  "CP3", "CP1", "CPz", "CP2", "CP4", "CP6",  "TP8", "TP10", "P9",  "P7",
    "P5",  "P3",   "P1",  "Pz",  "P2",  "P4",  "P6",  "P8",   "P10", "PO9",  "PO7", "PO5",
    "PO3", "PO1",  "POz", "PO2", "PO4", "PO6", "PO8", "PO10", "O1",  "Oz",   "O2",  "O9",
    "O10", "Iz",   "Nz",  "T1",  "T2",  "T3",  "T4",  "T5",   "T6"};
constexpr std::array kElsewhere = {"A1",  "A2",  "M1",  "M2",  "EKG",
                                   "ECG", "EOG", "EMG", "REF", "GND"};

constexpr std::array<std::array<std::string_view, 2>, 5> kAliases{
    {{"t3", "t7"}, {"t4", "t8"}, {"t5", "p7"}, {"t6", "p8"}, {"ecg", "ekg"}}};

constexpr std::array k1020 = {"Fp1", "F3",  "C3", "P3", "F7", "T3", "T5", "O1", "Fz", "Cz",
                              "Pz",  "Fp2", "F4", "C4", "P4", "F8", "T4", "T6", "O2"};

constexpr std::array<std::string_view, 2> kPrefixes = {"eeg", "pol"};
constexpr std::array<std::string_view, 4> kSuffixes = {"-ref", "-le", "-avg", "-ar"};

template <typename Names>
std::optional<std::string> in_usual_case(const Names& names, std::string_view text) {
  const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
    return equal_ignoring_case(name, text);
  });
  if (found == names.end()) return std::nullopt;
  return std::string(*found);
}

std::optional<std::string> electrode(std::string_view text) {
  if (auto name = in_usual_case(kScalp, text)) return name;
  return in_usual_case(kElsewhere, text);
}

// "EEG Fp1", "EEG-Fp1", "EEG_Fp1"; but "EEG1" and "EEG" are names.
std::string_view without_prefix(std::string_view text) {
  for (const std::string_view prefix : kPrefixes) {
    if (text.size() <= prefix.size() + 1) continue;
    const char next = text[prefix.size()];
    if (equal_ignoring_case(text.substr(0, prefix.size()), prefix) &&
        (next == ' ' || next == '-' || next == '_')) {
      return trim(text.substr(prefix.size() + 1));
    }
  }
  return text;
}

std::string_view without_suffix(std::string_view text) {
  // "." alone is a name, if a poor one.
  const std::size_t last = text.find_last_not_of('.');
  if (last != std::string_view::npos) text = text.substr(0, last + 1);
  for (const std::string_view suffix : kSuffixes) {
    if (text.size() <= suffix.size()) continue;
    const std::size_t start = text.size() - suffix.size();
    if (equal_ignoring_case(text.substr(start), suffix)) return trim(text.substr(0, start));
  }
  return text;
}

std::string alias_id(std::string_view text) {
  std::string id = lower_case(text);
  for (const auto& [old, name] : kAliases) {
    if (id == old) return std::string(name);
  }
  return id;
}

ChannelSelection::Name checked_name(std::string_view text) {
  const std::string_view name = trim(text);
  if (name.empty()) fail(Code::usage, "--channels: there is an empty name in the list");
  return {std::string(name)};
}

}  // namespace

std::string clean_label(std::string_view label) {
  const std::string_view text = without_suffix(without_prefix(trim(label)));
  if (const auto name = electrode(text)) return *name;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto first = electrode(text.substr(0, dash)), second = electrode(text.substr(dash + 1));
    if (first && second) return *first + "-" + *second;
  }
  return std::string(text);
}

std::string channel_id(std::string_view clean_name) {
  const std::size_t dash = clean_name.find('-');
  if (dash == std::string_view::npos) return alias_id(clean_name);
  return alias_id(clean_name.substr(0, dash)) + "-" + alias_id(clean_name.substr(dash + 1));
}

bool is_scalp_electrode(std::string_view clean_name) {
  return in_usual_case(kScalp, clean_name).has_value();
}

void name_channels(std::vector<Channel>& channels) {
  std::map<std::string, std::size_t> met;
  for (Channel& channel : channels) {
    channel.name = clean_label(channel.label);
    const std::size_t number = ++met[lower_case(channel.name)];
    if (number > 1) channel.name += fmt::format(":{}", number);
  }
}

ChannelSelection parse_channels(std::string_view word) {
  word = trim(word);
  if (word.empty() || word == "all") return {};
  ChannelSelection selection;
  selection.all = false;
  if (word == "10-20") {
    for (const char* name : k1020) selection.names.push_back({name});
    selection.names.push_back({"EKG", true});
    return selection;
  }
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    selection.names.push_back(checked_name(word.substr(at, end - at)));
    at = end + 1;
  }
  return selection;
}

ChannelSelection parse_channel_file(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ChannelSelection selection;
  selection.all = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    if (!line.empty() && line[0] != '#') selection.names.push_back(checked_name(line));
    at = end + 1;
  }
  if (selection.names.empty()) fail(Code::usage, "--channels: the file names no channels");
  return selection;
}

ChannelFinder::ChannelFinder(const RecordingInfo& info) : info_(info) {
  for (const Channel& channel : info.channels) {
    ids_.push_back(channel_id(clean_label(channel.label)));
  }
}

std::optional<ChannelFinder::Match> ChannelFinder::find(std::string_view name) const {
  const auto& channels = info_.channels;
  if (name.starts_with(':')) {
    const auto number = parse_integer(name.substr(1));
    if (!number || *number < 1 || static_cast<std::uint64_t>(*number) > channels.size()) {
      return std::nullopt;
    }
    return Match{static_cast<std::size_t>(*number - 1)};
  }
  const std::string id = channel_id(clean_label(name));
  // From the closest way to be meant to the widest. One that can be read goes before one that
  // can't.
  const auto fits = [&](int way, std::size_t i) {
    switch (way) {
      case 0:
        return channels[i].label == name;
      case 1:
        return channels[i].name == name;
      default:
        return ids_[i] == id;
    }
  };
  for (int way = 0; way < 3; ++way) {
    std::optional<Match> match;
    std::size_t count = 0;
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (!fits(way, i)) continue;
      ++count;
      if (!match || (!channels[match->channel].is_readable() && channels[i].is_readable())) {
        match = Match{i};
      }
    }
    if (!match) continue;
    match->others = count - 1;
    return match;
  }
  return std::nullopt;
}

std::string ChannelFinder::list() const {
  std::string text;
  std::size_t count = 0;
  for (const Channel& channel : info_.channels) {
    if (channel.kind == ChannelKind::annotations || ++count > kNamesInList) continue;
    text += (count > 1 ? ", " : "") + printable(channel.name);
  }
  if (count > kNamesInList) text += fmt::format(", … ({} in all)", count);
  return text.empty() ? "no channels" : text;
}

}  // namespace prep::signal
