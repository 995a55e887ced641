#include "lib/signal/field_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/core/text.h"

namespace prep::signal {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kLongestNumber = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view without_plus(std::string_view text) {
  // "+-1" is no number.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kPadding = " \t\r\n\0"sv;
  const std::size_t begin = text.find_first_not_of(kPadding);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kPadding) - begin + 1);
}

std::optional<double> parse_number(std::string_view text) {
  text = without_plus(trim(text));
  if (text.empty() || text.size() > kLongestNumber) return std::nullopt;
  char digits[kLongestNumber];
  std::copy(text.begin(), text.end(), digits);
  char* const end = digits + text.size();
  std::replace(digits, end, ',', '.');
  double value = 0;
  const auto [stop, error] = std::from_chars(digits, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = without_plus(trim(text));
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string to_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xc0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

bool is_mangled_utf8(std::string_view bytes) {
  if (bytes.find("\xef\xbf\xbd"sv) == std::string_view::npos) return false;
  for (std::size_t cut = 0; cut < std::min<std::size_t>(4, bytes.size()); ++cut) {
    if (is_utf8(bytes.substr(0, bytes.size() - cut))) return true;
  }
  return false;
}

}  // namespace prep::signal
