#include "lib/core/jobs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/temp_dir.h"

namespace prep::jobs_test {

namespace {

// A pipe that holds make's tokens.
struct TokenPipe {
  int fds[2];
  explicit TokenPipe(const std::string& tokens) {
    REQUIRE(pipe(fds) == 0);
    REQUIRE(write(fds[1], tokens.data(), tokens.size()) == static_cast<ssize_t>(tokens.size()));
  }
  ~TokenPipe() {
    close(fds[0]);
    close(fds[1]);
  }
  std::string rest() const {
    const int flags = fcntl(fds[0], F_GETFL);
    fcntl(fds[0], F_SETFL, flags | O_NONBLOCK);
    char buffer[64];
    const ssize_t n = read(fds[0], buffer, sizeof buffer);
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : "";
  }
};

}  // namespace

TEST_CASE("there is at least one CPU") {
  CHECK(available_cpus() >= 1);
  CHECK(available_cpus() <= sysconf(_SC_NPROCESSORS_CONF));
}

TEST_CASE("-j gives a fixed number of slots, whatever make says") {
  std::string warning;
  const auto slots = make_job_slots(3, "-j --jobserver-auth=98,99", &warning);
  CHECK(warning.empty());
  CHECK(slots->limit() == 3);
  CHECK_FALSE(slots->shared());
  CHECK(slots->try_acquire());
  CHECK(slots->try_acquire());
  CHECK_FALSE(slots->try_acquire());
  slots->release();
  CHECK(slots->try_acquire());
}

TEST_CASE("tokens are taken from make's pipe and go back as they came") {
  TokenPipe tokens("xy");
  std::string warning;
  const std::string flags =
      fmt::format("s -j3 --jobserver-auth={},{}", tokens.fds[0], tokens.fds[1]);
  auto slots = make_job_slots(std::nullopt, flags.c_str(), &warning);
  CHECK(warning.empty());
  CHECK(slots->shared());
  CHECK(slots->try_acquire());
  CHECK(slots->try_acquire());
  CHECK_FALSE(slots->try_acquire());                         // does not wait
  CHECK((fcntl(tokens.fds[0], F_GETFL) & O_NONBLOCK) == 0);  // make's own end is as it was
  slots->release();
  CHECK(slots->try_acquire());
  slots.reset();
  std::string rest = tokens.rest();
  std::sort(rest.begin(), rest.end());
  CHECK(rest == "xy");
}

TEST_CASE("make's fifo form works too") {
  test::TempDir dir;
  const std::string path = dir / "fifo";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const int keeper = open(path.c_str(), O_RDWR);
  REQUIRE(write(keeper, "+", 1) == 1);
  std::string warning;
  auto slots =
      make_job_slots(std::nullopt, ("-j2 --jobserver-auth=fifo:" + path).c_str(), &warning);
  CHECK(warning.empty());
  CHECK(slots->try_acquire());
  CHECK_FALSE(slots->try_acquire());
  slots.reset();
  char token = 0;
  CHECK(read(keeper, &token, 1) == 1);
  CHECK(token == '+');
  close(keeper);
}

TEST_CASE("a jobserver that is closed to us gives one thread and a warning") {
  for (const char* flags : {"-j2 --jobserver-auth=998,999", "-j2 --jobserver-fds=-2,-2",
                            "-j2 --jobserver-auth=fifo:/nonexistent", "--jobserver-auth=x"}) {
    std::string warning;
    const auto slots = make_job_slots(std::nullopt, flags, &warning);
    CHECK(slots->limit() == 1);
    CHECK_FALSE(slots->try_acquire());
    CHECK(warning.find("'+'") != std::string::npos);
  }
  std::string warning;
  CHECK(make_job_slots(std::nullopt, "-s", &warning)->limit() == available_cpus());
  CHECK(warning.empty());
}

}  // namespace prep::jobs_test
