#include "formats/verify_finding.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/core/text.h"

namespace prep {

std::string Finding::text() const {
  std::string text = printable(file);
  if (offset) text += fmt::format(": offset {}", *offset);
  if (!sample.empty()) text += ": sample " + printable(sample);
  if (!part.empty()) text += ": part " + printable(part);
  if (severity == Severity::warning) text += ": warning";
  return text + ": " + message;
}

std::string Finding::json() const {
  nlohmann::ordered_json line{{"file", json_text(file)}};
  if (offset) line["offset"] = *offset;
  if (!sample.empty()) line["sample"] = json_text(sample);
  if (!part.empty()) line["part"] = json_text(part);
  line["severity"] = severity == Severity::error ? "error" : "warning";
  line["code"] = code_name(code);
  line["message"] = json_text(message);
  return line.dump();
}

void Findings::error(Code code, const Place& place, std::string message) {
  if (++errors_ > kMaxKept) return;
  kept_.push_back({Finding::Severity::error, code, file_, place.offset, std::string(place.sample),
                   std::string(place.part), std::move(message)});
}

void Findings::warn(Code code, const Place& place, std::string message) {
  if (++warnings_ > kMaxKept) return;
  kept_.push_back({Finding::Severity::warning, code, file_, place.offset, std::string(place.sample),
                   std::string(place.part), std::move(message)});
}

void Findings::tally(Code code, std::uint64_t offset, std::string_view what) {
  auto found = tallies_.find(what);
  if (found == tallies_.end()) {
    found = tallies_.emplace(what, Tallied{code, offset, 0}).first;
    ++warnings_;
  }
  ++found->second.count;
}

std::vector<Finding> Findings::finish() {
  for (const auto& [what, tallied] : tallies_) {
    kept_.push_back(
        {Finding::Severity::warning, tallied.code, file_, tallied.first, "", "",
         tallied.count == 1 ? what : fmt::format("{} ({} times)", what, tallied.count)});
  }
  const auto place = [](const Finding& finding) {
    return finding.offset.value_or(std::numeric_limits<std::uint64_t>::max());
  };
  std::stable_sort(kept_.begin(), kept_.end(),
                   [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
  const auto say_more = [&](std::uint64_t count, Finding::Severity severity,
                            std::string_view what) {
    if (count <= kMaxKept) return;
    kept_.push_back({severity, Code::limit, file_, std::nullopt, "", "",
                     fmt::format("{} more {}, which are not listed", count - kMaxKept, what)});
  };
  say_more(errors_, Finding::Severity::error, "errors");
  say_more(warnings_ - tallies_.size(), Finding::Severity::warning, "warnings");
  return std::move(kept_);
}

}  // namespace prep
