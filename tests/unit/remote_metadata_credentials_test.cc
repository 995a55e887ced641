#include <catch2/catch.hpp>
#include <map>

#include "lib/core/error.h"
#include "lib/remote/metadata_credentials.h"
#include "tests/unit/aws_environment.h"

namespace prep::remote_metadata_credentials_test {

using prep::container_credentials;
using prep::Credentials;
using prep::instance_credentials;
using prep::SimpleRequest;
using prep::SimpleResponse;
using prep::test::AwsEnvironment;

namespace {

const std::string kAnswer =
    R"({"Code": "Success", "AccessKeyId": "A", "SecretAccessKey": "S", "Token": "T",)"
    R"( "Expiration": "2026-12-01T00:00:00Z"})";

// Answers by URL, and remembers what it was asked.
struct Server {
  std::map<std::string, SimpleResponse> answers;  // by "METHOD URL"
  std::vector<SimpleRequest> requests;

  prep::SimpleHttp http() {
    return [this](const SimpleRequest& request) {
      requests.push_back(request);
      const auto found = answers.find(request.method + " " + request.url);
      return found == answers.end() ? SimpleResponse{0, "connection refused"} : found->second;
    };
  }
  std::string header(std::size_t request, const std::string& name) const {
    for (const auto& [field, value] : requests.at(request).headers) {
      if (field == name) return value;
    }
    return "(none)";
  }
};

std::string problem_of(Server& server) {
  try {
    container_credentials(server.http());
  } catch (const prep::Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

const std::string kInstance = "http://169.254.169.254";
const std::string kRoles = "/latest/meta-data/iam/security-credentials/";

Server instance() {
  Server server;
  server.answers["PUT " + kInstance + "/latest/api/token"] = {200, "token=="};
  server.answers["GET " + kInstance + kRoles] = {200, "my-role"};
  server.answers["GET " + kInstance + kRoles + "my-role"] = {200, kAnswer};
  return server;
}

}  // namespace

TEST_CASE("a container's credentials, by a path") {
  AwsEnvironment aws;
  Server server;
  CHECK_FALSE(container_credentials(server.http()));
  aws.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1");
  server.answers["GET http://169.254.170.2/v2/credentials/1"] = {200, kAnswer};
  const std::optional<Credentials> found = container_credentials(server.http());
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->secret_key == "S");
  CHECK(found->session_token == "T");
  CHECK(found->expires == 1796083200);
  CHECK_FALSE(server.requests.at(0).use_proxy);
  CHECK(server.header(0, "authorization") == "(none)");
}

TEST_CASE("a container's token, from a file before the variable") {
  AwsEnvironment aws;
  Server server;
  aws.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:81/c?x=1");
  server.answers["GET http://127.0.0.1:81/c?x=1"] = {200, kAnswer};
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc");
  CHECK(container_credentials(server.http()));
  CHECK(server.header(0, "authorization") == "Basic abc");
  prep::test::write_file(aws / "token", "from file\n");
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", aws / "token");
  CHECK(container_credentials(server.http()));
  CHECK(server.header(1, "authorization") == "from file");
  prep::test::write_file(aws / "token", "two\r\nheaders: x");
  CHECK(problem_of(server).starts_with("corrupt:"));
  aws.unset("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  aws.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "two\r\nheaders: x");
  CHECK(problem_of(server).starts_with("usage:"));
  CHECK(problem_of(server).find("headers") == std::string::npos);
}

TEST_CASE("where a container's credentials may come from") {
  AwsEnvironment aws;
  const std::string url = GENERATE(
      std::string("http://localhost/x"), "http://127.0.0.1:51679/x", "http://127.255.1.2/x",
      "http://[::1]/x", "http://169.254.170.2/x", "http://169.254.170.23/v1/credentials",
      "http://[fd00:ec2::23]/v1/credentials", "https://anywhere.example/x");
  Server server;
  aws.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
  server.answers["GET " + url] = {200, kAnswer};
  CHECK(container_credentials(server.http()));
}

TEST_CASE("where they may not come from") {
  AwsEnvironment aws;
  const std::string url =
      GENERATE(std::string("http://example.com/x"), "http://127.0.0.1@evil.com/x",
               "http://127.evil.com/x", "http://localhost.evil.com/x", "http://169.254.169.254/x",
               "http://169.254.170.2.evil.com/", "http://evil.com\\@127.0.0.1/",
               "file:///etc/passwd", "127.0.0.1", "http://0/", "http://10.0.0.1/");
  Server server;
  aws.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
  CHECK(problem_of(server).starts_with("usage:"));
  CHECK(server.requests.empty());
}

TEST_CASE("a relative URI that would lead to another host") {
  AwsEnvironment aws;
  Server server;
  aws.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@evil.com/x");
  CHECK(problem_of(server).starts_with("usage:"));
  CHECK(server.requests.empty());
}

TEST_CASE("a container's service that fails is asked again, three times in all") {
  AwsEnvironment aws;
  aws.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c");
  const int status = GENERATE(0, 500, 429);
  Server server;
  server.answers["GET http://169.254.170.2/c"] = {status, "why"};
  CHECK(problem_of(server).starts_with("io:"));
  CHECK(server.requests.size() == 3);
}

TEST_CASE("a refusal or another document is final, and not repeated") {
  AwsEnvironment aws;
  aws.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c");
  Server server;
  server.answers["GET http://169.254.170.2/c"] = {403, "hush"};
  CHECK(problem_of(server).starts_with("io:"));
  CHECK(problem_of(server).find("hush") == std::string::npos);
  server.answers["GET http://169.254.170.2/c"] = {200, R"({"SecretAccessKey": "hush"})"};
  CHECK(problem_of(server).starts_with("corrupt:"));
  CHECK(problem_of(server).find("hush") == std::string::npos);
  server.answers["GET http://169.254.170.2/c"] = {200, R"({"Code": "Failed", "Message": "a\nb"})"};
  CHECK(problem_of(server).find("(Failed: a\\nb)") != std::string::npos);
}

TEST_CASE("an instance's credentials, with a token first") {
  AwsEnvironment aws;
  Server server = instance();
  std::string why;
  const std::optional<Credentials> found = instance_credentials(server.http(), &why);
  REQUIRE(found);
  CHECK(found->access_key == "A");
  CHECK(found->session_token == "T");
  CHECK(found->origin == "role my-role of this EC2 instance");
  REQUIRE(server.requests.size() == 3);
  CHECK(server.header(0, "x-aws-ec2-metadata-token-ttl-seconds") == "21600");
  CHECK(server.header(1, "x-aws-ec2-metadata-token") == "token==");
  CHECK(server.header(2, "x-aws-ec2-metadata-token") == "token==");
  for (const SimpleRequest& request : server.requests) {
    CHECK_FALSE(request.use_proxy);
    CHECK(request.timeout_ms == 1000);
  }
}

TEST_CASE("no instance, one without a role, and one that is not to be asked") {
  AwsEnvironment aws;
  std::string why;
  Server nothing;
  CHECK_FALSE(instance_credentials(nothing.http(), &why));
  CHECK(why == "no answer from http://169.254.169.254");
  CHECK(nothing.requests.size() == 1);
  Server server = instance();
  server.answers["GET " + kInstance + kRoles] = {404, ""};
  CHECK_FALSE(instance_credentials(server.http(), &why));
  CHECK(why == "this instance has no role");
  server.answers["GET " + kInstance + kRoles] = {200, "../../user-data"};
  CHECK_FALSE(instance_credentials(server.http(), &why));
  server.answers["PUT " + kInstance + "/latest/api/token"] = {200, "a\r\nb: c"};
  CHECK_FALSE(instance_credentials(server.http(), &why));
  aws.set("AWS_EC2_METADATA_DISABLED", "True");
  server.requests.clear();
  CHECK_FALSE(instance_credentials(server.http(), &why));
  CHECK(why == "AWS_EC2_METADATA_DISABLED is true");
  CHECK(server.requests.empty());
}

TEST_CASE("settings of the instance's service") {
  AwsEnvironment aws;
  Server server;
  std::string why;
  aws.set("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "4");
  aws.set("AWS_METADATA_SERVICE_TIMEOUT", "2");
  aws.set("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6");
  CHECK_FALSE(instance_credentials(server.http(), &why));
  CHECK(server.requests.size() == 4);
  CHECK(server.requests[0].timeout_ms == 2000);
  CHECK(server.requests[0].url == "http://[fd00:ec2::254]/latest/api/token");
  aws.set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1338/");
  aws.set("AWS_METADATA_SERVICE_NUM_ATTEMPTS", "x");
  server.requests.clear();
  CHECK_FALSE(instance_credentials(server.http(), &why));
  CHECK(server.requests.size() == 1);
  CHECK(server.requests[0].url == "http://127.0.0.1:1338/latest/api/token");
}

}  // namespace prep::remote_metadata_credentials_test
