#include "formats/run_stamp.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace prep {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kCheckpointInterval = 30'000'000'000;
constexpr std::size_t kLargestStamp = 1 << 20;

std::int64_t ctime_ns(const struct stat& st) {
  return std::int64_t{st.st_ctim.tv_sec} * 1'000'000'000 + st.st_ctim.tv_nsec;
}

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string read_small(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::string text(kLargestStamp, '\0');
  text.resize(
      pread_fully(fd.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(), 0, path));
  return text;
}

}  // namespace

struct RunStamp::State {
  std::string settings, boot;
  std::int64_t since = 0, durable = 0;

  std::string to_text() const {
    return nlohmann::json{
               {"settings", settings}, {"since", since}, {"durable", durable}, {"boot", boot}}
               .dump(2) +
           "\n";
  }
  // nullopt for what no run of ours has written to its end.
  static std::optional<State> from_file(const std::string& path) {
    const auto json = nlohmann::json::parse(read_small(path), nullptr, /*allow_exceptions=*/false);
    try {
      return State{json.at("settings"), json.at("boot"), json.at("since"), json.at("durable")};
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }
};

namespace {

Fd lock_partial(const std::string& path, const std::string& root) {
  for (;;) {
    Fd fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      fail(Code::io, "{}: another run is writing into it", printable(root));
    }
    // The run before us may have removed the file between our open and our lock.
    struct stat ours {
    }, named{};
    if (fstat(fd.get(), &ours) == 0 && stat(path.c_str(), &named) == 0 &&
        ours.st_ino == named.st_ino) {
      return fd;
    }
  }
}

}  // namespace

RunStamp::RunStamp(std::string root, const std::string& tool, const Task& task,
                   std::string settings, bool force)
    : root_(std::move(root)), settings_(std::move(settings)), trust_until_(0) {
  std::string name = "." + tool;
  if (task.count > 1) name += fmt::format(".{}-of-{}", task.index, task.count);
  stamp_path_ = join_path(root_, name + ".json");
  partial_path_ = join_path(root_, name + ".partial");
  was_killed_ = access(partial_path_.c_str(), F_OK) == 0;
  partial_ = lock_partial(partial_path_, root_);
  const auto partial = State::from_file(partial_path_);
  const auto stamp = State::from_file(stamp_path_);
  known_ = was_killed_ || access(stamp_path_.c_str(), F_OK) == 0;
  // Writing anything sets the ctime, by which the file system's own clock is read.
  struct stat now {};
  if (futimens(partial_.get(), nullptr) != 0 || fstat(partial_.get(), &now) != 0) {
    fail_errno(errno, "stat", partial_path_);
  }
  since_ = ctime_ns(now);
  if (force) return;
  if (partial) {
    recall(*partial, false);
  } else if (stamp) {
    recall(*stamp, true);
  }
}

void RunStamp::recall(const State& state, bool completed) {
  if (state.settings != settings_) return;
  since_ = state.since;
  durable_ = state.durable;
  trust_until_ = completed || state.boot == boot_id() ? kForever : state.durable;
}

RunStamp::~RunStamp() {
  if (partial_ && !started_ && !was_killed_) unlink(partial_path_.c_str());
}

bool RunStamp::trusts(const struct stat& output) const {
  const std::int64_t changed = ctime_ns(output);
  return changed >= since_ && changed < trust_until_;
}

void RunStamp::write_partial() {
  const std::string text = State{settings_, boot_id(), since_, durable_}.to_text();
  if (ftruncate(partial_.get(), 0) != 0 || lseek(partial_.get(), 0, SEEK_SET) != 0) {
    fail_errno(errno, "write", partial_path_);
  }
  write_fully(partial_.get(), as_bytes(text), partial_path_);
}

void RunStamp::sync_outputs() {
  struct stat now {};
  if (futimens(partial_.get(), nullptr) != 0 || fstat(partial_.get(), &now) != 0 ||
      syncfs(partial_.get()) != 0) {
    fail_errno(errno, "sync", root_);
  }
  durable_ = ctime_ns(now);
}

void RunStamp::before_write() {
  // Most calls find nothing to do, and do not wait while another thread makes a checkpoint. Only
  // the first must be through before any output is written: its state has to be on record.
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!started_) {
    lock.lock();
    if (started_) return;
    write_partial();
    unlink(stamp_path_.c_str());
    next_checkpoint_ = steady_ns() + kCheckpointInterval;
    started_ = true;
  } else if (lock.try_lock() && steady_ns() >= next_checkpoint_) {
    sync_outputs();
    write_partial();
    next_checkpoint_ = steady_ns() + kCheckpointInterval;
  }
}

void RunStamp::complete() {
  sync_outputs();
  AtomicFile file(stamp_path_, locked_temporary(stamp_path_), AtomicFile::Sharing::locked);
  file.write(as_bytes(State{settings_, boot_id(), since_, durable_}.to_text()));
  file.commit({.sync = true});
  unlink(partial_path_.c_str());
  partial_.reset();
}

void RunStamp::keep() {
  sync_outputs();
  write_partial();
  started_ = true;
  partial_.reset();
}

}  // namespace prep
