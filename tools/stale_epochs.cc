#include "tools/stale_epochs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "lib/signal/epochs.h"
#include "lib/signal/spectrogram_json.h"

namespace prep {
namespace {

constexpr std::size_t kLeastDigits = 4;
// Runs that were killed, or did one task of several, leave out numbers.
constexpr std::size_t kLongestHole = 64;
constexpr std::uint64_t kLargestDescription = std::uint64_t{256} << 20;

std::size_t digits_for(std::size_t count) {
  return std::max(kLeastDigits, fmt::formatted_size("{}", std::max<std::size_t>(count, 1) - 1));
}

std::string numbered_key(const std::string& key, std::size_t number, std::size_t digits) {
  return fmt::format("{}_{:0{}}", key, number, digits);
}

// Whether a content describes an array of ours with that number, or without one.
bool describes(const Content* content, std::optional<std::size_t> number) {
  if (content == nullptr || content->size() > kLargestDescription) return false;
  const Bytes bytes = content->load();
  const auto json = nlohmann::json::parse(bytes.text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("format", nlohmann::json()) != signal::kSpectrogramFormat) {
    return false;
  }
  if (!number) return !json.contains("epoch");
  return json.value("epoch", nlohmann::json::object()).value("number", nlohmann::json()) == *number;
}

}  // namespace

std::string epoch_key(const std::string& key, std::size_t number, std::size_t count) {
  return numbered_key(key, number, digits_for(count));
}

void StaleEpochs::remove(const Sample& recording, const std::string& description,
                         std::size_t count) {
  if (count > 0 && describes(sink_->written(recording.key, description).get(), std::nullopt)) {
    remove_one(recording, recording.key);
  }
  for (std::size_t digits = kLeastDigits; digits <= digits_for(signal::kMaxCuts); ++digits) {
    remove_epochs(recording, description, digits == digits_for(count) ? count : 0, digits);
  }
}

// The last goes first, so that a run that is killed here leaves no more holes than there were.
void StaleEpochs::remove_epochs(const Sample& recording, const std::string& description,
                                std::size_t first, std::size_t digits) {
  const auto is_there = [&](std::size_t number) {
    const std::string key = numbered_key(recording.key, number, digits);
    return describes(sink_->written(key, description).get(), number);
  };
  std::size_t end = first;
  for (std::size_t i = first; i < end + kLongestHole; ++i) {
    if (is_there(i)) end = i + 1;
  }
  while (end-- > first) remove_one(recording, numbered_key(recording.key, end, digits));
}

void StaleEpochs::remove_one(const Sample& recording, const std::string& key) {
  Sample output = recording;
  output.key = key;
  try {
    sink_->check_source(output, *stage_);
  } catch (const Error& error) {
    if (error.code() == Code::name) return;  // a file that is an input as well
    throw;
  }
  sink_->remove_outdated(output, *stage_);
}

}  // namespace prep
