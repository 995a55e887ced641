#include "lib/core/jobs.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "lib/core/interrupt.h"

namespace prep {
namespace {

int affinity_cpus() {
  // The kernel refuses a mask smaller than its own, so grow until it fits.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool fits = sched_getaffinity(0, size, set) == 0;
    const int count = fits ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (fits) return std::max(count, 1);
  }
  return 1;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// CPUs that one cgroup directory allows; nullopt without a limit.
std::optional<double> cgroup_quota(const std::string& directory) {
  double quota = 0, period = 0;
  std::istringstream v2(first_line(directory + "/cpu.max"));
  if (v2 >> quota >> period && quota > 0 && period > 0) return quota / period;
  std::istringstream v1_quota(first_line(directory + "/cpu.cfs_quota_us"));
  std::istringstream v1_period(first_line(directory + "/cpu.cfs_period_us"));
  if (v1_quota >> quota && v1_period >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

// The tightest limit from this process's cgroup up to the root of its hierarchy.
double cgroup_cpus(double most) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b" or "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    for (std::string path = line.substr(second + 1);; path = parent_directory(path)) {
      if (const auto quota = cgroup_quota(root + path)) most = std::min(most, *quota);
      if (path == "/" || path == "." || path.empty()) break;
    }
  }
  return most;
}

// --- a fixed number -----------------------------------------------------------------------------

class FixedSlots final : public JobSlots {
 public:
  explicit FixedSlots(int limit) : limit_(limit), free_(limit - 1) {}
  int limit() const override { return limit_; }
  bool try_acquire() override {
    int free = free_.load();
    while (free > 0) {
      if (free_.compare_exchange_weak(free, free - 1)) return true;
    }
    return false;
  }
  void release() override { ++free_; }

 private:
  const int limit_;
  std::atomic<int> free_;
};

// --- GNU make's jobserver -----------------------------------------------------------------------
// Protocol: GNU make manual, "POSIX Jobserver Interaction". A token is one byte, which must go back
// as it came.

class MakeSlots final : public JobSlots {
 public:
  MakeSlots(Fd read_end, Fd write_end, int limit)
      : read_end_(std::move(read_end)), write_end_(std::move(write_end)), limit_(limit) {}
  ~MakeSlots() override {
    while (!tokens_.empty()) give_back();
  }
  int limit() const override { return limit_; }
  bool shared() const override { return true; }

  bool try_acquire() override {
    std::lock_guard lock(mutex_);
    char token = 0;
    if (read(read_end_.get(), &token, 1) != 1) return false;  // EAGAIN: none is free
    tokens_.emplace_back(token, write_end_.get());
    return true;
  }
  void release() override {
    std::lock_guard lock(mutex_);
    if (!tokens_.empty()) give_back();
  }

 private:
  // A token in our hands; the signal handler knows how to return it too.
  struct ReturnOnSignal {
    char token;
    WriteOnSignal guard;
    ReturnOnSignal(char t, int fd) : token(t), guard(fd, t) {}
  };

  void give_back() {
    const char token = tokens_.back().token;
    tokens_.pop_back();
    while (write(write_end_.get(), &token, 1) < 0 && errno == EINTR) {
    }
  }

  Fd read_end_, write_end_;
  const int limit_;
  std::mutex mutex_;
  std::vector<ReturnOnSignal> tokens_;
};

// What MAKEFLAGS says of a jobserver: the last --jobserver-auth= (or older --jobserver-fds=) wins.
std::optional<std::string> jobserver_address(std::string_view makeflags) {
  std::optional<std::string> address;
  std::istringstream words{std::string(makeflags)};
  for (std::string word; words >> word;) {
    for (const std::string_view key : {"--jobserver-auth=", "--jobserver-fds="}) {
      if (word.starts_with(key)) address = word.substr(key.size());
    }
  }
  return address;
}

bool is_fifo(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

// Opens our own description of the pipe, so that O_NONBLOCK does not change make's.
Fd reopen(int fd, int flags) {
  if (fd < 0 || !is_fifo(fd)) return Fd();
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return Fd(open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
}

std::unique_ptr<JobSlots> connect(const std::string& address, int limit) {
  Fd read_end, write_end;
  if (address.starts_with("fifo:")) {
    const std::string path = address.substr(5);
    // Read-write, since opening a FIFO for writing alone fails while nobody reads.
    read_end = Fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    write_end = Fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!read_end || !is_fifo(read_end.get())) return nullptr;
  } else {
    int fds[2] = {-1, -1};
    const std::size_t comma = address.find(',');
    if (comma == std::string::npos) return nullptr;
    const char* text = address.data();
    std::from_chars(text, text + comma, fds[0]);
    std::from_chars(text + comma + 1, text + address.size(), fds[1]);
    read_end = reopen(fds[0], O_RDONLY);
    write_end = reopen(fds[1], O_WRONLY);
  }
  if (!read_end || !write_end) return nullptr;
  return std::make_unique<MakeSlots>(std::move(read_end), std::move(write_end), limit);
}

}  // namespace

int available_cpus() {
  const int cpus = affinity_cpus();
  return std::clamp(static_cast<int>(std::ceil(cgroup_cpus(cpus))), 1, cpus);
}

std::unique_ptr<JobSlots> make_job_slots(std::optional<int> requested, const char* makeflags,
                                         std::string* warning) {
  if (requested) return std::make_unique<FixedSlots>(*requested);
  const int cpus = available_cpus();
  const auto address = makeflags ? jobserver_address(makeflags) : std::nullopt;
  if (!address) return std::make_unique<FixedSlots>(cpus);
  if (auto slots = connect(*address, cpus)) return slots;
  *warning =
      "make's jobserver cannot be reached, so one thread works; "
      "put '+' before the command in the recipe, or give -j";
  return std::make_unique<FixedSlots>(1);
}

}  // namespace prep
