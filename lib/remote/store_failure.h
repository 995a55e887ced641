// A request that failed: what can be done about it, and how it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/core/error.h"
#include "lib/remote/object.h"
#include "lib/remote/s3_xml.h"
#include "lib/remote/transfers.h"

namespace prep {

struct StoreFailure {
  TransferResult::Kind kind = TransferResult::Kind::complete;
  HttpResponse response;  // status 0: there was none
  S3Error s3;             // of the body, if it was one
  std::string text;       // libcurl's, or what is wrong with an answer that looks like success
};

// How the request was made.
struct StoreAttempt {
  enum class Action { list, head, get };
  Action action = Action::get;
  ObjectUrl url;
  std::string endpoint;  // "https://s3.eu-west-1.amazonaws.com"
  std::string region;    // "": plain HTTP
  bool is_signed = false;
  bool has_token = false;    // its credentials are of those that expire
  std::string credentials;   // where they come from
  std::int64_t sent_at = 0;  // by our clock, corrected, seconds since 1970
  int tries = 1;
};

enum class Remedy {
  none,
  back_off,         // the same once more, later
  new_credentials,  // they have expired
  new_clock,        // by the answer's Date
  new_region,       // region_of_failure()
};
Remedy remedy_of(const StoreFailure& failure, const StoreAttempt& attempt);
// The server asks for fewer requests.
bool is_slow_down(const StoreFailure& failure);
// The region in which the server says the bucket is; "" if it does not.
std::string region_of_failure(const StoreFailure& failure);
// By how many seconds the server's clock is ahead of `sent_at`.
std::optional<std::int64_t> clock_offset(const StoreFailure& failure, const StoreAttempt& attempt);

// Bucket, key, endpoint, status, code, request id, and what to check. Never a secret.
Error explain(const StoreFailure& failure, const StoreAttempt& attempt);

}  // namespace prep
