#include <catch2/catch.hpp>
#include <chrono>

#include "lib/core/error.h"
#include "lib/remote/credential_process.h"
#include "tests/unit/temp_dir.h"

namespace prep::remote_credential_process_test {

using prep::Credentials;
using prep::credentials_of_process;

namespace {

std::string problem_of(const std::string& command, double timeout_s = 60) {
  try {
    credentials_of_process(command, "the process", timeout_s);
  } catch (const prep::Error& error) {
    return std::string(code_name(error.code())) + ": " + error.what();
  }
  return "";
}

const std::string kAnswer =
    R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": "T",)"
    R"( "Expiration": "2026-12-01T00:00:00Z"})";

}  // namespace

TEST_CASE("a process's answer") {
  const Credentials found = credentials_of_process("echo '" + kAnswer + "'", "the process");
  CHECK(found.access_key == "A");
  CHECK(found.secret_key == "S");
  CHECK(found.session_token == "T");
  CHECK(found.expires == 1796083200);
  CHECK(found.origin == "the process");
}

TEST_CASE("credentials that never expire") {
  const Credentials found = credentials_of_process(
      R"(echo '{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S"}')", "the process");
  CHECK_FALSE(found.expires);
  CHECK(found.session_token.empty());
}

TEST_CASE("the command is the shell's, and finds nothing on its standard input") {
  prep::test::TempDir directory;
  prep::test::write_file(directory / "a file", kAnswer);
  const Credentials found =
      credentials_of_process("cat; cat \"" + directory / "a file" + "\" && true", "the process");
  CHECK(found.access_key == "A");
}

TEST_CASE("a process that fails is shown with what it complained of, not with what it printed") {
  CHECK(problem_of("echo hush; echo 'no luck' >&2; exit 3") ==
        "io: the process ended with 3: no luck\\n");
  CHECK(problem_of("exit 1") == "io: the process ended with 1");
  CHECK(problem_of("kill -9 $$") == "io: the process was killed by signal 9");
  CHECK(problem_of("/no/such/program 2>/dev/null") == "io: the process ended with 127");
}

TEST_CASE("answers that are none are not repeated") {
  const std::string answer = GENERATE(
      "", "hush", "[]", "{}", R"({"Version": 2, "AccessKeyId": "hush", "SecretAccessKey": "hush"})",
      R"({"AccessKeyId": "hush", "SecretAccessKey": "hush"})",
      R"({"Version": "1", "AccessKeyId": "hush", "SecretAccessKey": "hush"})",
      R"({"Version": 1, "AccessKeyId": "hush"})",
      R"({"Version": 1, "AccessKeyId": "hush", "SecretAccessKey": 1})",
      R"({"Version": 1, "AccessKeyId": "hush", "SecretAccessKey": "hush", "Expiration": "soon"})");
  const std::string problem = problem_of("printf %s '" + answer + "'");
  CHECK(problem.starts_with("corrupt: the process"));
  CHECK(problem.find("hush") == std::string::npos);
}

TEST_CASE("a process that takes too long is ended, also if it leaves another behind") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(problem_of("exec sleep 30", 0.2) == "io: the process took longer than 0.2 s");
  CHECK(problem_of("exec >&- 2>&-; exec sleep 30", 0.2) ==
        "io: the process took longer than 0.2 s");
  CHECK(problem_of("(sleep 3 &) ; exit 4") == "io: the process ended with 4");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(2));
}

TEST_CASE("output without an end is bounded") {
  CHECK(problem_of("head -c 1000000 /dev/zero").starts_with("corrupt: the process printed more"));
  const std::string problem = problem_of("yes >&2 & sleep 0.1; kill $!; exit 1");
  CHECK(problem.starts_with("io: the process ended with 1: y\\ny\\n"));
  CHECK(problem.size() < 3000);
}

}  // namespace prep::remote_credential_process_test
