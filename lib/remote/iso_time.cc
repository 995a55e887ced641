#include "lib/remote/iso_time.h"

#include <chrono>

namespace prep {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Takes fields from the front of a text; after the first that is not there, nothing more succeeds.
class TimeFields {
 public:
  explicit TimeFields(std::string_view text) : rest_(text) {}

  int digits(int count) {
    int value = 0;
    for (int i = 0; i < count; ++i) value = 10 * value + digit();
    return value;
  }
  void literal(char c) { ok_ = ok_ && take(c); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool has_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  int digit() {
    if (!has_digit()) {
      ok_ = false;
      return 0;
    }
    const int value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }
  bool ended() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::int64_t fraction(TimeFields& fields) {
  if (!fields.take('.')) return 0;
  std::int64_t ns = fields.digit() * (kSecond / 10);
  for (std::int64_t unit = kSecond / 100; fields.has_digit(); unit /= 10) {
    ns += fields.digit() * unit;
  }
  return ns;
}

// Seconds east of Greenwich.
int zone(TimeFields& fields) {
  if (fields.take('Z') || fields.take('z')) return 0;
  const bool is_west = fields.take('-');
  if (!is_west) fields.literal('+');
  const int hours = fields.digits(2);
  fields.literal(':');
  const int seconds = hours * 3600 + fields.digits(2) * 60;
  return is_west ? -seconds : seconds;
}

}  // namespace

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  TimeFields fields(text);
  const int year = fields.digits(4);
  fields.literal('-');
  const int month = fields.digits(2);
  fields.literal('-');
  const int day = fields.digits(2);
  if (!fields.take('t')) fields.literal('T');
  const int hour = fields.digits(2);
  fields.literal(':');
  const int minute = fields.digits(2);
  fields.literal(':');
  const int second = fields.digits(2);
  const std::int64_t ns = fraction(fields);
  const int east = zone(fields);
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const bool is_time = hour < 24 && minute < 60 && second <= 60;  // 60: a leap second
  if (!fields.ended() || !date.ok() || !is_time || year < 1678 || year > 2261) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (days * 86400 + ((hour * 60 + minute) * 60 + second - east)) * kSecond + ns;
}

}  // namespace prep
