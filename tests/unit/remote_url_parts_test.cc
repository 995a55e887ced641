#include <catch2/catch.hpp>

#include "lib/remote/url_parts.h"

namespace prep::remote_url_parts_test {

using prep::split_url;
using prep::UrlParts;

TEST_CASE("parts of a URL") {
  const UrlParts parts = split_url("HTTPS://S3.Example.com:8443/a/B//");
  CHECK(parts.scheme == "https");
  CHECK(parts.host == "s3.example.com:8443");
  CHECK(parts.path == "/a/B");
  CHECK(parts.host_name() == "s3.example.com");
}

TEST_CASE("the scheme's own port is left out") {
  CHECK(split_url("http://h:80").host == "h");
  CHECK(split_url("https://h:443/").host == "h");
  CHECK(split_url("http://h:443").host == "h:443");
  CHECK(split_url("https://h:80").host == "h:80");
  CHECK(split_url("http://h:8080").host == "h:8080");
}

TEST_CASE("addresses") {
  CHECK(split_url("http://127.0.0.1:7480").host_name() == "127.0.0.1");
  CHECK(split_url("http://[::1]:7480").host == "[::1]:7480");
  CHECK(split_url("http://[::1]:7480").host_name() == "::1");
  CHECK(split_url("http://[fd00:ec2::254]").host_name() == "fd00:ec2::254");
}

TEST_CASE("what is no server's URL has no host") {
  const std::string url =
      GENERATE(std::string(""), "h", "h:80", "//h", "http:/h", "http://", "http:///x", "ftp://h",
               "http://u@h", "http://u:p@h", "http://127.0.0.1@evil", "http://h?x", "http://h/?x",
               "http://h/#x", "http://h:", "http://h:x", "http://h:1234567", "http://h h",
               "http://h/a b", "http://::1", "http://[::1", "http://[x]:80", "http://h\n",
               "http://h%41", std::string("http://h\0", 9));
  CHECK(split_url(url).host.empty());
}

}  // namespace prep::remote_url_parts_test
