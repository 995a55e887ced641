#include "tools/bench_page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace prep {
namespace {

constexpr std::size_t kLookedAt = 100;            // files
constexpr std::size_t kLookedAtBytes = 64 << 20;  // of each

struct Pages {
  std::uint64_t all = 0, in_memory = 0;
};

// mincore(2) says "in memory" of everything that the caller could not have written.
bool tells_the_truth(int fd, const struct stat& st) {
  if (geteuid() == 0 || st.st_uid == geteuid()) return true;
  return access(("/proc/self/fd/" + std::to_string(fd)).c_str(), W_OK) == 0;
}

void count_pages(int fd, Pages& pages) {
  struct stat st {};
  if (fstat(fd, &st) != 0 || st.st_size <= 0 || !tells_the_truth(fd, st)) return;
  const std::size_t size = std::min(static_cast<std::size_t>(st.st_size), kLookedAtBytes);
  void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> states((size + page - 1) / page);
  if (mincore(map, size, states.data()) == 0) {
    pages.all += states.size();
    pages.in_memory += static_cast<std::uint64_t>(
        std::count_if(states.begin(), states.end(), [](unsigned char s) { return s & 1; }));
  }
  munmap(map, size);
}

}  // namespace

void CachedFiles::add(const std::string& path) { paths_.push_back(path); }

void CachedFiles::add(const std::vector<Sample>& samples) {
  std::set<std::shared_ptr<const Fd>> files(files_.begin(), files_.end());
  for (const Sample& sample : samples) {
    for (const Part& part : sample.parts) {
      const std::optional<FileRange> range = part.content->range();
      if (!range) continue;
      if (!range->file) {
        paths_.push_back(range->path);
      } else if (files.insert(range->file).second) {
        files_.push_back(range->file);
      }
    }
  }
}

template <typename F>
void CachedFiles::with_file(std::size_t index, const F& f) const {
  if (index < files_.size()) {
    f(files_[index]->get());
    return;
  }
  const Fd file(open(paths_[index - files_.size()].c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file) f(file.get());
}

void CachedFiles::drop() const {
  for (std::size_t i = 0; i < size(); ++i) {
    check_interrupt();
    with_file(i, [](int fd) {
      // Pages that are not on the disk yet would stay. What this cannot do shows in
      // share_in_memory().
      fdatasync(fd);
      posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    });
  }
}

std::optional<double> CachedFiles::share_in_memory() const {
  Pages pages;
  const std::size_t step = std::max<std::size_t>(1, size() / kLookedAt);
  for (std::size_t i = 0; i < size(); i += step) {
    with_file(i, [&](int fd) { count_pages(fd, pages); });
  }
  if (pages.all == 0) return std::nullopt;
  return static_cast<double>(pages.in_memory) / static_cast<double>(pages.all);
}

}  // namespace prep
