#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/remote/endpoint.h"
#include "tests/unit/aws_environment.h"

namespace prep::remote_endpoint_test {

using prep::Endpoint;
using prep::EndpointOptions;
using prep::resolve_endpoint;
using prep::test::AwsEnvironment;

namespace {

Endpoint endpoint_of(const std::string& url, const std::string& style = "") {
  EndpointOptions options;
  options.endpoint_url = url;
  options.addressing_style = style;
  return resolve_endpoint(options);
}

EndpointOptions with_region(const std::string& region) {
  EndpointOptions options;
  options.region = region;
  return options;
}

}  // namespace

TEST_CASE("AWS, when nothing says otherwise") {
  AwsEnvironment aws;
  const Endpoint endpoint = resolve_endpoint({});
  CHECK(endpoint.is_aws);
  CHECK(endpoint.region == "us-east-1");
  CHECK(endpoint.url_of("bucket", "a b/c") == "https://bucket.s3.us-east-1.amazonaws.com/a%20b/c");
  CHECK(endpoint.host_of("bucket") == "bucket.s3.us-east-1.amazonaws.com");
  CHECK(endpoint.path_of("bucket", "") == "/");
}

TEST_CASE("names that are no DNS label go into the path, and those with dots under https") {
  AwsEnvironment aws;
  const Endpoint endpoint = resolve_endpoint({});
  CHECK(endpoint.url_of("a.b", "k") == "https://s3.us-east-1.amazonaws.com/a.b/k");
  CHECK(endpoint.url_of("Upper", "k") == "https://s3.us-east-1.amazonaws.com/Upper/k");
  CHECK(endpoint.url_of("under_score", "k") == "https://s3.us-east-1.amazonaws.com/under_score/k");
  CHECK(endpoint.url_of("-x", "k") == "https://s3.us-east-1.amazonaws.com/-x/k");
  CHECK(endpoint.url_of(std::string(64, 'x'), "k").starts_with("https://s3."));
  CHECK(endpoint_of("http://localhost:7480", "virtual").host_of("a.b") == "a.b.localhost:7480");
  CHECK(endpoint_of("http://localhost:7480", "virtual").host_of("a..b") == "localhost:7480");
}

TEST_CASE("other servers are addressed by paths unless a setting says otherwise") {
  AwsEnvironment aws;
  const Endpoint endpoint = endpoint_of("http://localhost:7480/");
  CHECK_FALSE(endpoint.is_aws);
  CHECK(endpoint.url_of("b", "/x//../y") == "http://localhost:7480/b//x//../y");
  CHECK(endpoint_of("http://h/p/").url_of("b", "k") == "http://h/p/b/k");
  CHECK(endpoint_of("http://h/p/").path_of("", "") == "/p/");
  CHECK(endpoint_of("https://h:443").host_of("b") == "h");
  CHECK(endpoint_of("http://localhost:7480", "virtual").url_of("b", "k") ==
        "http://b.localhost:7480/k");
  CHECK(endpoint_of("http://127.0.0.1:7480", "virtual").url_of("b", "k") ==
        "http://127.0.0.1:7480/b/k");
  CHECK(endpoint_of("http://[::1]:7480", "virtual").url_of("b", "k") == "http://[::1]:7480/b/k");
  aws.config("[default]\ns3 =\n  addressing_style = virtual\n");
  CHECK(endpoint_of("http://localhost:7480").host_of("b") == "b.localhost:7480");
  CHECK(endpoint_of("http://localhost:7480", "path").host_of("b") == "localhost:7480");
  aws.config("[default]\ns3 =\n  addressing_style = sideways\n");
  CHECK_THROWS_AS(endpoint_of("http://h"), prep::Error);
}

TEST_CASE("the endpoint's places in their order") {
  AwsEnvironment aws;
  aws.config("[default]\nendpoint_url = http://profile\n");
  CHECK(resolve_endpoint({}).host == "profile");
  aws.config(
      "[default]\nendpoint_url = http://profile\nservices = s\n"
      "[services s]\ns3 =\n  endpoint_url = http://services\n");
  CHECK(resolve_endpoint({}).host == "services");
  aws.set("AWS_ENDPOINT_URL", "http://all");
  CHECK(resolve_endpoint({}).host == "all");
  aws.set("AWS_ENDPOINT_URL_S3", "http://s3");
  CHECK(resolve_endpoint({}).host == "s3");
  CHECK(prep::configured_url("sts", "").url == "http://all");
  CHECK(endpoint_of("http://option").host == "option");
  aws.set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
  CHECK(resolve_endpoint({}).is_aws);
  CHECK(endpoint_of("http://option").host == "option");
}

TEST_CASE("the region's places in their order") {
  AwsEnvironment aws;
  aws.config("[default]\nregion = eu-west-1\n[profile dev]\nregion = eu-west-2\n");
  CHECK(resolve_endpoint({}).host == "s3.eu-west-1.amazonaws.com");
  aws.set("AWS_PROFILE", "dev");
  CHECK(resolve_endpoint({}).region == "eu-west-2");
  aws.set("AWS_DEFAULT_REGION", "eu-west-3");
  CHECK(resolve_endpoint({}).region == "eu-west-3");
  aws.set("AWS_REGION", "eu-north-1");
  CHECK(resolve_endpoint({}).region == "eu-north-1");
  CHECK(resolve_endpoint(with_region("eu-south-1")).region == "eu-south-1");
}

TEST_CASE("regions in other domains, and one that is none") {
  AwsEnvironment aws;
  CHECK(resolve_endpoint(with_region("cn-north-1")).host == "s3.cn-north-1.amazonaws.com.cn");
  CHECK(resolve_endpoint(with_region("us-gov-west-1")).host == "s3.us-gov-west-1.amazonaws.com");
  CHECK(resolve_endpoint(with_region("us-isob-east-1")).host == "s3.us-isob-east-1.sc2s.sgov.gov");
  CHECK(resolve_endpoint(with_region("aws-global")).host == "s3.us-east-1.amazonaws.com");
}

TEST_CASE("a region that would lead to another host is refused") {
  AwsEnvironment aws;
  const std::string region = GENERATE("evil.com/", "a.b", "x@y", "x#", "", " ", "us east", "-x");
  const Endpoint endpoint = resolve_endpoint({});
  CHECK_THROWS_AS(endpoint.in_region(region), prep::Error);
  if (!region.empty()) CHECK_THROWS_AS(resolve_endpoint(with_region(region)), prep::Error);
}

TEST_CASE("another region has another host only at AWS") {
  AwsEnvironment aws;
  CHECK(resolve_endpoint({}).in_region("eu-west-1").host == "s3.eu-west-1.amazonaws.com");
  CHECK(resolve_endpoint({}).in_region("eu-west-1").region == "eu-west-1");
  CHECK(endpoint_of("http://h").in_region("eu-west-1").host == "h");
  CHECK(endpoint_of("http://h").in_region("eu-west-1").region == "eu-west-1");
}

TEST_CASE("the region of a host of AWS that is named") {
  AwsEnvironment aws;
  CHECK(endpoint_of("https://s3.eu-west-1.amazonaws.com").region == "eu-west-1");
  CHECK(endpoint_of("https://bucket.vpce-1a-2b.s3.us-west-2.vpce.amazonaws.com").region ==
        "us-west-2");
  CHECK(endpoint_of("https://s3.cn-north-1.amazonaws.com.cn").region == "cn-north-1");
  CHECK(endpoint_of("https://s3.amazonaws.com").region == "us-east-1");
  CHECK(endpoint_of("http://localhost").region == "us-east-1");
  aws.set("AWS_REGION", "RegionOne");
  CHECK(endpoint_of("http://localhost").region == "RegionOne");
}

TEST_CASE("URLs that are none name their origin") {
  AwsEnvironment aws;
  aws.set("AWS_ENDPOINT_URL", "localhost:7480");
  try {
    resolve_endpoint({});
    FAIL();
  } catch (const prep::Error& error) {
    CHECK(error.code() == prep::Code::usage);
    CHECK(std::string(error.what()) ==
          "AWS_ENDPOINT_URL: \"localhost:7480\" is no URL of a server: write https://HOST[:PORT]");
  }
}

TEST_CASE("FIPS and dual-stack endpoints are refused rather than ignored") {
  AwsEnvironment aws;
  const std::string name = GENERATE("AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT");
  aws.set(name, "true");
  CHECK_THROWS_AS(resolve_endpoint({}), prep::Error);
  CHECK_NOTHROW(endpoint_of("https://s3-fips.us-east-1.amazonaws.com"));
  aws.set(name, "false");
  CHECK_NOTHROW(resolve_endpoint({}));
}

}  // namespace prep::remote_endpoint_test
