// Many processes use one cache at once, and are killed at random:
//
//     cache_stress DIR PROCESSES OBJECTS KILOBYTES LIMIT_KILOBYTES SECONDS KILLS_A_SECOND
//     [unlocked]
//
// The server is a function that makes an object's bytes, a piece at a time. Each process asks for
// objects in an order of its own, fetches those that are its to fetch, reads along where another
// one is at it, and compares every byte. At the end nobody is killed any more: everything must
// still work, the sum of what is stored be right, and nothing be left over. Prints what was
// counted. "unlocked": locks do nothing here (no_locks.cc), so that objects may be fetched more
// often, and the limit be exceeded meanwhile; but no byte may be wrong.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/remote/cache.h"
#include "lib/remote/cache_directory.h"
#include "lib/remote/cache_lock.h"

namespace {

using Clock = std::chrono::steady_clock;

// What is written or compared at once.
constexpr std::uint64_t kLargestPiece = 256 << 10;

// A part is fetched in several pieces, and an object in several parts.
std::uint64_t piece_size(std::uint64_t object) {
  return std::clamp<std::uint64_t>(object / 256, 4 << 10, kLargestPiece);
}
std::uint64_t part_size(std::uint64_t object) {
  return std::max(4 * piece_size(object), object / 64);
}

struct Plan {
  std::string directory;
  int processes = 0, objects = 0;
  std::uint64_t bytes = 0, limit = 0;
  double seconds = 0, kills = 0;
  bool has_locks = true;
};

// In memory that all processes share.
struct Counters {
  std::atomic<std::uint64_t> hits, fetched, followed, wrong, refused, beyond, largest;
};

prep::CacheOptions options_of(const Plan& plan) {
  prep::CacheOptions options;
  options.directory = plan.directory;
  options.max_bytes = plan.limit;
  options.min_free = 0;
  options.part_size = part_size(plan.bytes);
  return options;
}

prep::CacheKey key_of(const Plan& plan, int object) {
  return {"http://server", "bucket", "object " + std::to_string(object), "etag",
          plan.bytes - static_cast<std::uint64_t>(object % 7)};
}

// The object's bytes, at most kLargestPiece of them. They come again after a prime number, so that
// no two pieces of an object, nor two objects, look alike at the same place.
prep::ByteView bytes_of(int object, std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t kPeriod = 1'000'003;
  static int made = -1;
  static std::vector<std::uint8_t> bytes(kPeriod + kLargestPiece);
  if (made != object) {
    std::minstd_rand random(static_cast<unsigned>(object) + 1);
    for (std::uint64_t i = 0; i < kPeriod; ++i) {
      bytes[i] = static_cast<std::uint8_t>(random() >> 8);
    }
    std::copy_n(bytes.begin(), kLargestPiece, bytes.begin() + kPeriod);
    made = object;
  }
  return prep::ByteView(bytes).subspan(offset % kPeriod, size);
}

// Whether the file holds the object's bytes in [from, to).
bool is_right(int fd, int object, std::uint64_t from, std::uint64_t to) {
  static std::vector<std::uint8_t> found(kLargestPiece);
  for (std::uint64_t size = 0; from < to; from += size) {
    size = std::min(kLargestPiece, to - from);
    const ssize_t got = pread(fd, found.data(), size, static_cast<off_t>(from));
    const prep::ByteView expected = bytes_of(object, from, size);
    if (got != static_cast<ssize_t>(size) ||
        !std::equal(expected.begin(), expected.end(), found.begin())) {
      return false;
    }
  }
  return true;
}

void fetch(prep::Cache::Download& download, int object, Counters& counters) {
  prep::PartialObject& partial = download.partial();
  for (std::uint64_t part = 0; part < partial.parts(); ++part) {
    for (std::uint64_t at = partial.received(part); at < partial.part_bytes(part);) {
      const std::uint64_t size =
          std::min(piece_size(partial.size()), partial.part_bytes(part) - at);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      partial.write(part, at, bytes_of(object, partial.part_offset(part) + at, size));
      at += size;
    }
  }
  if (!is_right(partial.fd(), object, 0, partial.size())) ++counters.wrong;
  download.finish("digest", true);
  ++counters.fetched;
}

void follow(const prep::PartialObject& partial, int object, Counters& counters) {
  std::uint64_t read = 0;
  for (int patience = 0; read < partial.size() && patience < 20;) {
    const std::uint64_t available = partial.wait(read, 0.02);
    if (available == read) {
      ++patience;
      continue;
    }
    if (!is_right(partial.fd(), object, read, available)) ++counters.wrong;
    read = available;
    patience = 0;
  }
  if (read == partial.size()) ++counters.followed;
}

void use(prep::Cache& cache, const Plan& plan, int object, Counters& counters) {
  const prep::CacheKey key = key_of(plan, object);
  for (int attempt = 0; attempt < 2000; ++attempt) {
    auto outcome = cache.acquire(key);
    if (outcome.hold) {
      if (outcome.hold->size() != key.size || !is_right(outcome.hold->fd(), object, 0, key.size)) {
        ++counters.wrong;
      }
      ++counters.hits;
      return;
    }
    if (outcome.download) return fetch(*outcome.download, object, counters);
    if (outcome.growing) follow(*outcome.growing, object, counters);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

[[noreturn]] void work(const Plan& plan, unsigned seed, Clock::time_point end, Counters& counters) {
  std::minstd_rand random(seed);
  prep::Cache cache(options_of(plan));
  while (Clock::now() < end) {
    try {
      use(cache, plan, static_cast<int>(random() % static_cast<unsigned>(plan.objects)), counters);
    } catch (const prep::Error& error) {
      if (error.code() != prep::Code::limit) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(1);
      }
      ++counters.refused;  // all in use
    }
  }
  _exit(0);
}

// Names of files below DIR/name with their sizes, links with those of nothing.
std::map<std::string, std::uint64_t> files_in(const Plan& plan, const std::string& name) {
  namespace fs = std::filesystem;
  std::map<std::string, std::uint64_t> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(plan.directory + "/" + name, error), end;
       !error && it != end; it.increment(error)) {
    struct stat st {};
    const std::string path = it->path();
    if (lstat(path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode)) {
      files[path] = S_ISREG(st.st_mode) ? static_cast<std::uint64_t>(st.st_size) : 0;
    }
  }
  return files;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& files, std::size_t name_size) {
  std::uint64_t sum = 0;
  for (const auto& [path, size] : files) {
    if (path.size() - path.rfind('/') - 1 == name_size) sum += size;
  }
  return sum;
}

// What is stored, and what is coming, while nobody may change it.
[[noreturn]] void watch(const Plan& plan, Counters& counters) {
  for (;;) {
    std::uint64_t bytes = 0;
    {
      const auto lock = prep::CacheLock::lock(plan.directory + "/space.lock", 0,
                                              prep::CacheLock::Kind::exclusive);
      bytes = sum_of(files_in(plan, "objects"), prep::CacheHash::kDigits) +
              sum_of(files_in(plan, "partial"), prep::CacheHash::kDigits);
    }
    counters.largest = std::max(counters.largest.load(), bytes);
    counters.beyond += bytes > plan.limit;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Never -1, which kill() would take for everybody.
pid_t start_process() {
  const pid_t child = fork();
  if (child >= 0) return child;
  std::perror("fork");
  std::exit(1);
}

// Starts processes, kills some and starts others in their places. Whether none ended by itself with
// an error.
bool run(const Plan& plan, double seconds, double kills, Counters& counters) {
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  std::vector<pid_t> children(static_cast<std::size_t>(plan.processes));
  unsigned seed = static_cast<unsigned>(getpid());
  const auto start = [&](pid_t& child) {
    ++seed;
    child = start_process();
    if (child == 0) work(plan, seed, end, counters);
  };
  for (pid_t& child : children) start(child);
  // A process of its own: who forks should have no threads.
  const pid_t watcher = start_process();
  if (watcher == 0) watch(plan, counters);
  std::minstd_rand random(seed);
  bool good = true;
  while (kills > 0 && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::duration<double>(1 / kills));
    pid_t& victim = children[random() % children.size()];
    kill(victim, SIGKILL);
    int status = 0;
    waitpid(victim, &status, 0);
    good &= WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
    start(victim);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    good &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  kill(watcher, SIGKILL);
  waitpid(watcher, nullptr, 0);
  return good;
}

// Every object with its description and its link, nothing else, and the sum that the cache keeps.
bool is_consistent(const Plan& plan, std::uint64_t stored) {
  const auto objects = files_in(plan, "objects"), links = files_in(plan, "current");
  std::size_t wrong = 0, whole = 0;
  for (const auto& [path, size] : objects) {
    const bool is_description = path.ends_with(".json");
    const std::string object = is_description ? path.substr(0, path.size() - 5) : path;
    if (!objects.count(object) || !objects.count(object + ".json")) ++wrong;
    whole += !is_description;
  }
  for (const auto& [path, size] : links) wrong += access(path.c_str(), F_OK) != 0;
  std::uint64_t sum[3] = {};
  const prep::Fd file(open((plan.directory + "/space").c_str(), O_RDONLY));
  const bool is_read = pread(file.get(), sum, sizeof sum, 0) == sizeof sum;
  const bool is_sum = is_read && sum[1] == 0 && sum[2] == stored;
  std::printf("sum %lu of %lu, objects %zu, links %zu, wrong %zu\n", sum[2], stored, whole,
              links.size(), wrong);
  return wrong == 0 && links.size() == whole && (is_sum || !plan.has_locks);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8 && argc != 9) {
    std::fprintf(
        stderr, "usage: cache_stress DIR PROCESSES OBJECTS KB LIMIT_KB SECONDS KILLS [unlocked]\n");
    return 2;
  }
  const Plan plan{argv[1],
                  std::atoi(argv[2]),
                  std::atoi(argv[3]),
                  std::stoull(argv[4]) * 1000,
                  std::stoull(argv[5]) * 1000,
                  std::atof(argv[6]),
                  std::atof(argv[7]),
                  argc == 8};
  void* const memory =
      mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Counters& counters = *new (memory) Counters{};
  bool good = run(plan, plan.seconds, plan.kills, counters);
  // Nobody is killed any more.
  good &= run(plan, std::max(1.0, plan.seconds / 4), 0, counters);
  prep::Cache cache(options_of(plan));
  for (int object = 0; object < plan.objects; ++object) use(cache, plan, object, counters);
  cache.remove_partials();
  const prep::CacheStatus status = cache.status();
  std::uint64_t described = 0;
  for (const prep::CacheEntry& entry : cache.entries()) described += entry.sha256 == "digest";
  const std::size_t left = files_in(plan, "partial").size();
  std::printf(
      "hits %lu fetched %lu followed %lu refused %lu wrong %lu; at most %lu of %lu, beyond %lu "
      "times; stored %lu in %lu, described %lu, left over %zu\n",
      counters.hits.load(), counters.fetched.load(), counters.followed.load(),
      counters.refused.load(), counters.wrong.load(), counters.largest.load(), plan.limit,
      counters.beyond.load(), status.bytes, status.entries, described, left);
  good &= is_consistent(plan, status.bytes);
  good &= counters.wrong == 0 && (left == 0 || !plan.has_locks) && described == status.entries &&
          status.entries > 0;
  good &= status.bytes <= plan.limit && (counters.beyond == 0 || !plan.has_locks);
  cache.evict(~std::uint64_t{0});
  good &= cache.status().bytes == 0 && files_in(plan, "objects").empty() &&
          files_in(plan, "current").empty();
  return good ? 0 : 1;
}
