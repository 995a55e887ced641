#include "lib/remote/retry.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "lib/remote/http_date.h"

namespace prep {
namespace {

constexpr std::uint64_t kRenewingBytes = 64 << 10;
constexpr double kFirstPause = 0.1, kLongestPause = 20, kLongestRetryAfter = 60;

}  // namespace

void RetryBudget::progress(std::uint64_t bytes) {
  since_renewal_ += bytes;
  if (since_renewal_ < kRenewingBytes) return;
  since_renewal_ = 0;
  failures_ = 0;
}

bool RetryBudget::spend(int most) {
  ++failures_;
  if (failures_ > std::min(most, retries_)) return false;
  ++tries_;
  return true;
}

double retry_delay_s(int failures, std::optional<double> retry_after_s, std::mt19937_64& random) {
  const double most = std::min(kLongestPause, kFirstPause * std::exp2(std::min(failures, 30)));
  const double jitter = std::uniform_real_distribution<double>(0, most)(random);
  if (!retry_after_s) return jitter;
  // A little later than told, and not all at the same moment.
  return std::min(*retry_after_s, kLongestRetryAfter) + std::min(jitter, 1.0);
}

std::optional<double> parse_retry_after(const std::string& value, std::int64_t now) {
  std::uint32_t seconds = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, seconds);
  if (error == std::errc() && stop == end) return seconds;
  if (const auto date = parse_http_date(value)) {
    return static_cast<double>(std::max<std::int64_t>(*date - now, 0));
  }
  return std::nullopt;
}

}  // namespace prep
