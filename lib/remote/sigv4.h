// AWS Signature Version 4 for S3, header form, payload unsigned.
// Source: "Signature Version 4 signing process", AWS General Reference, and "Authenticating
// Requests: Using the Authorization Header", Amazon S3 API Reference.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/remote/credentials.h"

namespace prep {

using Fields = std::vector<std::pair<std::string, std::string>>;  // name, value

struct SigningRequest {
  std::string method = "GET";
  std::string host;  // as the Host header has it, with a port that is not the scheme's own
  std::string path;  // already encoded: uri_encode_path()
  Fields query;      // not encoded
  Fields headers;    // further ones to be signed ("range", "if-match", "x-amz-request-payer")
  std::string payload_hash = "UNSIGNED-PAYLOAD";
};

// The headers that must be sent besides host and request.headers; x-amz-content-sha256 only where
// `service` is "s3". `time` is seconds since 1970. Nothing for anonymous credentials.
Fields sign(const SigningRequest& request, const Credentials& credentials, std::string_view region,
            std::string_view service, std::int64_t time);

// RFC 3986: every byte but A-Z a-z 0-9 - _ . ~ becomes %XX; uri_encode_path leaves "/" too.
std::string uri_encode(std::string_view text);
std::string uri_encode_path(std::string_view path);
// "a=1&b=x%20y": sorted by encoded name, then value, as it is signed and sent.
std::string canonical_query(const Fields& query);

}  // namespace prep
