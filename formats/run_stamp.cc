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

#include "formats/run_lock.h"
#include "formats/tree.h"
#include "lib/core/sample.h"

namespace prep {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kCheckpointInterval = 30'000'000'000;
constexpr std::size_t kLargestStamp = 1 << 20;
constexpr std::string_view kStampEnding = ".json", kPartialEnding = ".partial";

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
  const Fd fd = open_if_there(path);
  if (!fd) return {};
  std::string text(kLargestStamp, '\0');
  text.resize(
      pread_fully(fd.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(), 0, path));
  return text;
}

// One that stayed would tell what is not so any more.
void remove_stamp(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno(errno, "remove", path);
}

std::string task_name(const Task& task) { return fmt::format("{}-of-{}", task.index, task.count); }

// The stamps and partial files, of any tool, in a directory.
std::vector<std::string> stamp_names(const std::string& root) {
  std::vector<std::string> names;
  for_each_entry(root, [&](int, const dirent& entry) {
    const std::string_view name = entry.d_name;
    const bool ends = name.ends_with(kStampEnding) || name.ends_with(kPartialEnding);
    if (name.starts_with(".prep-") && ends) names.emplace_back(name);
    return true;
  });
  return names;
}

}  // namespace

struct RunStamp::State {
  std::string settings, boot;
  bool swept = false;
  std::int64_t durable = 0;

  std::string to_text() const {
    return nlohmann::json{
               {"settings", settings}, {"swept", swept}, {"durable", durable}, {"boot", boot}}
               .dump(2) +
           "\n";
  }
  // nullopt for what no run of ours has written to its end.
  static std::optional<State> from_file(const std::string& path) {
    const auto json = nlohmann::json::parse(read_small(path), nullptr, /*allow_exceptions=*/false);
    try {
      return State{json.at("settings"), json.at("boot"), json.at("swept"), json.at("durable")};
    } catch (const nlohmann::json::exception&) {
      return std::nullopt;
    }
  }
};

std::string RunStamp::file_name(std::string_view ending) const {
  const std::string name = task_.count > 1
                               ? fmt::format(".{}.{}{}", tool_, task_name(task_), ending)
                               : fmt::format(".{}{}", tool_, ending);
  return join_path(root_, name);
}

RunStamp::RunStamp(std::string root, std::string tool, const Task& task, std::string settings,
                   bool force)
    : root_(std::move(root)),
      tool_(std::move(tool)),
      task_(task),
      settings_(std::move(settings)),
      stamp_path_(file_name(kStampEnding)),
      partial_path_(file_name(kPartialEnding)),
      boot_(boot_id()) {
  look_at_others();
  was_there_ = find_file(partial_path_).has_value();
  if (was_there_) dead_tasks_.push_back(task_name(task_));
  partial_ = lock_for_run(partial_path_, root_);
  if (force) return;
  if (const auto partial = State::from_file(partial_path_)) {
    recall(*partial, false);
  } else if (const auto stamp = State::from_file(stamp_path_)) {
    recall(*stamp, true);
  }
}

// What earlier runs have left, other tasks' and other ways to split the work among them.
void RunStamp::look_at_others() {
  const std::string prefix = "." + tool_ + ".";
  for (const std::string& name : stamp_names(root_)) {
    if (!name.starts_with(prefix)) continue;
    known_ = true;
    const std::string path = join_path(root_, name);
    if (!name.ends_with(kPartialEnding) || path == partial_path_ || is_locked(path)) continue;
    const std::size_t end = name.size() - kPartialEnding.size();
    dead_tasks_.push_back(end > prefix.size() ? name.substr(prefix.size(), end - prefix.size())
                                              : task_name(Task{}));
  }
}

void RunStamp::recall(const State& state, bool completed) {
  if (state.settings != settings_ || !state.swept) return;
  swept_ = true;
  durable_ = state.durable;
  const bool is_same_boot = !boot_.empty() && state.boot == boot_;
  trust_until_ = completed || is_same_boot ? kForever : state.durable;
}

RunStamp::~RunStamp() {
  if (partial_ && !is_on_record_ && !was_there_) unlink(partial_path_.c_str());
}

bool RunStamp::trusts(const struct stat& output) const { return ctime_ns(output) < trust_until_; }

void RunStamp::write_partial() {
  const std::string text = State{settings_, boot_, swept_, durable_}.to_text();
  if (ftruncate(partial_.get(), 0) != 0 || lseek(partial_.get(), 0, SEEK_SET) != 0) {
    fail_errno(errno, "write", partial_path_);
  }
  write_fully(partial_.get(), as_bytes(text), partial_path_);
}

void RunStamp::sync_outputs() {
  // Writing anything sets the ctime, by which the file system's own clock is read.
  if (futimens(partial_.get(), nullptr) != 0) fail_errno(errno, "write", partial_path_);
  const struct stat now = file_status(partial_.get(), partial_path_);
  try {
    sync_file_system(partial_.get(), root_);
  } catch (const Error& error) {
    // The kernel tells of a lost page only once: the next run must not take it for written.
    if (error.code() != Code::interrupted) boot_.clear();
    write_partial();
    throw;
  }
  durable_ = ctime_ns(now);
}

// Stamps of other settings, tools and splits do not hold any more once this run has written. A live
// run with other settings would be undone by this one, and undo it.
void RunStamp::remove_other_stamps() {
  for (const std::string& name : stamp_names(root_)) {
    const std::string path = join_path(root_, name);
    const auto state = State::from_file(path);
    if (path == partial_path_ || path == stamp_path_ || !state || state->settings == settings_) {
      continue;
    }
    if (is_locked(path)) {
      fail(Code::io, "{}: another run, with other settings, is writing into it", printable(root_));
    }
    remove_stamp(path);
  }
}

// Sets the time of all outputs of this task's share to 0, so that none counts as done. Returns
// whether there were any.
bool RunStamp::sweep() {
  bool found = false;
  constexpr timespec kTimes[2] = {{0, UTIME_OMIT}, {0, 0}};
  for_each_file(root_, [&](int directory, const std::string& path, const char* name) {
    if (name[0] == '.' || !task_.has(split_key(path).first)) return;
    if (utimensat(directory, name, kTimes, AT_SYMLINK_NOFOLLOW) != 0) {
      fail_errno(errno, "set the time of", join_path(root_, path));
    }
    found = true;
  });
  swept_ = true;
  return found;
}

// Each step is on record before the next could be taken for something else.
void RunStamp::start() {
  write_partial();
  is_on_record_ = true;
  remove_stamp(stamp_path_);
  remove_other_stamps();
  if (!swept_) {
    if (sweep()) sync_outputs();
    write_partial();
  }
  next_checkpoint_ = steady_ns() + kCheckpointInterval;
}

void RunStamp::before_write() {
  // Most calls find nothing to do, and do not wait while another thread makes a checkpoint. Only
  // the first must be through before any output is written.
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!started_) {
    lock.lock();
    if (started_) return;
    start();
    started_ = true;
  } else if (lock.try_lock() && steady_ns() >= next_checkpoint_) {
    check_still_there();
    sync_outputs();
    write_partial();
    next_checkpoint_ = steady_ns() + kCheckpointInterval;
  }
}

void RunStamp::check_still_there() const {
  if (is_named(partial_, partial_path_)) return;
  fail(Code::io, "{}: was removed or replaced while the run was writing into it", printable(root_));
}

void RunStamp::complete() {
  check_still_there();
  sync_outputs();
  AtomicFile file(stamp_path_, locked_temporary(stamp_path_), AtomicFile::Sharing::locked);
  file.write(as_bytes(State{settings_, boot_, swept_, durable_}.to_text()));
  file.commit(/*sync=*/true);
  remove_stamp(partial_path_);
  partial_.reset();
}

void RunStamp::keep() {
  check_still_there();
  sync_outputs();
  write_partial();
  is_on_record_ = true;
  partial_.reset();
}

}  // namespace prep
