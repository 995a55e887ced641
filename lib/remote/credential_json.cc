#include "lib/remote/credential_json.h"

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/remote/iso_time.h"

namespace prep {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxQuoted = 200;

Json parse(std::string_view text) { return Json::parse(text, nullptr, false); }

std::string member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What a metadata service says of its own failure.
std::string explanation(const Json& object) {
  const std::string code = member(object, "Code"), message = member(object, "Message");
  if (code.empty() && message.empty()) return "";
  return fmt::format(" ({}: {})", printable(code.substr(0, kMaxQuoted)),
                     printable(message.substr(0, kMaxQuoted)));
}

}  // namespace

Credentials parse_credentials_json(std::string_view json, const char* token_name,
                                   const std::string& origin) {
  const Json object = parse(json);
  if (!object.is_object()) fail(Code::corrupt, "{}: the answer is no JSON object", origin);
  Credentials credentials;
  credentials.access_key = member(object, "AccessKeyId");
  credentials.secret_key = member(object, "SecretAccessKey");
  credentials.session_token = member(object, token_name);
  credentials.origin = origin;
  if (credentials.access_key.empty() || credentials.secret_key.empty()) {
    fail(Code::corrupt, "{}: the answer has no AccessKeyId and SecretAccessKey{}", origin,
         explanation(object));
  }
  if (const std::string expiration = member(object, "Expiration"); !expiration.empty()) {
    credentials.expires = parse_expiration(expiration, origin);
  }
  return credentials;
}

bool is_version_1(std::string_view json) {
  const Json object = parse(json);
  if (!object.is_object()) return false;
  const auto version = object.find("Version");
  return version != object.end() && version->is_number_integer() && *version == 1;
}

std::int64_t parse_expiration(std::string_view text, const std::string& origin) {
  const std::optional<std::int64_t> ns = parse_iso_time(text);
  if (!ns) {
    fail(Code::corrupt, "{}: the expiry \"{}\" is no time", origin,
         printable(text.substr(0, kMaxQuoted)));
  }
  return *ns / 1'000'000'000;
}

}  // namespace prep
