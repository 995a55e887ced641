#include "lib/signal/statistics_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/text.h"

namespace prep::signal {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFormat = "prep-spectrogram statistics";
constexpr int kVersion = 1;
constexpr double kSameFrequency = 1e-9;  // relative

ordered_json moments_json(const Statistics& statistics) {
  ordered_json json;
  for (std::size_t f = 0; f < statistics.frequencies(); ++f) {
    const Moments moments = statistics.of(0, f);
    json["count"].push_back(moments.count);
    json["mean"].push_back(moments.mean);
    json["deviation"].push_back(moments.deviation);
  }
  return json;
}

bool same_frequencies(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::fabs(x - y) <= kSameFrequency * std::max(std::fabs(x), std::fabs(y));
  });
}

void check_settings(const ordered_json& theirs, const SpectrogramSettings& settings,
                    std::string_view name) {
  const ordered_json ours = settings_json(settings);
  for (const auto& [key, value] : ours.items()) {
    const ordered_json other = theirs.value(key, ordered_json());
    if (other != value) {
      fail(Code::usage, "{} was made with {} {}, and this run has {}", name, key, other.dump(),
           value.dump());
    }
  }
  for (const auto& [key, value] : theirs.items()) {
    if (!ours.contains(key)) fail(Code::usage, "{} was made with {}", name, key);
  }
}

std::vector<Moments> read_channel(const ordered_json& json, std::size_t frequencies) {
  const auto counts = json.at("count").get<std::vector<std::uint64_t>>();
  const auto means = json.at("mean").get<std::vector<double>>();
  const auto deviations = json.at("deviation").get<std::vector<double>>();
  if (counts.size() != frequencies || means.size() != frequencies ||
      deviations.size() != frequencies) {
    fail(Code::corrupt, "not {} values a channel", frequencies);
  }
  std::vector<Moments> moments;
  for (std::size_t f = 0; f < frequencies; ++f) {
    moments.push_back({counts[f], means[f], deviations[f]});
    if (!(std::isfinite(means[f]) && std::isfinite(deviations[f]) && deviations[f] >= 0)) {
      fail(Code::corrupt, "a mean or a deviation that is none");
    }
  }
  return moments;
}

}  // namespace

void StatisticsCollector::add(const std::vector<std::string>& channels,
                              const std::vector<double>& frequencies,
                              const Statistics& statistics) {
  const std::lock_guard lock(mutex_);
  ++arrays_;
  ByName& by_name = by_frequencies_[frequencies];
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto place = by_name.try_emplace(channels[c], 1, frequencies.size()).first;
    place->second.merge(statistics.channel(c));
  }
}

std::string StatisticsCollector::text(const SpectrogramSettings& settings) const {
  if (by_frequencies_.empty()) fail(Code::empty, "there are no values to make statistics of");
  if (by_frequencies_.size() > 1) {
    fail(Code::usage,
         "recordings come to {} different sets of frequencies: --rate brings them to one rate",
         by_frequencies_.size());
  }
  const auto& [frequencies, by_name] = *by_frequencies_.begin();
  // One by one: where memory runs out within a list, what GCC 12 makes of it destroys too much.
  ordered_json json;
  json["format"] = kFormat;
  json["version"] = kVersion;
  json["settings"] = settings_json(settings);
  json["arrays"] = arrays_;
  json["frequencies"] = frequencies;
  for (const auto& [name, statistics] : by_name) {
    json["channels"][json_text(name)] = moments_json(statistics);
  }
  return json.dump() + "\n";
}

StatisticsFile::StatisticsFile(std::string_view text, std::string_view name,
                               const SpectrogramSettings& settings)
    : name_(name) {
  try {
    const ordered_json json = ordered_json::parse(text);
    if (json.at("format") != kFormat || json.at("version") != kVersion) {
      fail(Code::corrupt, "{}: no statistics of this version", name);
    }
    check_settings(json.at("settings"), settings, name);
    frequencies_ = json.at("frequencies").get<std::vector<double>>();
    for (const auto& [channel, values] : json.at("channels").items()) {
      channels_[channel] = read_channel(values, frequencies_.size());
    }
  } catch (const nlohmann::json::exception&) {
    fail(Code::corrupt, "{}: this is no file that --stats wrote", name);
  }
}

const std::vector<Moments>& StatisticsFile::of(const std::string& channel,
                                               const std::vector<double>& frequencies) const {
  if (!same_frequencies(frequencies, frequencies_)) {
    fail(Code::unsupported, "its frequencies are not those of {}: --rate brings it to their rate",
         name_);
  }
  const auto found = channels_.find(json_text(channel));
  if (found == channels_.end()) {
    fail(Code::not_found, "{} has no statistics of channel {}", name_, printable(channel));
  }
  return found->second;
}

}  // namespace prep::signal
