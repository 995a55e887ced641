#include "lib/remote/credential_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"
#include "lib/remote/credential_json.h"

namespace prep {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutput = 64 << 10;
constexpr std::size_t kMaxComplaint = 1000;
constexpr int kPollMs = 50;  // how late a signal or the end of the program may be noticed

struct Pipe {
  Fd read, write;
};

Pipe make_pipe(const std::string& origin) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    fail(Code::io, "{}: cannot make a pipe: {}", origin, os_message(errno));
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

// A program that runs; killed where nobody has waited for its end.
class Child {
 public:
  Child(const std::string& command, const std::string& origin)
      : out_(make_pipe(origin)), complaints_(make_pipe(origin)) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out_.write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, complaints_.write.get(), STDERR_FILENO);
    reset_signals(attributes);
    const std::array<const char*, 4> arguments = {"sh", "-c", command.c_str(), nullptr};
    const int error = posix_spawn(&pid_, "/bin/sh", &files, &attributes,
                                  const_cast<char* const*>(arguments.data()), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) fail(Code::io, "{}: cannot run /bin/sh: {}", origin, os_message(error));
    out_.write.reset();
    complaints_.write.reset();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
  }

  const Fd& out() const { return out_.read; }
  const Fd& complaints() const { return complaints_.read; }
  bool has_ended() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return ended_;
  }
  bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
  std::string verdict() const {
    return WIFEXITED(status_) ? fmt::format("ended with {}", WEXITSTATUS(status_))
                              : fmt::format("was killed by signal {}", WTERMSIG(status_));
  }

 private:
  // A tool ignores SIGPIPE, and threads block signals: neither is the program's concern.
  static void reset_signals(posix_spawnattr_t& attributes) {
    sigset_t none, pipe;
    sigemptyset(&none);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipe);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

  Pipe out_, complaints_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

// What comes through a pipe; beyond the limit it is read and dropped.
class Collector {
 public:
  Collector(const Fd& fd, std::size_t limit) : fd_(fd), limit_(limit) {}
  bool is_open() const { return open_; }
  int fd() const { return open_ ? fd_.get() : -1; }  // poll() leaves -1 out
  bool overflowed() const { return overflowed_; }
  const std::string& text() const { return text_; }

  // After poll() said that there is something.
  void read_some() {
    std::array<char, 4096> buffer{};
    const ssize_t count = read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) {
      open_ = false;
      return;
    }
    const std::size_t room = limit_ - text_.size();
    overflowed_ = overflowed_ || static_cast<std::size_t>(count) > room;
    text_.append(buffer.data(), std::min(static_cast<std::size_t>(count), room));
  }

 private:
  const Fd& fd_;
  std::size_t limit_;
  std::string text_;
  bool open_ = true, overflowed_ = false;
};

// Until the program has ended and what it wrote is read. A process that it left behind may keep the
// pipes open: that is not waited for.
void collect(Child& child, Collector& out, Collector& complaints, double timeout_s,
             const std::string& origin) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  for (bool ended = false; out.is_open() || complaints.is_open();) {
    std::array<pollfd, 2> waits = {{{out.fd(), POLLIN, 0}, {complaints.fd(), POLLIN, 0}}};
    const int ready = poll(waits.data(), waits.size(), ended ? 0 : kPollMs);
    check_interrupt();
    if (ready > 0 && waits[0].revents) out.read_some();
    if (ready > 0 && waits[1].revents) complaints.read_some();
    if (ended && ready <= 0) return;
    ended = child.has_ended();
    if (Clock::now() > deadline) {
      fail(Code::io, "{} took longer than {} s", origin, timeout_s);
    }
  }
  while (!child.has_ended()) {
    check_interrupt();
    if (Clock::now() > deadline) {
      fail(Code::io, "{} took longer than {} s", origin, timeout_s);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Credentials credentials_of_process(const std::string& command, const std::string& origin,
                                   double timeout_s) {
  Child child(command, origin);
  Collector out(child.out(), kMaxOutput), complaints(child.complaints(), kMaxComplaint);
  collect(child, out, complaints, timeout_s, origin);
  if (!child.succeeded()) {
    fail(Code::io, "{} {}{}{}", origin, child.verdict(), complaints.text().empty() ? "" : ": ",
         printable(complaints.text()));
  }
  if (out.overflowed()) {
    fail(Code::corrupt, "{} printed more than {} kB", origin, kMaxOutput >> 10);
  }
  if (!is_version_1(out.text())) {
    fail(Code::corrupt, "{} did not print a JSON object with \"Version\": 1", origin);
  }
  return parse_credentials_json(out.text(), "SessionToken", origin);
}

}  // namespace prep
