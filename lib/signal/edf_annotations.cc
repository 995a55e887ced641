#include "lib/signal/edf_annotations.h"

#include <algorithm>
#include <cmath>

#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

constexpr char kDurationFollows = '\x15', kEndOfItem = '\x14', kEndOfList = '\0';
constexpr double kLatest = 1e12;  // seconds: 30,000 years

std::optional<double> parse_seconds(std::string_view text) {
  const auto seconds = parse_number(text);
  return seconds && std::abs(*seconds) < kLatest ? seconds : std::nullopt;
}

// "+11.5", "+11.5\x15" "0.25"
std::optional<Tal> parse_onset(std::string_view item) {
  const std::size_t split = item.find(kDurationFollows);
  if (item.empty() || (item[0] != '+' && item[0] != '-')) return std::nullopt;
  const auto onset = parse_seconds(item.substr(0, split));
  if (!onset) return std::nullopt;
  Tal tal;
  tal.onset = *onset;
  if (split != std::string_view::npos) tal.duration = parse_seconds(item.substr(split + 1));
  if (tal.duration && *tal.duration < 0) tal.duration.reset();
  return tal;
}

}  // namespace

bool TalReader::next_list() {
  rest_.remove_prefix(std::min(rest_.find_first_not_of(kEndOfList), rest_.size()));
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find(kEndOfList), rest_.size());
  list_ = rest_.substr(0, end);
  rest_.remove_prefix(end);
  // Text after the last item's end was cut off.
  const std::size_t last = list_.rfind(kEndOfItem);
  if (last + 1 != list_.size()) malformed_ = true;
  list_ = last == std::string_view::npos ? std::string_view() : list_.substr(0, last + 1);
  return true;
}

// Up to the end of an item, which is taken off the list.
std::optional<std::string_view> TalReader::next_item() {
  const std::size_t end = list_.find(kEndOfItem);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view item = list_.substr(0, end);
  list_.remove_prefix(end + 1);
  return item;
}

std::optional<Tal> TalReader::next() {
  std::optional<Tal> tal;
  while (!tal) {
    if (list_.empty() && !next_list()) return std::nullopt;
    if (const auto item = next_item()) tal = parse_onset(*item);
    if (!tal) malformed_ = true;
  }
  bool after_empty = false;
  while (!list_.empty()) {
    const std::string_view before = list_;
    const std::string_view item = *next_item();
    // Some writers leave out the NUL between two lists. A duration can't stand in a text, and after
    // an empty one nothing but a list's onset has a sign and a text of its own.
    const bool has_duration = item.find(kDurationFollows) != std::string_view::npos;
    if ((has_duration || (after_empty && !list_.empty())) && parse_onset(item)) {
      list_ = before;
      malformed_ = true;
      return tal;
    }
    after_empty = item.empty();
    if (!item.empty()) tal->texts.push_back(item);
  }
  return tal;
}

}  // namespace prep::signal
