#include "lib/remote/endpoint.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/remote/ascii.h"
#include "lib/remote/environment.h"
#include "lib/remote/profile_files.h"
#include "lib/remote/sigv4.h"
#include "lib/remote/url_parts.h"

namespace prep {
namespace {

constexpr std::string_view kDefaultRegion = "us-east-1";

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_dns_label(std::string_view label) {
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(),
                     [](char c) { return is_lower_alphanumeric(c) || c == '-'; });
}

// "a.b" is two labels: a name below a host, but no certificate for "*.host" covers it.
bool is_dns_name(std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_dns_label(name.substr(0, dot))) return false;
    if (dot == name.npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool is_ip_address(std::string_view host_name) {
  return host_name.find(':') != host_name.npos ||
         std::all_of(host_name.begin(), host_name.end(),
                     [](char c) { return is_digit(c) || c == '.'; });
}

bool fits_host_name(const Endpoint& endpoint, std::string_view bucket) {
  if (is_ip_address(UrlParts{"", endpoint.host, ""}.host_name())) return false;
  const bool has_dot = bucket.find('.') != bucket.npos;
  return is_dns_name(bucket) && !(has_dot && endpoint.scheme == "https");
}

bool uses_host_name(const Endpoint& endpoint, std::string_view bucket) {
  return !bucket.empty() && endpoint.style == Endpoint::Style::virtual_host &&
         fits_host_name(endpoint, bucket);
}

std::string aws_host(std::string_view region) {
  return fmt::format("s3.{}.{}", region, aws_domain(region));
}

// The region that a host of AWS is in ("s3.eu-west-1.amazonaws.com",
// "bucket.vpce-1a2b.s3.eu-west-1.vpce.amazonaws.com"); "" if its name does not tell.
std::string region_of_host(std::string_view host) {
  const std::size_t domain = host.find(".amazonaws.com");
  if (domain == host.npos) return "";
  std::string_view front = host.substr(0, domain);
  if (front.ends_with(".vpce")) front.remove_suffix(5);
  const std::size_t dot = front.rfind('.');
  if (dot == front.npos) return "";
  const std::string_view region = front.substr(dot + 1);
  return is_region_name(region) && std::any_of(region.begin(), region.end(), is_digit)
             ? std::string(region)
             : "";
}

// --- settings ------------------------------------------------------------------------------------

// What a profile says, if there is one.
class ProfileSettings {
 public:
  explicit ProfileSettings(const std::string& name)
      : files_(ProfileFiles::load()), profile_(files_.find(chosen_profile(name))) {}

  std::string get(const std::string& name) const { return find(profile_, name); }

  // The endpoint in the services section that the profile names, else its own.
  std::string endpoint_url(const std::string& service) const {
    const std::string of_service =
        find(files_.find_services(get("services")), service + ".endpoint_url");
    return of_service.empty() ? get("endpoint_url") : of_service;
  }

 private:
  static std::string find(const ProfileFiles::Profile* profile, const std::string& name) {
    if (!profile) return "";
    const auto found = profile->find(name);
    return found == profile->end() ? "" : found->second;
  }

  ProfileFiles files_;
  const ProfileFiles::Profile* profile_;
};

template <typename... Rest>
std::string first_of(std::string first, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return first;
  } else {
    return first.empty() ? first_of(std::move(rest)...) : first;
  }
}

bool is_true(std::string_view text) { return text == "true" || text == "True" || text == "TRUE"; }

ConfiguredUrl configured_url(const std::string& service, const ProfileSettings& profile) {
  const char* const ignore = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS";
  if (is_true(first_of(environment(ignore), profile.get("ignore_configured_endpoint_urls")))) {
    return {};
  }
  for (const std::string& name :
       {"AWS_ENDPOINT_URL_" + ascii_upper(service), std::string("AWS_ENDPOINT_URL")}) {
    if (std::string url = environment(name.c_str()); !url.empty()) return {std::move(url), name};
  }
  return {profile.endpoint_url(service), "the profile's endpoint_url"};
}

void refuse_special_endpoints(const ProfileSettings& profile) {
  const std::array<std::array<const char*, 3>, 2> switches = {
      {{"FIPS", "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint"},
       {"dual-stack", "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint"}}};
  for (const auto& [kind, variable, setting] : switches) {
    if (is_true(first_of(environment(variable), profile.get(setting)))) {
      fail(Code::usage, "{} or {} demands {} endpoints: name the one to be used by --endpoint-url",
           variable, setting, kind);
    }
  }
}

void set_server(Endpoint& endpoint, const ConfiguredUrl& named) {
  const UrlParts parts = split_url(named.url);
  if (parts.host.empty()) {
    fail(Code::usage, "{}: \"{}\" is no URL of a server: write https://HOST[:PORT]", named.origin,
         printable(named.url));
  }
  endpoint.scheme = parts.scheme;
  endpoint.host = parts.host;
  endpoint.path = parts.path;
  endpoint.style = Endpoint::Style::path;
  endpoint.is_aws = false;
}

void set_region(Endpoint& endpoint, std::string region) {
  if (region.empty() && !endpoint.is_aws) region = region_of_host(endpoint.host);
  if (region.empty() || region == "aws-global") region = kDefaultRegion;
  // Other servers have regions like "RegionOne"; what goes into a signature has to be harmless
  // only.
  const bool is_harmless = std::all_of(region.begin(), region.end(), [](unsigned char c) {
    return is_lower_alphanumeric(static_cast<char>(c)) || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
  if (!is_harmless || (endpoint.is_aws && !is_region_name(region))) {
    fail(Code::usage, "\"{}\" is no name of a region", printable(region));
  }
  endpoint.region = std::move(region);
}

void set_style(Endpoint& endpoint, const std::string& style) {
  if (style == "path") {
    endpoint.style = Endpoint::Style::path;
  } else if (style == "virtual") {
    endpoint.style = Endpoint::Style::virtual_host;
  } else if (!style.empty() && style != "auto") {
    fail(Code::usage, "s3.addressing_style is \"{}\": it can be path, virtual or auto",
         printable(style));
  }
}

}  // namespace

std::string Endpoint::host_of(std::string_view bucket) const {
  return uses_host_name(*this, bucket) ? fmt::format("{}.{}", bucket, host) : host;
}

std::string Endpoint::path_of(std::string_view bucket, std::string_view key) const {
  const bool is_in_path = !bucket.empty() && !uses_host_name(*this, bucket);
  return fmt::format("{}{}{}/{}", path, is_in_path ? "/" : "", is_in_path ? uri_encode(bucket) : "",
                     uri_encode_path(key));
}

std::string Endpoint::url_of(std::string_view bucket, std::string_view key) const {
  return fmt::format("{}://{}{}", scheme, host_of(bucket), path_of(bucket, key));
}

Endpoint Endpoint::in_region(std::string_view name) const {
  if (!is_region_name(name)) {
    fail(Code::corrupt, "the server says that the bucket is in region \"{}\", which is none",
         printable(name));
  }
  Endpoint other = *this;
  other.region = name;
  if (is_aws) other.host = aws_host(name);
  return other;
}

Endpoint resolve_endpoint(const EndpointOptions& options) {
  const ProfileSettings profile(options.profile);
  const ConfiguredUrl named = options.endpoint_url.empty()
                                  ? configured_url("s3", profile)
                                  : ConfiguredUrl{options.endpoint_url, "--endpoint-url"};
  Endpoint endpoint;
  if (named.url.empty()) {
    refuse_special_endpoints(profile);
  } else {
    set_server(endpoint, named);
  }
  set_region(endpoint, first_of(options.region, environment("AWS_REGION"),
                                environment("AWS_DEFAULT_REGION"), profile.get("region")));
  if (endpoint.is_aws) {
    endpoint.scheme = "https";
    endpoint.host = aws_host(endpoint.region);
  }
  set_style(endpoint, first_of(options.addressing_style, profile.get("s3.addressing_style")));
  return endpoint;
}

ConfiguredUrl configured_url(const std::string& service, const std::string& profile) {
  return configured_url(service, ProfileSettings(profile));
}

bool is_region_name(std::string_view name) { return is_dns_label(name); }

// Source: the partitions in AWS's endpoints.json.
std::string_view aws_domain(std::string_view region) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPartitions = {
      {{"cn-", "amazonaws.com.cn"},
       {"us-iso-", "c2s.ic.gov"},
       {"us-isob-", "sc2s.sgov.gov"},
       {"us-isof-", "csp.hci.ic.gov"},
       {"eu-isoe-", "cloud.adc-e.uk"},
       {"eusc-", "amazonaws.eu"}}};
  for (const auto& [prefix, domain] : kPartitions) {
    if (region.starts_with(prefix)) return domain;
  }
  return "amazonaws.com";
}

}  // namespace prep
