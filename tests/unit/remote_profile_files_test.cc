#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/remote/profile_files.h"
#include "tests/unit/aws_environment.h"

namespace prep::remote_profile_files_test {

using prep::ProfileFiles;
using prep::test::AwsEnvironment;

namespace {

std::string get(const ProfileFiles& files, const std::string& profile, const std::string& name) {
  const ProfileFiles::Profile* found = files.find(profile);
  if (!found) return "(no profile)";
  const auto value = found->find(name);
  return value == found->end() ? "(none)" : value->second;
}

std::string problem_of(const std::string& config, const std::string& credentials = "") {
  try {
    const ProfileFiles files(config, credentials, "conf", "cred");
  } catch (const prep::Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("profiles of both files are merged, those of the credentials file first") {
  const ProfileFiles files(
      "[default]\nregion = eu-west-1\n\n[profile dev]\nregion=us-west-2\naws_access_key_id = C\n",
      "[default]\naws_access_key_id = A\n[dev]\naws_access_key_id = D\n");
  CHECK(get(files, "default", "region") == "eu-west-1");
  CHECK(get(files, "default", "aws_access_key_id") == "A");
  CHECK(get(files, "dev", "region") == "us-west-2");
  CHECK(get(files, "dev", "aws_access_key_id") == "D");
  CHECK(files.find("other") == nullptr);
}

TEST_CASE("which sections are profiles depends on the file") {
  const ProfileFiles files(
      "[dev]\na = 1\n[profile  x y]\na = 2\n[profile \"q r\"]\na = 3\n[sso-session s]\na = 4\n",
      "[profile z]\na = 5\n[\"two words\"]\na = 6\n");
  CHECK(files.find("dev") == nullptr);
  CHECK(get(files, "x y", "a") == "2");
  CHECK(get(files, "q r", "a") == "3");
  CHECK(files.find("s") == nullptr);
  CHECK(get(files, "profile z", "a") == "5");
  CHECK(get(files, "two words", "a") == "6");
}

TEST_CASE("[profile default] goes before [default]") {
  const std::string plain = "[default]\na = plain\n", full = "[profile default]\na = full\n";
  CHECK(get(ProfileFiles(plain + full, ""), "default", "a") == "full");
  CHECK(get(ProfileFiles(full + plain, ""), "default", "a") == "full");
  CHECK(get(ProfileFiles(plain, ""), "default", "a") == "plain");
}

TEST_CASE("lines") {
  const ProfileFiles files(
      "\xef\xbb\xbf# comment\r\n; another\r\n[default] # behind\r\n"
      "  \r\nRegion\t=  eu-west-1  # why\r\nurl = http://h/#x;y\r\n"
      "key = a=b==\r\nregion = us-east-1\r\nempty =\r\n[default]\nlast = 1",
      "");
  CHECK(get(files, "default", "region") == "us-east-1");
  CHECK(get(files, "default", "url") == "http://h/#x;y");
  CHECK(get(files, "default", "key") == "a=b==");
  CHECK(get(files, "default", "empty").empty());
  CHECK(get(files, "default", "last") == "1");
}

TEST_CASE("nested settings and lines that go on") {
  const ProfileFiles files(
      "[default]\ns3 =\n  addressing_style = path\n  # no\n\tMax_Concurrent = 3\nother = 1\n"
      "  goes on\nplain = 2\n[sso-session x]\nignored =\n  whatever\n",
      "");
  CHECK(get(files, "default", "s3.addressing_style") == "path");
  CHECK(get(files, "default", "s3.max_concurrent") == "3");
  CHECK(get(files, "default", "other") == "1\ngoes on");
  CHECK(get(files, "default", "plain") == "2");
}

TEST_CASE("services") {
  const ProfileFiles files(
      "[profile dev]\nservices = local\n[services local]\ns3 =\n  endpoint_url = http://h:1\n"
      "sts =\n  endpoint_url = http://h:2\n",
      "");
  REQUIRE(files.find_services("local"));
  CHECK(files.find_services("local")->at("s3.endpoint_url") == "http://h:1");
  CHECK(files.find_services("local")->at("sts.endpoint_url") == "http://h:2");
  CHECK(files.find_services("dev") == nullptr);
  CHECK(files.find("local") == nullptr);
}

TEST_CASE("what cannot be read is told by file and line, and never repeated") {
  CHECK(problem_of("a = b\n").starts_with("corrupt: conf, line 1:"));
  CHECK(problem_of("[default]\n\nhush\n").starts_with("corrupt: conf, line 3:"));
  CHECK(problem_of("[default]\n = hush\n").starts_with("corrupt: conf, line 2:"));
  CHECK(problem_of("", "[default\n").starts_with("corrupt: cred, line 1:"));
  CHECK(problem_of("[default]\ns3 =\n  hush\n").starts_with("corrupt: conf, line 3:"));
  for (const char* text : {"[default]\nhush\n", "hush = 1", "[hush", "[default]\na =\n hush\n"}) {
    CHECK(problem_of(text).find("hush") == std::string::npos);
  }
}

TEST_CASE("files are found in the home directory, or where variables say") {
  AwsEnvironment aws;
  CHECK(ProfileFiles::load().find("default") == nullptr);
  aws.config("[default]\na = home\n");
  CHECK(get(ProfileFiles::load(), "default", "a") == "home");
  prep::test::write_file(aws / "x/config", "[default]\na = elsewhere\n");
  aws.set("AWS_CONFIG_FILE", "~/x/config");
  CHECK(get(ProfileFiles::load(), "default", "a") == "elsewhere");
  aws.set("AWS_CONFIG_FILE", aws / "missing");
  CHECK(ProfileFiles::load().find("default") == nullptr);
  aws.set("AWS_CONFIG_FILE", "/dev/null");
  CHECK(ProfileFiles::load().find("default") == nullptr);
  aws.set("AWS_SHARED_CREDENTIALS_FILE", aws / "x/config");
  CHECK(get(ProfileFiles::load(), "default", "a") == "elsewhere");
  CHECK(ProfileFiles::load().names() == "/dev/null or " + (aws / "x/config"));
}

TEST_CASE("a file that is too long or a directory is an error") {
  AwsEnvironment aws;
  aws.config(std::string((1 << 20) + 1, '#'));
  CHECK_THROWS_AS(ProfileFiles::load(), prep::Error);
  aws.config(std::string(1 << 20, '#'));
  CHECK_NOTHROW(ProfileFiles::load());
  aws.set("AWS_CONFIG_FILE", "/");
  CHECK_THROWS_AS(ProfileFiles::load(), prep::Error);
}

TEST_CASE("the profile that is meant") {
  AwsEnvironment aws;
  CHECK(prep::chosen_profile("") == "default");
  aws.set("AWS_PROFILE", "dev");
  CHECK(prep::chosen_profile("") == "dev");
  CHECK(prep::chosen_profile("x") == "x");
}

}  // namespace prep::remote_profile_files_test
