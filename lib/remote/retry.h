// How often a request is tried again, and after which pause.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace prep {

// A server that delivers a little between its faults is not given up, one that delivers nothing is:
// every 64 KiB that came make the count begin anew.
class RetryBudget {
 public:
  explicit RetryBudget(int retries) : retries_(retries) {}

  void progress(std::uint64_t bytes);
  // Counts a failure. Nothing: it was one too many. `most` lowers the budget for faults that hardly
  // pass.
  bool spend(int most);
  bool spend() { return spend(retries_); }
  // Since the last progress, and in all.
  int failures() const { return failures_; }
  int tries() const { return tries_; }

 private:
  const int retries_;
  int failures_ = 0, tries_ = 1;
  std::uint64_t since_renewal_ = 0;
};

// Full jitter: anything between 0 and min(20 s, 0.1 s * 2^failures), so that clients that failed
// together do not come back together. A Retry-After is the least, as far as it is under a minute.
// Source: "Exponential Backoff and Jitter", AWS Architecture Blog.
double retry_delay_s(int failures, std::optional<double> retry_after_s, std::mt19937_64& random);

// Seconds, or a date that is compared with `now` (seconds since 1970).
std::optional<double> parse_retry_after(const std::string& value, std::int64_t now);

}  // namespace prep
