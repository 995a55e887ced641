#include "lib/remote/store_failure.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "lib/remote/http_date.h"

namespace prep {
namespace {

using Kind = TransferResult::Kind;
using Action = StoreAttempt::Action;

constexpr std::int64_t kBelievableSkew = 300;  // seconds; S3 itself allows 900

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

constexpr std::array<std::string_view, 4> kExpired = {"ExpiredToken", "ExpiredTokenException",
                                                      "TokenRefreshRequired", "RequestExpired"};
constexpr std::array<std::string_view, 9> kPassing = {
    "InternalError",           "SlowDown",   "ServiceUnavailable",  "RequestTimeout",
    "RequestTimeoutException", "Throttling", "ThrottlingException", "OperationAborted",
    "BandwidthLimitExceeded"};
constexpr std::array<int, 6> kPassingStatus = {408, 429, 500, 502, 503, 504};

bool is_success(int status) { return status >= 200 && status < 300; }

// Answers to HEAD have no body that could say what is wrong.
bool is_mute(const StoreFailure& failure, const StoreAttempt& attempt) {
  return attempt.action == Action::head && failure.s3.code.empty();
}

bool is_skewed(const StoreFailure& failure, const StoreAttempt& attempt) {
  if (failure.s3.code == "RequestTimeTooSkewed") return true;
  const auto offset = clock_offset(failure, attempt);
  return is_mute(failure, attempt) && failure.response.status == 403 && offset &&
         std::abs(*offset) > kBelievableSkew;
}

bool is_expired(const StoreFailure& failure, const StoreAttempt& attempt) {
  if (is_one_of(failure.s3.code, kExpired)) return true;
  return is_mute(failure, attempt) && failure.response.status == 400 && attempt.has_token;
}

bool is_elsewhere(const StoreFailure& failure, const StoreAttempt& attempt) {
  const int status = failure.response.status;
  const std::string region = region_of_failure(failure);
  return (status == 301 || status == 307 || status == 400 || status == 403) && !region.empty() &&
         region != attempt.region;
}

bool is_passing(const StoreFailure& failure) {
  const int status = failure.response.status;
  return is_success(status) || is_one_of(failure.s3.code, kPassing) ||
         std::find(kPassingStatus.begin(), kPassingStatus.end(), status) != kPassingStatus.end();
}

// --- words ---------------------------------------------------------------------------------------

std::string_view permission(Action action) {
  return action == Action::list ? "s3:ListBucket on the bucket" : "s3:GetObject on the object";
}

std::string advice_on_denial(const StoreFailure& failure, const StoreAttempt& attempt) {
  if (attempt.region.empty()) return "the server does not let this URL be read";
  if (!attempt.is_signed) {
    return "the request was not signed: the bucket is not public; leave out --no-sign-request, or "
           "give credentials";
  }
  std::string advice = fmt::format("check that the credentials ({}) may use {}",
                                   attempt.credentials, permission(attempt.action));
  // S3 denies what it would otherwise have to say does not exist.
  if (attempt.action != Action::list) {
    advice += ", and that the object exists (without s3:ListBucket S3 denies what is not there)";
  }
  if (is_mute(failure, attempt)) advice += ", and that the secret key is right";
  return advice;
}

std::string advice_on_status(const StoreFailure& failure, const StoreAttempt& attempt) {
  const int status = failure.response.status;
  const std::string_view code = failure.s3.code;
  if (code == "InvalidAccessKeyId") {
    return fmt::format(
        "the server does not know the access key ({}): check the account and "
        "--endpoint-url",
        attempt.credentials);
  }
  if (code == "SignatureDoesNotMatch") {
    return fmt::format("check the secret key ({}), and that no proxy changes requests",
                       attempt.credentials);
  }
  if (code == "RequestTimeTooSkewed") return "check this machine's clock";
  if (is_one_of(code, kExpired) || code == "InvalidToken") {
    return fmt::format("the credentials ({}) have expired: get new ones", attempt.credentials);
  }
  if (code == "NoSuchBucket") {
    return "there is no such bucket here: check its name, --endpoint-url and --region";
  }
  if (code == "InvalidObjectState") return "the object is archived: restore it first";
  const std::string region = region_of_failure(failure);
  if (!region.empty() && region != attempt.region) {
    return fmt::format("the bucket is in another region: --region {}", printable(region));
  }
  if (status == 401 || status == 403) return advice_on_denial(failure, attempt);
  if (status == 404) return "there is no such object: check the name (names are case-sensitive)";
  if (status == 405) return "this server does not know such requests: check --endpoint-url";
  if (is_slow_down(failure)) return "the server is overloaded: try fewer connections (-j)";
  if (status >= 300 && status < 400) return "it is somewhere else: name that place";
  if (status >= 500) return "the server is in trouble: try again later";
  return "";
}

std::string advice(const StoreFailure& failure, const StoreAttempt& attempt) {
  switch (failure.kind) {
    case Kind::refused:
      return "check --endpoint-url, the network and the proxy";
    case Kind::insecure:
      return "check the server's certificate; AWS_CA_BUNDLE names additional authorities";
    case Kind::stalled:
      return "check the network, or be more patient with --timeout";
    case Kind::cut:
      return "check the network";
    default:
      return advice_on_status(failure, attempt);
  }
}

// Without what follows "?": it may be a signature that lets anybody in.
std::string location_of(const HttpResponse& response) {
  const std::string* location = response.find("location");
  return location ? location->substr(0, location->find('?')) : "";
}

std::string what_happened(const StoreFailure& failure) {
  std::string text;
  const int status = failure.response.status;
  if (status != 0 && (failure.kind == Kind::complete || !is_success(status))) {
    text = fmt::format("HTTP status {}", status);
    if (!failure.s3.code.empty()) text.append(1, ' ').append(printable(failure.s3.code));
    if (!failure.s3.message.empty() && failure.s3.message != failure.s3.code)
      text += fmt::format(" ({})", printable(failure.s3.message));
    const std::string location = location_of(failure.response);
    if (!location.empty()) text += fmt::format(" to {}", printable(location));
  }
  if (failure.text.empty()) return text;
  return text.empty() ? printable(failure.text)
                      : fmt::format("{}: {}", text, printable(failure.text));
}

std::string where(const StoreFailure& failure, const StoreAttempt& attempt) {
  std::string text = "from " + printable(attempt.endpoint);
  if (!attempt.region.empty()) text += fmt::format(", region {}", printable(attempt.region));
  const std::string* header = failure.response.find("x-amz-request-id");
  const std::string id = header ? *header : failure.s3.request_id;
  if (!id.empty()) text += fmt::format(", request {}", printable(id));
  if (attempt.tries > 1) text += fmt::format(", tried {} times", attempt.tries);
  return text;
}

Code code_of(const StoreFailure& failure) {
  if (failure.response.status == 404 || failure.response.status == 410) return Code::not_found;
  return failure.kind == Kind::cut ? Code::truncated : Code::io;
}

}  // namespace

Remedy remedy_of(const StoreFailure& failure, const StoreAttempt& attempt) {
  if (failure.kind == Kind::insecure || failure.kind == Kind::cancelled) return Remedy::none;
  if (failure.kind != Kind::complete) return Remedy::back_off;
  if (attempt.is_signed && is_skewed(failure, attempt)) return Remedy::new_clock;
  if (attempt.is_signed && is_expired(failure, attempt)) return Remedy::new_credentials;
  if (!attempt.region.empty() && is_elsewhere(failure, attempt)) return Remedy::new_region;
  return is_passing(failure) ? Remedy::back_off : Remedy::none;
}

bool is_slow_down(const StoreFailure& failure) {
  return failure.response.status == 503 || failure.response.status == 429 ||
         failure.s3.code == "SlowDown";
}

std::string region_of_failure(const StoreFailure& failure) {
  const std::string* header = failure.response.find("x-amz-bucket-region");
  return header && !header->empty() ? *header : failure.s3.region;
}

std::optional<std::int64_t> clock_offset(const StoreFailure& failure, const StoreAttempt& attempt) {
  const std::string* date = failure.response.find("date");
  if (!date) return std::nullopt;
  const auto theirs = parse_http_date(*date);
  if (!theirs) return std::nullopt;
  return *theirs - attempt.sent_at;
}

Error explain(const StoreFailure& failure, const StoreAttempt& attempt) {
  std::string text = fmt::format("{}: {} ({})", printable(attempt.url.text()),
                                 what_happened(failure), where(failure, attempt));
  const std::string hint = advice(failure, attempt);
  if (!hint.empty()) text += ": " + hint;
  return Error(code_of(failure), text);
}

}  // namespace prep
