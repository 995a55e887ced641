#include <catch2/catch.hpp>
#include <thread>

#include "lib/core/error.h"
#include "lib/remote/credentials.h"
#include "tests/unit/aws_environment.h"

namespace prep::remote_credentials_test {

using prep::CredentialChain;
using prep::CredentialOptions;
using prep::Credentials;
using prep::SimpleRequest;
using prep::SimpleResponse;
using prep::test::AwsEnvironment;

namespace {

constexpr std::int64_t kNow = 1796000000;  // 2026-11-30T00:53:20Z

// The world outside: a clock, and services that answer as a test says.
struct World {
  std::int64_t now = kNow;
  std::vector<SimpleRequest> requests;
  std::function<SimpleResponse(const SimpleRequest&)> answer = [](const SimpleRequest&) {
    return SimpleResponse{0, "connection refused"};
  };

  CredentialChain chain(CredentialOptions options = {}) {
    options.now = [this] { return now; };
    return CredentialChain(std::move(options), [this](const SimpleRequest& request) {
      requests.push_back(request);
      return answer(request);
    });
  }
  Credentials find(CredentialOptions options = {}) { return chain(std::move(options)).get(); }
};

CredentialOptions with_profile(const std::string& profile) {
  CredentialOptions options;
  options.profile = profile;
  return options;
}

std::string problem_of(CredentialOptions options = {}) {
  World world;
  try {
    world.find(std::move(options));
  } catch (const prep::Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

SimpleResponse sts_answer(const std::string& action, const std::string& key,
                          const std::string& expiration = "2026-11-30T01:53:20Z") {
  return {200, "<" + action + "Response><" + action + "Result><Credentials><AccessKeyId>" + key +
                   "</AccessKeyId><SecretAccessKey>S-" + key +
                   "</SecretAccessKey><SessionToken>T-" + key + "</SessionToken><Expiration>" +
                   expiration + "</Expiration></Credentials></" + action + "Result></" + action +
                   "Response>"};
}

std::string header(const SimpleRequest& request, const std::string& name) {
  for (const auto& [field, value] : request.headers) {
    if (field == name) return value;
  }
  return "(none)";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the environment") {
  AwsEnvironment aws;
  World world;
  aws.set("AWS_ACCESS_KEY_ID", "A");
  aws.set("AWS_SECRET_ACCESS_KEY", "S");
  aws.credentials("[default]\naws_access_key_id = P\naws_secret_access_key = Q\n");
  CHECK(world.find().access_key == "A");
  CHECK(world.find().secret_key == "S");
  CHECK(world.find().session_token.empty());
  CHECK(world.find().origin == "environment");
  aws.set("AWS_SESSION_TOKEN", "T");
  CHECK(world.find().session_token == "T");
  CHECK(world.requests.empty());
  aws.unset("AWS_SECRET_ACCESS_KEY");
  CHECK(problem_of().starts_with("usage:"));
}

TEST_CASE("nobody signs if nobody is to") {
  AwsEnvironment aws;
  aws.set("AWS_ACCESS_KEY_ID", "A");
  CredentialOptions options;
  options.no_sign_request = true;
  World world;
  CHECK(world.find(options).anonymous());
}

TEST_CASE("profiles") {
  AwsEnvironment aws;
  World world;
  aws.credentials(
      "[default]\naws_access_key_id = A\naws_secret_access_key = S\n"
      "[dev]\naws_access_key_id = D\naws_secret_access_key = E\naws_session_token = F\n");
  CHECK(world.find().access_key == "A");
  CHECK(world.find(with_profile("dev")).session_token == "F");
  aws.set("AWS_PROFILE", "dev");
  CHECK(world.find().access_key == "D");
  CHECK(world.find().origin == "profile dev");
  CHECK(world.find(with_profile("default")).access_key == "A");
  aws.set("AWS_ACCESS_KEY_ID", "X");
  aws.set("AWS_SECRET_ACCESS_KEY", "Y");
  CHECK(world.find().access_key == "X");
  CHECK(world.find(with_profile("dev")).access_key == "D");
}

TEST_CASE("profiles that are not there, or not whole") {
  AwsEnvironment aws;
  aws.credentials("[half]\naws_access_key_id = hush\n[none]\nregion = x\n");
  CHECK(
      contains(problem_of(with_profile("missing")), "not-found: there is no profile missing in "));
  CHECK(problem_of(with_profile("half")).starts_with("usage: profile half has only one"));
  CHECK_FALSE(contains(problem_of(with_profile("half")), "hush"));
  CHECK(problem_of(with_profile("none")).starts_with("not-found: profile none has no credentials"));
  aws.set("AWS_PROFILE", "missing");
  CHECK(problem_of().starts_with("not-found: there is no profile missing"));
}

TEST_CASE("when there are none, the message says where was looked") {
  AwsEnvironment aws;
  const std::string problem = problem_of();
  CHECK(problem.starts_with("not-found: no credentials found. Looked in: environment ("));
  CHECK(contains(problem, "web identity (AWS_WEB_IDENTITY_TOKEN_FILE is not set)"));
  CHECK(contains(problem, "profile default (no credentials in " + (aws / ".aws/config")));
  CHECK(contains(problem, "container ("));
  CHECK(contains(problem, "EC2 instance (no answer from http://169.254.169.254)"));
  CHECK(contains(problem, "--no-sign-request"));
}

TEST_CASE("a profile's process") {
  AwsEnvironment aws;
  World world;
  aws.config(
      "[default]\ncredential_process = printf '{\"Version\":1,\"AccessKeyId\":\"A\","
      "\"SecretAccessKey\":\"S\"}'\n[profile bad]\ncredential_process = echo sorry >&2; exit 2\n");
  CHECK(world.find().access_key == "A");
  CHECK(problem_of(with_profile("bad")) ==
        "io: credential_process of profile bad ended with 2: sorry\\n");
}

TEST_CASE("a role, with the keys of another profile") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) { return sts_answer("AssumeRole", "R"); };
  aws.config(
      "[profile r]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = base\nregion = eu-west-1\n"
      "external_id = e/1\nrole_session_name = me\nduration_seconds = 900\n");
  aws.credentials("[base]\naws_access_key_id = A\naws_secret_access_key = hush\n");
  const Credentials found = world.find(with_profile("r"));
  CHECK(found.access_key == "R");
  CHECK(found.secret_key == "S-R");
  CHECK(found.session_token == "T-R");
  CHECK(found.expires == kNow + 3600);
  CHECK(found.origin == "role arn:aws:iam::1:role/x of profile r");
  REQUIRE(world.requests.size() == 1);
  const SimpleRequest& request = world.requests[0];
  CHECK(request.method == "POST");
  CHECK(request.url == "https://sts.eu-west-1.amazonaws.com/");
  CHECK(request.body ==
        "Action=AssumeRole&DurationSeconds=900&ExternalId=e%2F1&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3A"
        "role%2Fx&RoleSessionName=me&Version=2011-06-15");
  CHECK(header(request, "authorization")
            .starts_with("AWS4-HMAC-SHA256 Credential=A/20261130/eu-west-1/sts/aws4_request, "
                         "SignedHeaders=content-type;host;x-amz-date, Signature="));
  CHECK(header(request, "content-type").starts_with("application/x-www-form-urlencoded"));
  CHECK_FALSE(contains(request.body + header(request, "authorization"), "hush"));
}

TEST_CASE("where the token service is") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) { return sts_answer("AssumeRole", "R"); };
  aws.config(
      "[profile r]\nrole_arn = a\nsource_profile = r\naws_access_key_id = A\n"
      "aws_secret_access_key = S\n");
  const auto url_of = [&](const std::string& region) {
    CredentialOptions options = with_profile("r");
    options.region = region;
    world.find(options);
    return world.requests.back().url;
  };
  CHECK(url_of("") == "https://sts.us-east-1.amazonaws.com/");
  CHECK(url_of("cn-north-1") == "https://sts.cn-north-1.amazonaws.com.cn/");
  aws.set("AWS_ENDPOINT_URL", "http://localhost:7480");
  CHECK(url_of("") == "http://localhost:7480/");
  aws.set("AWS_ENDPOINT_URL_STS", "http://localhost:1/sts/");
  CHECK(url_of("") == "http://localhost:1/sts/");
}

TEST_CASE("roles one behind the other") {
  AwsEnvironment aws;
  World world;
  world.answer = [&](const SimpleRequest&) {
    return sts_answer("AssumeRole", "R" + std::to_string(world.requests.size()));
  };
  aws.config(
      "[profile one]\nrole_arn = arn-1\nsource_profile = two\n"
      "[profile two]\nrole_arn = arn-2\nsource_profile = three\n"
      "[profile three]\naws_access_key_id = A\naws_secret_access_key = S\n");
  CHECK(world.find(with_profile("one")).access_key == "R2");
  REQUIRE(world.requests.size() == 2);
  CHECK(contains(world.requests[0].body, "RoleArn=arn-2"));
  CHECK(contains(header(world.requests[0], "authorization"), "Credential=A/"));
  CHECK(contains(world.requests[1].body, "RoleArn=arn-1"));
  CHECK(contains(header(world.requests[1], "authorization"), "Credential=R1/"));
  CHECK(header(world.requests[1], "x-amz-security-token") == "T-R1");
}

TEST_CASE("profiles that refer to each other in a circle") {
  AwsEnvironment aws;
  aws.config(
      "[profile a]\nrole_arn = x\nsource_profile = b\n[profile b]\nrole_arn = y\nsource_profile = "
      "c\n"
      "[profile c]\nrole_arn = z\nsource_profile = a\n[profile self]\nrole_arn = x\n"
      "source_profile = self\n");
  CHECK(problem_of(with_profile("a")) ==
        "usage: the source_profiles of profile a lead in a circle, by way of a");
  CHECK(problem_of(with_profile("self")).starts_with("not-found: profile self is the source"));
  std::string chain;
  for (int i = 0; i < 100; ++i) {
    chain += "[profile p" + std::to_string(i) + "]\nrole_arn = x\nsource_profile = p" +
             std::to_string(i + 1) + "\n";
  }
  aws.config(chain);
  CHECK(problem_of(with_profile("p0")).starts_with("usage:"));
}

TEST_CASE("roles that want something else") {
  AwsEnvironment aws;
  aws.config(
      "[profile none]\nrole_arn = x\n[profile both]\nrole_arn = x\nsource_profile = none\n"
      "credential_source = Environment\n[profile mfa]\nrole_arn = x\nmfa_serial = y\n"
      "source_profile = none\n[profile sso]\nsso_session = s\n[profile odd]\nrole_arn = x\n"
      "credential_source = Moon\n[profile gone]\nrole_arn = x\nsource_profile = missing\n"
      "[profile env]\nrole_arn = x\ncredential_source = Environment\n");
  CHECK(problem_of(with_profile("none")).starts_with("usage:"));
  CHECK(problem_of(with_profile("both")).starts_with("usage:"));
  CHECK(problem_of(with_profile("mfa")).starts_with("unsupported:"));
  CHECK(problem_of(with_profile("sso")).starts_with("unsupported:"));
  CHECK(contains(problem_of(with_profile("sso")), "export-credentials --profile sso"));
  CHECK(problem_of(with_profile("odd")).starts_with("usage:"));
  CHECK(problem_of(with_profile("gone")).starts_with("not-found: there is no profile missing"));
  CHECK(contains(problem_of(with_profile("env")), "AWS_ACCESS_KEY_ID is not set"));
}

TEST_CASE("a role with the environment's keys") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) { return sts_answer("AssumeRole", "R"); };
  aws.config("[profile r]\nrole_arn = x\ncredential_source = Environment\n");
  aws.set("AWS_ACCESS_KEY_ID", "E");
  aws.set("AWS_SECRET_ACCESS_KEY", "S");
  CHECK(world.find(with_profile("r")).access_key == "R");
  CHECK(contains(header(world.requests[0], "authorization"), "Credential=E/"));
}

TEST_CASE("web identity, from the environment and from a profile") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) { return sts_answer("AssumeRoleWithWebIdentity", "W"); };
  prep::test::write_file(aws / "token", "eyJ.x-y_z\n");
  aws.set("AWS_WEB_IDENTITY_TOKEN_FILE", "~/token");
  CHECK(problem_of().starts_with("usage:"));
  aws.set("AWS_ROLE_ARN", "arn");
  aws.set("AWS_ROLE_SESSION_NAME", "pod");
  CHECK(world.find().access_key == "W");
  CHECK(world.requests.back().body ==
        "Action=AssumeRoleWithWebIdentity&RoleArn=arn&RoleSessionName=pod&Version=2011-06-15&"
        "WebIdentityToken=eyJ.x-y_z");
  CHECK(header(world.requests.back(), "authorization") == "(none)");
  aws.unset("AWS_WEB_IDENTITY_TOKEN_FILE");
  aws.config("[profile w]\nrole_arn = other\nweb_identity_token_file = " + (aws / "token") + "\n");
  CHECK(world.find(with_profile("w")).access_key == "W");
  CHECK(contains(world.requests.back().body, "RoleArn=other&RoleSessionName=preptools-"));
}

TEST_CASE("the token service's refusals") {
  AwsEnvironment aws;
  World world;
  aws.config(
      "[profile r]\nrole_arn = x\nsource_profile = r\naws_access_key_id = A\n"
      "aws_secret_access_key = hush\n");
  const auto problem = [&](SimpleResponse response) {
    world.requests.clear();
    world.answer = [response](const SimpleRequest&) { return response; };
    try {
      world.find(with_profile("r"));
    } catch (const prep::Error& error) {
      return std::string(code_name(error.code())) + ": " + error.what();
    }
    return std::string();
  };
  CHECK(problem({403,
                 "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you\n</Message>"
                 "</Error></ErrorResponse>"}) ==
        "io: role x of profile r: https://sts.us-east-1.amazonaws.com/ refuses with status 403 "
        "AccessDenied: not you\\n");
  CHECK(world.requests.size() == 1);
  CHECK(problem({0, "timeout"}) ==
        "io: role x of profile r: no answer from https://sts.us-east-1.amazonaws.com/: timeout");
  CHECK(world.requests.size() == 3);
  CHECK(problem({503, ""}).starts_with("io:"));
  CHECK(problem({200, "<x>"}).starts_with("corrupt: role x of profile r: "));
  CHECK(problem(sts_answer("AssumeRole", "A", "soon")).starts_with("corrupt:"));
}

TEST_CASE("containers and instances come last") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest& request) {
    if (contains(request.url, "/c")) {
      return SimpleResponse{200, R"({"AccessKeyId": "C", "SecretAccessKey": "S", "Token": "T"})"};
    }
    return SimpleResponse{404, ""};
  };
  aws.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/c");
  CHECK(world.find().access_key == "C");
  aws.credentials("[default]\naws_access_key_id = P\naws_secret_access_key = Q\n");
  CHECK(world.find().access_key == "P");
}

TEST_CASE("credentials are kept until some minutes before they expire") {
  AwsEnvironment aws;
  World world;
  world.answer = [&](const SimpleRequest&) {
    const std::string key = "R" + std::to_string(world.requests.size());
    return sts_answer("AssumeRole", key,
                      world.requests.size() == 1 ? "2026-11-30T01:53:20Z" : "2026-11-30T03:53:20Z");
  };
  aws.config(
      "[default]\nrole_arn = x\nsource_profile = default\naws_access_key_id = A\n"
      "aws_secret_access_key = S\n");
  CredentialChain chain = world.chain();
  CHECK(chain.get().access_key == "R1");
  world.now = kNow + 3600 - 301;
  CHECK(chain.get().access_key == "R1");
  world.now = kNow + 3600 - 300;
  CHECK(chain.get().access_key == "R2");
  CHECK(world.requests.size() == 2);
}

TEST_CASE("as long as they are good, a service in trouble does no harm") {
  AwsEnvironment aws;
  World world;
  const auto good = [](const SimpleRequest&) { return sts_answer("AssumeRole", "R"); };
  world.answer = good;
  aws.config(
      "[default]\nrole_arn = x\nsource_profile = default\naws_access_key_id = A\n"
      "aws_secret_access_key = S\n");
  CredentialChain chain = world.chain();
  CHECK(chain.get().access_key == "R");
  world.answer = [](const SimpleRequest&) { return SimpleResponse{400, ""}; };
  world.now = kNow + 3600 - 100;
  CHECK(chain.get().access_key == "R");
  CHECK(chain.get().access_key == "R");
  CHECK(world.requests.size() == 2);  // not with every call
  world.now = kNow + 3600;
  CHECK_THROWS_AS(chain.get(), prep::Error);
  CHECK_THROWS_AS(chain.get(), prep::Error);
  CHECK(world.requests.size() == 3);
  world.answer = [](const SimpleRequest&) {
    return sts_answer("AssumeRole", "R2", "2026-11-30T03:53:20Z");
  };
  world.now += 30;
  CHECK(chain.get().access_key == "R2");
}

TEST_CASE(
    "what a service hands out although it has expired is tried, and not asked for all the time") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) {
    return sts_answer("AssumeRole", "R", "2026-11-29T00:00:00Z");
  };
  aws.config(
      "[default]\nrole_arn = x\nsource_profile = default\naws_access_key_id = A\n"
      "aws_secret_access_key = S\n");
  CredentialChain chain = world.chain();
  CHECK(chain.get().access_key == "R");
  CHECK(chain.get().access_key == "R");
  CHECK(world.requests.size() == 1);
}

TEST_CASE("when the server says that they are expired they are looked up again") {
  AwsEnvironment aws;
  World world;
  aws.credentials("[default]\naws_access_key_id = A\naws_secret_access_key = S\n");
  CredentialChain chain = world.chain();
  const Credentials old = chain.get();
  aws.credentials("[default]\naws_access_key_id = B\naws_secret_access_key = S\n");
  CHECK(chain.get().access_key == "A");
  chain.expired(old);
  CHECK(chain.get().access_key == "B");
  chain.expired(old);  // of those before: a second thread that was late
  aws.credentials("[default]\naws_access_key_id = C\naws_secret_access_key = S\n");
  CHECK(chain.get().access_key == "B");
}

TEST_CASE("many threads look once") {
  AwsEnvironment aws;
  World world;
  world.answer = [](const SimpleRequest&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return sts_answer("AssumeRole", "R");
  };
  aws.config(
      "[default]\nrole_arn = x\nsource_profile = default\naws_access_key_id = A\n"
      "aws_secret_access_key = S\n");
  CredentialChain chain = world.chain();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { chain.get(); });
  for (std::thread& thread : threads) thread.join();
  CHECK(world.requests.size() == 1);
}

}  // namespace prep::remote_credentials_test
