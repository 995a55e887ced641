// Where a bucket is: endpoint, region, addressing style.
#pragma once

#include <string>
#include <string_view>

namespace prep {

struct EndpointOptions {
  // --endpoint-url; "": AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's "services" section,
  // then its own endpoint_url, unless AWS_IGNORE_CONFIGURED_ENDPOINT_URLS forbids all four.
  std::string endpoint_url;
  std::string region;   // --region; "": AWS_REGION, AWS_DEFAULT_REGION, the profile's, "us-east-1"
  std::string profile;  // as in CredentialOptions
  std::string addressing_style;  // "path", "virtual", "auto"; "": s3.addressing_style, "auto"
};

// A server, and how it wants a bucket to be named.
struct Endpoint {
  enum class Style { path, virtual_host };
  std::string scheme;  // "https"
  std::string host;    // "s3.eu-west-1.amazonaws.com", "localhost:7480", without bucket
  std::string path;    // what an endpoint URL has before the bucket, encoded: "" or "/x"
  std::string region;
  Style style = Style::virtual_host;
  bool is_aws = true;  // not named by the user: a change of region changes the host

  // Host header and encoded path for a key of a bucket (path style for a name that is no DNS label,
  // or has a dot under https, and on a server that is known by its address).
  std::string host_of(std::string_view bucket) const;
  std::string path_of(std::string_view bucket, std::string_view key) const;
  std::string url_of(std::string_view bucket, std::string_view key) const;
  // throws Error corrupt: no region has such a name (it may come from a server's header).
  Endpoint in_region(std::string_view region) const;
};

// Settings, environment and profile put together. A server that is named by a URL is addressed by
// paths unless a setting says otherwise: every server understands that. throws Error usage for a
// URL that is none, and where FIPS or dual-stack endpoints are demanded: name them by their URL.
Endpoint resolve_endpoint(const EndpointOptions& options);

// The endpoint URL of a service ("s3", "sts") that the environment or a profile names, and by what
// ("AWS_ENDPOINT_URL"); "" if none does.
struct ConfiguredUrl {
  std::string url, origin;
};
ConfiguredUrl configured_url(const std::string& service, const std::string& profile);

// Whether a region's name is a DNS label, so that a host's name can be made of it.
bool is_region_name(std::string_view name);
// The domain of a region's services: "amazonaws.com", "amazonaws.com.cn", ….
std::string_view aws_domain(std::string_view region);

}  // namespace prep
