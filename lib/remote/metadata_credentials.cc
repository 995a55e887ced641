#include "lib/remote/metadata_credentials.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "lib/core/error.h"
#include "lib/remote/ascii.h"
#include "lib/remote/credential_json.h"
#include "lib/remote/environment.h"
#include "lib/remote/secret_file.h"
#include "lib/remote/url_parts.h"

namespace prep {
namespace {

constexpr int kAttempts = 3;
constexpr long kTimeoutMs = 1000;

// --- containers ----------------------------------------------------------------------------------

const char* const kRelative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const char* const kFull = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host == "::1") return true;
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         std::all_of(host.begin(), host.end(),
                     [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

// A token goes there, unencrypted.
void check_full_url(const std::string& url) {
  const UrlParts parts = split_url(std::string_view(url).substr(0, url.find('?')));
  const std::string host = parts.host_name();
  constexpr std::array<std::string_view, 3> kServices = {"169.254.170.2", "169.254.170.23",
                                                         "fd00:ec2::23"};
  const bool is_service = std::find(kServices.begin(), kServices.end(), host) != kServices.end();
  if (host.empty()) {
    fail(Code::usage, "{}: \"{}\" is no URL", kFull, printable(url));
  }
  if (parts.scheme != "https" && !is_service && !is_loopback(host)) {
    fail(
        Code::usage,
        "{} is \"{}\": over http, credentials are only taken from this machine and the services of "
        "ECS and EKS",
        kFull, printable(url));
  }
}

std::string container_url() {
  if (const std::string relative = environment(kRelative); !relative.empty()) {
    if (relative.front() != '/') {
      fail(Code::usage, "{} is \"{}\", which does not begin with \"/\"", kRelative,
           printable(relative));
    }
    return "http://169.254.170.2" + relative;
  }
  std::string full = environment(kFull);
  if (!full.empty()) check_full_url(full);
  return full;
}

std::string container_token() {
  const char* const name = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
  const std::string file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) return read_secret_file(file);
  std::string token = environment(name);
  if (!fits_header(token)) fail(Code::usage, "{} has bytes in it that no header can have", name);
  return token;
}

// --- instances -----------------------------------------------------------------------------------

constexpr const char* kRolePath = "/latest/meta-data/iam/security-credentials/";
constexpr const char* kTokenPath = "/latest/api/token";
constexpr std::size_t kMaxToken = 4096;

long positive_setting(const char* name, long otherwise, long at_most) {
  const std::string text = environment(name);
  long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && value > 0 ? std::min(value, at_most) : otherwise;
}

std::string service_url() {
  const char* const name = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
  const std::string url = environment(name);
  if (!url.empty()) {
    const UrlParts parts = split_url(url);
    if (parts.host.empty()) fail(Code::usage, "{}: \"{}\" is no URL", name, printable(url));
    return fmt::format("{}://{}{}", parts.scheme, parts.host, parts.path);
  }
  const bool is_v6 = ascii_lower(environment("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")) == "ipv6";
  return is_v6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

class InstanceService {
 public:
  explicit InstanceService(const SimpleHttp& http)
      : http_(http),
        url_(service_url()),
        attempts_(static_cast<int>(positive_setting("AWS_METADATA_SERVICE_NUM_ATTEMPTS", 1, 10))),
        timeout_ms_(positive_setting("AWS_METADATA_SERVICE_TIMEOUT", 1, 60) * 1000) {}

  const std::string& url() const { return url_; }

  SimpleResponse ask(const char* method, const std::string& path, const char* header,
                     const std::string& value) const {
    SimpleRequest request;
    request.method = method;
    request.url = url_ + path;
    request.headers = {{header, value}};
    request.timeout_ms = timeout_ms_;
    request.use_proxy = false;
    return ask_repeatedly(request, attempts_, http_);
  }

 private:
  const SimpleHttp& http_;
  std::string url_;
  int attempts_;
  long timeout_ms_;
};

// A role's name becomes part of a path.
bool is_role_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("+=,.@_-").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

Credentials role_credentials(const InstanceService& service, const std::string& token,
                             const std::string& role) {
  const std::string origin = fmt::format("role {} of this EC2 instance", role);
  const SimpleResponse answer =
      service.ask("GET", kRolePath + role, "x-aws-ec2-metadata-token", token);
  if (answer.status != 200) {
    fail(Code::io, "{}: the metadata service answers with status {}", origin, answer.status);
  }
  return parse_credentials_json(answer.body, "Token", origin);
}

}  // namespace

std::optional<Credentials> container_credentials(const SimpleHttp& http) {
  SimpleRequest request;
  request.url = container_url();
  if (request.url.empty()) return std::nullopt;
  request.timeout_ms = 2 * kTimeoutMs;
  request.use_proxy = false;
  request.headers = {{"accept", "application/json"}};
  if (std::string token = container_token(); !token.empty()) {
    request.headers.emplace_back("authorization", std::move(token));
  }
  const std::string origin = "the container's credentials";
  const SimpleResponse answer = ask_repeatedly(request, kAttempts, http);
  if (answer.status == 0) {
    fail(Code::io, "{}: no answer from {}: {}", origin, printable(request.url),
         printable(answer.body));
  }
  if (answer.status != 200) {
    fail(Code::io, "{}: {} answers with status {}", origin, printable(request.url), answer.status);
  }
  return parse_credentials_json(answer.body, "Token", origin);
}

std::optional<Credentials> instance_credentials(const SimpleHttp& http, std::string* why) {
  if (ascii_lower(environment("AWS_EC2_METADATA_DISABLED")) == "true") {
    *why = "AWS_EC2_METADATA_DISABLED is true";
    return std::nullopt;
  }
  const InstanceService service(http);
  const SimpleResponse token =
      service.ask("PUT", kTokenPath, "x-aws-ec2-metadata-token-ttl-seconds", "21600");
  if (token.status != 200 || token.body.size() > kMaxToken || !fits_header(token.body)) {
    *why = token.status == 0 ? fmt::format("no answer from {}", service.url())
                             : fmt::format("{} gives no token", service.url());
    return std::nullopt;
  }
  const SimpleResponse roles =
      service.ask("GET", kRolePath, "x-aws-ec2-metadata-token", token.body);
  const std::string role = first_line(roles.body);
  if (roles.status != 200 || !is_role_name(role)) {
    *why = "this instance has no role";
    return std::nullopt;
  }
  return role_credentials(service, token.body, role);
}

}  // namespace prep
