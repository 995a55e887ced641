#include "tools/size_option.h"

#include <charconv>
#include <string_view>

#include "lib/core/error.h"

namespace prep {

std::uint64_t parse_size(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "kMGT";
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const bool binary = unit.ends_with('i');
  if (binary) unit.remove_suffix(1);
  const char letter = unit == "K" ? 'k' : unit.empty() ? '\0' : unit[0];
  const std::size_t power = letter ? kUnits.find(letter) + 1 : 0;
  if (error != std::errc() || unit.size() > 1 || (letter && power == 0) || (binary && !letter) ||
      !(value > 0)) {
    fail(Code::usage, "{} {}: give bytes, or a number with k, M, G or T (Ki, Mi, Gi, Ti)", option,
         printable(text));
  }
  for (std::size_t i = 0; i < power; ++i) value *= binary ? 1024 : 1000;
  if (value > 1e18) fail(Code::usage, "{} {}: too large", option, printable(text));
  return static_cast<std::uint64_t>(value);
}

}  // namespace prep
