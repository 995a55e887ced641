#include "lib/remote/sts.h"

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/remote/credential_json.h"
#include "lib/remote/endpoint.h"
#include "lib/remote/s3_xml.h"
#include "lib/remote/secret_file.h"
#include "lib/remote/sigv4.h"
#include "lib/remote/url_parts.h"

namespace prep {
namespace {

constexpr long kTimeoutMs = 10'000;
constexpr int kAttempts = 3;
constexpr const char* kFormType = "application/x-www-form-urlencoded; charset=utf-8";

Fields parameters(const char* action, const RoleRequest& role, std::int64_t now) {
  Fields fields = {{"Action", action},
                   {"Version", "2011-06-15"},
                   {"RoleArn", role.role_arn},
                   {"RoleSessionName", role.session_name.empty() ? fmt::format("preptools-{}", now)
                                                                 : role.session_name}};
  if (!role.external_id.empty()) fields.emplace_back("ExternalId", role.external_id);
  if (!role.duration.empty()) fields.emplace_back("DurationSeconds", role.duration);
  return fields;
}

SimpleRequest form(const Sts& sts, const Fields& fields) {
  SimpleRequest request;
  request.method = "POST";
  request.url = sts.endpoint_url + "/";
  request.body = canonical_query(fields);
  request.headers = {{"content-type", kFormType}};
  request.timeout_ms = kTimeoutMs;
  return request;
}

void add_signature(SimpleRequest& request, const Sts& sts, const Credentials& source,
                   std::int64_t now) {
  const UrlParts parts = split_url(request.url);
  SigningRequest signing;
  signing.method = request.method;
  signing.host = parts.host;
  signing.path = parts.path + "/";
  signing.headers = request.headers;
  signing.payload_hash = hex_digest(Digest::Kind::sha256, as_bytes(request.body));
  for (auto& field : sign(signing, source, sts.region, "sts", now)) {
    request.headers.push_back(std::move(field));
  }
}

Credentials ask(const SimpleRequest& request, const std::string& origin, const SimpleHttp& http) {
  const SimpleResponse response = ask_repeatedly(request, kAttempts, http);
  if (response.status == 0) {
    fail(Code::io, "{}: no answer from {}: {}", origin, request.url, printable(response.body));
  }
  if (response.status != 200) {
    const S3Error error = parse_s3_error(response.body);
    fail(Code::io, "{}: {} refuses with status {}{}{}: {}", origin, request.url, response.status,
         error.code.empty() ? "" : " ", printable(error.code),
         error.message.empty() ? "it does not say why" : printable(error.message));
  }
  StsCredentials answer;
  try {
    answer = parse_sts_credentials(response.body);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", origin, error.what());
  }
  Credentials credentials{answer.access_key, answer.secret_key, answer.session_token, {}, origin};
  if (!answer.expiration.empty()) {
    credentials.expires = parse_expiration(answer.expiration, origin);
  }
  return credentials;
}

}  // namespace

Sts resolve_sts(const std::string& region, const std::string& profile) {
  const ConfiguredUrl named = configured_url("sts", profile);
  const std::string signing_region = region.empty() ? "us-east-1" : region;
  if (named.url.empty()) {
    if (!is_region_name(signing_region)) {
      fail(Code::usage, "\"{}\" is no name of a region", printable(region));
    }
    return {fmt::format("https://sts.{}.{}", signing_region, aws_domain(signing_region)),
            signing_region};
  }
  const UrlParts parts = split_url(named.url);
  if (parts.host.empty()) {
    fail(Code::usage, "{}: \"{}\" is no URL of a server", named.origin, printable(named.url));
  }
  return {fmt::format("{}://{}{}", parts.scheme, parts.host, parts.path), signing_region};
}

Credentials assume_role(const Sts& sts, const RoleRequest& role, const Credentials& source,
                        const std::string& origin, const SimpleHttp& http, std::int64_t now) {
  SimpleRequest request = form(sts, parameters("AssumeRole", role, now));
  add_signature(request, sts, source, now);
  return ask(request, origin, http);
}

Credentials assume_role_with_web_identity(const Sts& sts, const RoleRequest& role,
                                          const std::string& token_file, const std::string& origin,
                                          const SimpleHttp& http, std::int64_t now) {
  Fields fields = parameters("AssumeRoleWithWebIdentity", role, now);
  fields.emplace_back("WebIdentityToken", read_secret_file(token_file));
  return ask(form(sts, fields), origin, http);
}

}  // namespace prep
