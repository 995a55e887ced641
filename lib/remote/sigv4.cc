#include "lib/remote/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "lib/core/error.h"
#include "lib/remote/ascii.h"

namespace prep {
namespace {

using Hash = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr char kHexUpper[] = "0123456789ABCDEF";
constexpr char kHexLower[] = "0123456789abcdef";

bool is_unreserved(unsigned char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

std::string encode(std::string_view text, bool keeps_slashes) {
  std::string encoded;
  encoded.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_unreserved(byte) || (keeps_slashes && c == '/')) {
      encoded += c;
    } else {
      encoded += {'%', kHexUpper[byte >> 4], kHexUpper[byte & 15]};
    }
  }
  return encoded;
}

std::string hex(const Hash& hash) {
  std::string text;
  text.reserve(2 * hash.size());
  for (const unsigned char byte : hash) text += {kHexLower[byte >> 4], kHexLower[byte & 15]};
  return text;
}

Hash sha256(std::string_view text) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return hash;
}

Hash hmac(std::string_view key, std::string_view text) {
  Hash hash;
  unsigned size = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(), &size)) {
    fail(Code::internal, "OpenSSL cannot make an HMAC");
  }
  return hash;
}

std::string_view view(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// The key that signs all requests of a day to a service in a region.
struct DayKey {
  std::string secret, day, region, service;
  Hash key;

  bool is_for(const Credentials& credentials, std::string_view a_day, std::string_view a_region,
              std::string_view a_service) const {
    return secret == credentials.secret_key && day == a_day && region == a_region &&
           service == a_service;
  }
};

Hash derive(const DayKey& of) {
  const Hash of_day = hmac("AWS4" + of.secret, of.day);
  const Hash of_region = hmac(view(of_day), of.region);
  const Hash of_service = hmac(view(of_region), of.service);
  return hmac(view(of_service), "aws4_request");
}

// Deriving costs four times as much as the signature itself. A run signs with one key, or with a
// few while it learns regions, so each thread remembers a few.
const Hash& day_key(const Credentials& credentials, std::string_view day, std::string_view region,
                    std::string_view service) {
  thread_local std::array<DayKey, 4> known;
  thread_local std::size_t next = 0;
  for (const DayKey& key : known) {
    if (key.is_for(credentials, day, region, service)) return key.key;
  }
  DayKey& key = known[next++ % known.size()];
  key = {credentials.secret_key, std::string(day), std::string(region), std::string(service), {}};
  key.key = derive(key);
  return key.key;
}

// "20130524T000000Z"
std::string basic_time(std::int64_t time) {
  const std::time_t seconds = time;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

// Without blanks at the ends, and one where there are several.
std::string canonical_value(std::string_view value) {
  std::string canonical;
  for (const char c : value) {
    const bool is_blank = c == ' ' || c == '\t';
    if (is_blank && (canonical.empty() || canonical.back() == ' ')) continue;
    canonical += is_blank ? ' ' : c;
  }
  if (!canonical.empty() && canonical.back() == ' ') canonical.pop_back();
  return canonical;
}

// Lower-case names in order; values of one name that comes several times are joined.
Fields canonical_headers(const SigningRequest& request, const Fields& added) {
  Fields headers = {{"host", canonical_value(request.host)}};
  for (const Fields* fields : {&request.headers, &added}) {
    for (const auto& [name, value] : *fields) {
      headers.emplace_back(ascii_lower(name), canonical_value(value));
    }
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Fields joined;
  for (auto& [name, value] : headers) {
    if (!joined.empty() && joined.back().first == name) {
      joined.back().second += "," + value;
    } else {
      joined.emplace_back(std::move(name), std::move(value));
    }
  }
  return joined;
}

std::string names_of(const Fields& headers) {
  std::string names;
  for (const auto& [name, value] : headers) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string canonical_request(const SigningRequest& request, const Fields& headers,
                              std::string_view names) {
  std::string text =
      fmt::format("{}\n{}\n{}\n", request.method, request.path.empty() ? "/" : request.path,
                  canonical_query(request.query));
  for (const auto& [name, value] : headers) text += fmt::format("{}:{}\n", name, value);
  return text + fmt::format("\n{}\n{}", names, request.payload_hash);
}

}  // namespace

Fields sign(const SigningRequest& request, const Credentials& credentials, std::string_view region,
            std::string_view service, std::int64_t time) {
  if (credentials.anonymous()) return {};
  const std::string stamp = basic_time(time);
  const std::string_view day = std::string_view(stamp).substr(0, 8);
  Fields added = {{"x-amz-date", stamp}};
  if (service == "s3") added.emplace_back("x-amz-content-sha256", request.payload_hash);
  if (!credentials.session_token.empty()) {
    added.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const Fields headers = canonical_headers(request, added);
  const std::string names = names_of(headers);
  const std::string scope = fmt::format("{}/{}/{}/aws4_request", day, region, service);
  const std::string to_sign = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, stamp, scope,
                                          hex(sha256(canonical_request(request, headers, names))));
  const std::string signature =
      hex(hmac(view(day_key(credentials, day, region, service)), to_sign));
  added.emplace_back("authorization",
                     fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm,
                                 credentials.access_key, scope, names, signature));
  return added;
}

std::string uri_encode(std::string_view text) { return encode(text, false); }

std::string uri_encode_path(std::string_view path) { return encode(path, true); }

std::string canonical_query(const Fields& query) {
  Fields encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) encoded.emplace_back(uri_encode(name), uri_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    text += fmt::format("{}{}={}", text.empty() ? "" : "&", name, value);
  }
  return text;
}

}  // namespace prep
