#include "lib/remote/http_date.h"

#include <array>
#include <chrono>

namespace prep {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + (c - '0');
  }
  return number;
}

std::optional<unsigned> month(std::string_view name) {
  for (unsigned i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i] == name) return i + 1;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  //                                    0123456789012345678901234567
  constexpr std::string_view kPattern = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != kPattern.size() || !text.ends_with(" GMT")) return std::nullopt;
  for (const std::size_t i : {3, 4, 7, 11, 16, 19, 22}) {
    if (text[i] != kPattern[i]) return std::nullopt;
  }
  const auto day = digits(text, 5, 2), year = digits(text, 12, 4);
  const auto hour = digits(text, 17, 2), minute = digits(text, 20, 2), second = digits(text, 23, 2);
  const auto month_number = month(text.substr(8, 3));
  if (!day || !year || !hour || !minute || !second || !month_number) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(*month_number),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
}

}  // namespace prep
