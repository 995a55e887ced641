// Credentials as programs and metadata services print them.
#pragma once

#include <string>
#include <string_view>

#include "lib/remote/credentials.h"

namespace prep {

// {"AccessKeyId": …, "SecretAccessKey": …, TOKEN_NAME: …, "Expiration": "2026-…Z"}, the last two
// optional. `origin` begins messages, which quote nothing of the text but what stands in "Code" and
// "Message". throws Error corrupt.
Credentials parse_credentials_json(std::string_view json, const char* token_name,
                                   const std::string& origin);

// Whether {"Version": 1} stands in a text.
bool is_version_1(std::string_view json);

// An expiry as seconds since 1970. throws Error corrupt.
std::int64_t parse_expiration(std::string_view text, const std::string& origin);

}  // namespace prep
