#include "lib/remote/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"
#include "lib/core/report.h"
#include "lib/remote/cache_description.h"
#include "lib/remote/cache_directory.h"
#include "lib/remote/cache_lock.h"
#include "lib/remote/cache_policy.h"
#include "lib/remote/cache_room.h"

namespace prep {
namespace {

constexpr std::chrono::milliseconds kPause(20);

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

void set_used(int fd, std::int64_t when_ns) {
  const timespec times[2] = {{0, UTIME_OMIT}, {when_ns / 1'000'000'000, when_ns % 1'000'000'000}};
  (void)futimens(fd, times);  // advice, which some file systems do not take
}

}  // namespace

std::string default_cache_directory() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string own = variable("PREP_CACHE"); !own.empty()) return own;
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) {
    return join_path(xdg, "preptools");
  }
  const std::string home = variable("HOME");
  if (!home.starts_with('/')) {
    fail(Code::usage, "where is the cache? give --cache DIR, or set PREP_CACHE or HOME");
  }
  return join_path(home, ".cache/preptools");
}

std::string CacheKey::hash() const {
  return name_hash() + digest_of_fields({etag}, CacheHash::kVersionDigits) +
         fmt::format("{:016x}", size);
}

std::string CacheKey::name_hash() const {
  return digest_of_fields({endpoint, bucket, key}, CacheHash::kNameDigits);
}

// --- hits ---------------------------------------------------------------------------------------

struct Cache::State {
  explicit State(CacheOptions o)
      : options(std::move(o)), directory(options.directory), history(directory.in("history")) {}

  std::unique_ptr<Hold> open(const std::string& hash);
  std::unique_ptr<Hold> open_and_link(const std::string& hash);
  CacheRoom room() { return CacheRoom(directory, options, history); }
  void reserve(const CacheKey& key, const std::string& hash);
  bool is_arrival_a_visitor(const std::string& hash, std::int64_t oldest_resident);
  std::string partial_path(const std::string& hash) const;

  CacheOptions options;
  CacheDirectory directory;
  UseHistory history;
};

struct Cache::Hold::Parts {
  std::string path;
  Fd file;
  std::uint64_t size = 0;
  std::optional<CacheLock> lock;
};

// Nothing where there is none, or only a part of it (a disk that lost the rest).
std::unique_ptr<Cache::Hold> Cache::State::open(const std::string& hash) {
  auto parts = std::make_unique<Hold::Parts>();
  parts->path = directory.object(hash);
  parts->file = Fd(::open(parts->path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!parts->file) return nullptr;
  parts->lock =
      CacheLock::try_lock(directory.use_lock(), CacheHash::bits(hash), CacheLock::Kind::shared);
  if (!parts->lock) return nullptr;  // it is just being removed
  struct stat st {};
  if (fstat(parts->file.get(), &st) != 0 || st.st_nlink == 0 || !S_ISREG(st.st_mode) ||
      static_cast<std::uint64_t>(st.st_size) != CacheHash::size(hash)) {
    return nullptr;
  }
  parts->size = static_cast<std::uint64_t>(st.st_size);
  // Visitors go in the order in which they came.
  if (!is_visitor_mode(st.st_mode)) {
    const std::int64_t now = now_ns();
    history.note_return(now - mtime_ns(st));
    set_used(parts->file.get(), now);
  }
  return std::unique_ptr<Hold>(new Hold(std::move(parts)));
}

// Of a version that the server has now: the one to be found from now on, also if it was there
// before a newer one.
std::unique_ptr<Cache::Hold> Cache::State::open_and_link(const std::string& hash) {
  auto hold = open(hash);
  if (hold && directory.current(CacheHash::name(hash)) != hash) {
    const CacheRoom alone = room();
    directory.set_current(hash);
  }
  return hold;
}

Cache::Hold::Hold(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Cache::Hold::~Hold() = default;
const std::string& Cache::Hold::path() const { return parts_->path; }
int Cache::Hold::fd() const { return parts_->file.get(); }
std::uint64_t Cache::Hold::size() const { return parts_->size; }

Cache::Cache(CacheOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Cache::~Cache() = default;

std::unique_ptr<Cache::Hold> Cache::find(const std::string& endpoint, const std::string& bucket,
                                         const std::string& key) const {
  const std::string hash =
      state_->directory.current(CacheKey{endpoint, bucket, key, {}, 0}.name_hash());
  return hash.empty() ? nullptr : state_->open(hash);
}

std::unique_ptr<Cache::Hold> Cache::find(const CacheKey& key) const {
  return state_->open(key.hash());
}

// --- downloads ----------------------------------------------------------------------------------

struct Cache::Download::Parts {
  State* cache = nullptr;
  CacheKey key;
  std::string hash;
  std::optional<CacheLock> lock;
  std::optional<PartialObject> partial;
  bool is_visitor = false;
};

Cache::Download::Download(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Cache::Download::~Download() = default;
PartialObject& Cache::Download::partial() { return *parts_->partial; }
void Cache::Download::discard() { parts_->partial->remove(); }

// Where locks do nothing, another process may be at the same object, and what it writes is not
// checked yet when we are done: then everybody has a file of his own.
std::string Cache::State::partial_path(const std::string& hash) const {
  static std::atomic<unsigned> count{0};
  const std::string shared = directory.partial(hash);
  if (CacheLock::works(directory.fetch_lock())) return shared;
  return fmt::format("{}.{}.{}", shared, getpid(), ++count);
}

bool Cache::State::is_arrival_a_visitor(const std::string& hash, std::int64_t oldest_resident) {
  const std::uint64_t object = CacheHash::name_bits(hash);
  const std::int64_t now = now_ns(), last = history.last_use(object);
  if (last != 0) history.note_return(now - last);
  history.note_use(object, now);
  return is_visitor({now, last, oldest_resident, history.typical_return()});
}

// What is in use now will not be so for long, nor will what is being downloaded be unfinished.
void Cache::State::reserve(const CacheKey& key, const std::string& hash) {
  if (options.max_bytes && key.size > *options.max_bytes) {
    fail(Code::limit, "{}: has {}, and the cache may have {}: raise --max-size", printable(key.key),
         human_bytes(key.size), human_bytes(*options.max_bytes));
  }
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(options.patience_s * 1e9);
  for (;;) {
    const std::uint64_t lacking = room().reserve(hash);
    if (lacking == 0) return;
    if (now_ns() >= end) {
      fail(Code::limit,
           "{}: there is no room for {} of {}: {} more would have to go, but what is left is "
           "pinned, in use or not the cache's; unpin something, raise --max-size or lower "
           "--min-free",
           printable(directory.path()), human_bytes(key.size), printable(key.key),
           human_bytes(lacking));
    }
    check_interrupt();
    std::this_thread::sleep_for(kPause);
  }
}

Cache::Outcome Cache::acquire(const CacheKey& key) {
  const std::string hash = key.hash();
  Outcome outcome;
  outcome.hold = state_->open_and_link(hash);
  if (outcome.hold) return outcome;
  auto lock = CacheLock::try_lock(state_->directory.fetch_lock(), CacheHash::bits(hash),
                                  CacheLock::Kind::exclusive);
  if (!lock) {
    outcome.growing = PartialObject::open(state_->directory.partial(hash), hash);
    return outcome;
  }
  outcome.hold = state_->open_and_link(hash);  // it was finished meanwhile
  if (outcome.hold) return outcome;
  auto parts = std::make_unique<Download::Parts>();
  parts->cache = state_.get();
  parts->key = key;
  parts->hash = hash;
  parts->lock = std::move(lock);
  state_->reserve(key, hash);
  const auto give_back = [&] { unlink(state_->directory.reservation(hash).c_str()); };
  try {
    parts->partial = PartialObject::create(state_->partial_path(hash), hash, key.size,
                                           state_->options.part_size);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();  // the file itself stands for it now
  parts->is_visitor = state_->is_arrival_a_visitor(hash, state_->room().oldest_resident());
  outcome.download.reset(new Download(std::move(parts)));
  return outcome;
}

std::unique_ptr<Cache::Hold> Cache::Download::hold_of(const PartialObject& partial) {
  auto parts = std::make_unique<Hold::Parts>();
  parts->path = parts_->cache->directory.object(parts_->hash);
  parts->file = Fd(fcntl(partial.fd(), F_DUPFD_CLOEXEC, 0));
  if (!parts->file) fail_errno(errno, "duplicate a descriptor of", partial.path());
  parts->size = partial.size();
  return std::unique_ptr<Hold>(new Hold(std::move(parts)));
}

std::unique_ptr<Cache::Hold> Cache::Download::finish(const std::string& sha256, bool verified) {
  State& cache = *parts_->cache;
  const std::string& hash = parts_->hash;
  const std::string name = CacheHash::name(hash), path = cache.directory.object(hash);
  PartialObject& partial = *parts_->partial;
  make_directories(parent_directory(path));
  // So that after a crash of the machine no file is there without its bytes. Not while others wait
  // for the lock.
  if (fdatasync(partial.fd()) != 0) fail_errno(errno, "sync", partial.path());
  (void)fchmod(partial.fd(), parts_->is_visitor ? kVisitorMode : kResidentMode);
  CacheRoom room = cache.room();
  const std::string older = cache.directory.current(name);
  write_small_file(cache.directory.description(hash),
                   description_text(parts_->key, sha256, verified));
  struct stat damaged {};
  const bool is_replaced = stat(path.c_str(), &damaged) == 0;
  partial.publish(path, /*sync=*/false);
  room.add(parts_->key.size, is_replaced ? static_cast<std::uint64_t>(damaged.st_size) : 0);
  auto hold = cache.open(hash);
  if (!hold) return hold_of(partial);  // somebody removed it at once, in spite of the lock
  cache.directory.set_current(hash);
  if (!older.empty() && older != hash) room.remove(older);  // nobody asks for that one any more
  set_used(hold->fd(), now_ns());
  return hold;
}

// --- what is there ------------------------------------------------------------------------------

std::vector<CacheEntry> Cache::entries() const {
  const CacheDirectory& directory = state_->directory;
  std::vector<CacheEntry> entries;
  directory.for_each_object([&](const std::string& hash, std::string_view rest) {
    struct stat st {};
    CacheEntry entry;
    entry.hash = hash;
    entry.path = directory.object(hash);
    if (!rest.empty() || stat(entry.path.c_str(), &st) != 0) return;
    entry.used_ns = mtime_ns(st);
    entry.is_visitor = is_visitor_mode(st.st_mode);
    const std::string name = CacheHash::name(hash);
    entry.pinned =
        access(directory.pin(name).c_str(), F_OK) == 0 && directory.current(name) == hash;
    read_description(directory.description(hash), entry);
    entry.key.size = CacheHash::size(hash);
    entries.push_back(std::move(entry));
  });
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(a.key.endpoint, a.key.bucket, a.key.key, a.hash) <
           std::tie(b.key.endpoint, b.key.bucket, b.key.key, b.hash);
  });
  return entries;
}

void Cache::pin(const std::string& path, bool pinned) {
  const CacheDirectory& directory = state_->directory;
  const auto hash = CacheHash::in(base_name(path));
  const std::string name = hash ? CacheHash::name(*hash) : "";
  const CacheRoom alone = state_->room();
  if (!hash || access(directory.object(*hash).c_str(), F_OK) != 0 ||
      directory.current(name) != *hash) {
    fail(Code::not_found, "{}: is not in the cache any more", printable(path));
  }
  const std::string mark = directory.pin(name);
  if (pinned) {
    write_small_file(mark, "");
  } else if (unlink(mark.c_str()) != 0 && errno != ENOENT) {
    fail_errno(errno, "remove", mark);
  }
}

CacheStatus Cache::status() const {
  CacheStatus status;
  for (const CacheEntry& entry : entries()) {
    ++status.entries;
    status.bytes += entry.key.size;
    if (entry.pinned) status.pinned_bytes += entry.key.size;
  }
  status.partial_bytes = count_partials(state_->directory, "").reserved;
  status.limit = state_->options.max_bytes;
  struct statvfs fs {};
  if (statvfs(state_->directory.path().c_str(), &fs) == 0) {
    status.free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  }
  return status;
}

std::uint64_t Cache::evict(std::uint64_t bytes) { return state_->room().evict(bytes); }

bool Cache::remove(const CacheEntry& entry) { return state_->room().remove(entry.hash); }

std::uint64_t Cache::remove_partials() { return state_->room().remove_partials(""); }

}  // namespace prep
