#include "lib/remote/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/interrupt.h"
#include "lib/core/report.h"
#include "lib/remote/cache_lock.h"
#include "lib/remote/cache_policy.h"
#include "lib/remote/cache_space.h"

namespace prep {
namespace {

using Json = nlohmann::json;

constexpr char kFormat[] = "preptools cache 1\n";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kLargestDescription = 64 << 10;
// Looking at all entries for one small object after the other would take longer than fetching them:
// each time at least this share of the limit is freed.
constexpr std::uint64_t kEvictedShare = 256;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::string short_hash(std::initializer_list<std::string_view> fields) {
  Digest digest(Digest::Kind::sha256);
  for (const std::string_view field : fields) {
    digest.update(as_bytes(field));
    digest.update(as_bytes(std::string_view("\0", 1)));
  }
  return digest.hex().substr(0, kHashDigits);
}

std::uint64_t lock_place(std::string_view hash) {
  return std::stoull(std::string(hash.substr(0, 16)), nullptr, 16);
}

// An object's last use is its modification time: whoever reads the file by itself does not change
// it.
std::int64_t used_ns(const struct stat& st) { return mtime_ns(st); }

void set_used(int fd, std::int64_t when_ns) {
  const timespec times[2] = {{0, UTIME_OMIT}, {when_ns / 1'000'000'000, when_ns % 1'000'000'000}};
  (void)futimens(fd, times);
}

Json text_json(const std::string& bytes) {
  return is_utf8(bytes) ? Json(bytes)
                        : Json{{"bytes", std::vector<int>(bytes.begin(), bytes.end())}};
}

std::string json_bytes(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  std::string bytes;
  for (const int byte : json.at("bytes")) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

// Names in a directory that have the form of a hash, with what follows it.
void for_each_name(const std::string& directory,
                   const std::function<void(const std::string& hash, std::string_view rest)>& f) {
  DIR* const raw = opendir(directory.c_str());
  if (!raw) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(raw, closedir);
  while (const dirent* entry = readdir(raw)) {
    const std::string_view name = entry->d_name;
    const std::string_view hash = name.substr(0, kHashDigits);
    if (hash.size() < kHashDigits ||
        hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
      continue;
    }
    f(std::string(hash), name.substr(kHashDigits));
  }
}

void write_file(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  AtomicFile file(path, temporary);
  file.write(as_bytes(text));
  file.commit();
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
  return short_hash({endpoint, bucket, key, etag, std::to_string(size)});
}

std::string CacheKey::name_hash() const { return short_hash({endpoint, bucket, key}); }

// --- the directory ------------------------------------------------------------------------------

// What all operations know of the cache.
struct Cache::State {
  explicit State(CacheOptions o) : options(std::move(o)) {
    make_directories(parent_directory(options.directory));
    if (mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST) {
      fail_errno(errno, "make the cache", options.directory);
    }
    check_format();
    visits.emplace(in("visits"));
  }

  std::string in(std::string_view name) const { return join_path(options.directory, name); }
  std::string object(const std::string& hash) const {
    return in(fmt::format("objects/{}/{}", hash.substr(0, 2), hash));
  }
  std::string link(const std::string& name_hash) const {
    return in(fmt::format("current/{}/{}", name_hash.substr(0, 2), name_hash));
  }
  std::string partial(const std::string& hash) const { return in("partial/" + hash); }
  std::string use_lock() const { return in("use.lock"); }
  std::string fetch_lock() const { return in("fetch.lock"); }

  void check_format() const {
    const std::string path = in("format");
    char text[sizeof kFormat] = {};
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file) {
      if (read(file.get(), text, sizeof text) == sizeof kFormat - 1 &&
          std::string_view(text) == kFormat) {
        return;
      }
      fail(Code::usage, "{}: is a cache of another version; clear it, or name another one",
           printable(options.directory));
    }
    // Nobody's files are to be taken for ours.
    DIR* const raw = opendir(options.directory.c_str());
    if (!raw) fail_errno(errno, "open", options.directory);
    const std::unique_ptr<DIR, int (*)(DIR*)> closer(raw, closedir);
    while (const dirent* entry = readdir(raw)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || name.starts_with("format")) continue;
      fail(Code::usage, "{}: holds other files ({}); a cache must have a directory of its own",
           printable(options.directory), printable(name));
    }
    for (const char* name : {"objects", "current", "partial"}) make_directories(in(name));
    write_file(path, kFormat);
  }

  std::unique_ptr<Hold> open(const std::string& path) const;

  void for_each_object(
      const std::function<void(const std::string& hash, std::string_view rest)>& f) const {
    for (int i = 0; i < 256; ++i) for_each_name(in(fmt::format("objects/{:02x}", i)), f);
  }
  std::uint64_t count_bytes() const {
    std::uint64_t total = 0;
    for_each_object([&](const std::string& hash, std::string_view rest) {
      struct stat st {};
      if (rest.empty() && stat(object(hash).c_str(), &st) == 0) {
        total += static_cast<std::uint64_t>(st.st_size);
      }
    });
    return total;
  }
  CacheSpace lock_space() const {
    return CacheSpace(options.directory, [this] { return count_bytes(); });
  }

  std::uint64_t partial_bytes() const;
  void make_room(std::uint64_t bytes, const std::string& hash);
  std::uint64_t missing(const CacheSpace& space, std::uint64_t bytes) const;
  std::uint64_t remove_partials(const std::string& but);
  std::uint64_t evict(CacheSpace& space, std::uint64_t bytes);
  bool is_nearly_full(const CacheSpace& space) const;
  bool remove(CacheSpace& space, const std::string& hash, std::uint64_t size);

  CacheOptions options;
  std::optional<VisitRecord> visits;
};

struct Cache::Hold::Parts {
  std::string path;
  Fd file;
  std::uint64_t size = 0;
  std::optional<CacheLock> lock;
};

std::unique_ptr<Cache::Hold> Cache::State::open(const std::string& path) const {
  auto parts = std::make_unique<Hold::Parts>();
  parts->file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!parts->file) return nullptr;
  struct stat st {};
  if (fstat(parts->file.get(), &st) != 0 || !S_ISREG(st.st_mode)) return nullptr;
  parts->size = static_cast<std::uint64_t>(st.st_size);
  // By its real name: the link may lead elsewhere soon.
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  const std::string_view name =
      length > 0 ? base_name({target, static_cast<std::size_t>(length)}) : base_name(path);
  parts->path = object(std::string(name));
  // Should it be evicted before this: the open file is whole all the same.
  parts->lock = CacheLock::try_lock(use_lock(), lock_place(name), CacheLock::Kind::shared);
  set_used(parts->file.get(), now_ns());
  return std::unique_ptr<Hold>(new Hold(std::move(parts)));
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
  return state_->open(state_->link(CacheKey{endpoint, bucket, key, {}, 0}.name_hash()));
}

std::unique_ptr<Cache::Hold> Cache::find(const CacheKey& key) const {
  return state_->open(state_->object(key.hash()));
}

// --- room ---------------------------------------------------------------------------------------

// What downloads have taken or will take, also those that were broken off.
std::uint64_t Cache::State::partial_bytes() const {
  std::uint64_t total = 0;
  for_each_name(in("partial"), [&](const std::string& hash, std::string_view rest) {
    struct stat st {};
    if (rest.empty() && stat(partial(hash).c_str(), &st) == 0) {
      total += static_cast<std::uint64_t>(st.st_size);
    }
  });
  return total;
}

// How much is too much if so many bytes come.
std::uint64_t Cache::State::missing(const CacheSpace& space, std::uint64_t bytes) const {
  std::uint64_t too_much = 0;
  if (options.max_bytes) {
    const std::uint64_t wanted = space.bytes() + partial_bytes() + bytes;
    if (wanted > *options.max_bytes) too_much = wanted - *options.max_bytes;
  }
  struct statvfs fs {};
  if (statvfs(options.directory.c_str(), &fs) == 0) {
    const double free = static_cast<double>(fs.f_bavail) * static_cast<double>(fs.f_frsize);
    const double kept =
        static_cast<double>(fs.f_blocks) * static_cast<double>(fs.f_frsize) * options.min_free;
    const double lacking = kept + static_cast<double>(bytes) - free;
    if (lacking > 0) too_much = std::max(too_much, static_cast<std::uint64_t>(lacking));
  }
  return too_much;
}

std::uint64_t Cache::State::remove_partials(const std::string& but) {
  std::uint64_t freed = 0;
  std::vector<std::string> hashes;
  for_each_name(in("partial"), [&](const std::string& hash, std::string_view) {
    if (hash != but && (hashes.empty() || hashes.back() != hash)) hashes.push_back(hash);
  });
  for (const std::string& hash : hashes) {
    const auto lock =
        CacheLock::try_lock(fetch_lock(), lock_place(hash), CacheLock::Kind::exclusive);
    if (!lock) continue;
    struct stat st {};
    if (stat(partial(hash).c_str(), &st) == 0) freed += static_cast<std::uint64_t>(st.st_size);
    for (const char* ending : {"", ".state", ".state.new", ".done"}) {
      unlink((partial(hash) + ending).c_str());
    }
  }
  return freed;
}

bool Cache::State::remove(CacheSpace& space, const std::string& hash, std::uint64_t size) {
  const auto lock = CacheLock::try_lock(use_lock(), lock_place(hash), CacheLock::Kind::exclusive);
  if (!lock) return false;
  const std::string path = object(hash);
  unlink((path + ".json").c_str());
  if (unlink(path.c_str()) == 0) space.subtract(size);
  unlink((path + ".pin").c_str());
  return true;
}

// The least recently used go first; visitors count as never used.
std::uint64_t Cache::State::evict(CacheSpace& space, std::uint64_t bytes) {
  struct Candidate {
    std::int64_t used_ns;
    std::uint64_t size;
    std::string hash;
  };
  std::vector<Candidate> candidates;
  std::vector<std::string> pinned;
  for_each_object([&](const std::string& hash, std::string_view rest) {
    struct stat st {};
    if (rest == ".pin") pinned.push_back(hash);
    if (!rest.empty() || stat(object(hash).c_str(), &st) != 0) return;
    candidates.push_back({used_ns(st), static_cast<std::uint64_t>(st.st_size), hash});
  });
  std::sort(pinned.begin(), pinned.end());
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.used_ns, a.hash) < std::tie(b.used_ns, b.hash);
  });
  std::uint64_t freed = 0;
  space.set_oldest_used(0);
  for (const Candidate& candidate : candidates) {
    if (std::binary_search(pinned.begin(), pinned.end(), candidate.hash)) continue;
    if (freed < bytes) {
      if (remove(space, candidate.hash, candidate.size)) freed += candidate.size;
    } else if (candidate.used_ns > 0) {
      space.set_oldest_used(candidate.used_ns);
      break;
    }
  }
  return freed;
}

// So that objects make others go, sooner or later.
bool Cache::State::is_nearly_full(const CacheSpace& space) const {
  return missing(space, 2 * options.max_bytes.value_or(0) / kEvictedShare) > 0;
}

void Cache::State::make_room(std::uint64_t bytes, const std::string& hash) {
  if (options.max_bytes && bytes > *options.max_bytes) {
    fail(Code::limit, "the object has {}, and the cache may have {}: raise --max-size",
         human_bytes(bytes), human_bytes(*options.max_bytes));
  }
  CacheSpace space = lock_space();
  std::uint64_t too_much = missing(space, bytes);
  if (too_much == 0) return;
  remove_partials(hash);
  too_much = missing(space, bytes);
  if (too_much == 0) return;
  const std::uint64_t share = options.max_bytes.value_or(0) / kEvictedShare;
  evict(space, std::max(too_much, std::min(share, 64 * bytes)));
  too_much = missing(space, bytes);
  if (too_much == 0) return;
  fail(Code::limit,
       "{}: there is no room for {}: {} more would have to go, but what is left is pinned, in use "
       "or being downloaded",
       printable(options.directory), human_bytes(bytes), human_bytes(too_much));
}

// --- downloads ----------------------------------------------------------------------------------

struct Cache::Download::Parts {
  State* cache = nullptr;
  CacheKey key;
  std::string hash;
  std::optional<CacheLock> lock;
  std::optional<PartialObject> partial;
  std::int64_t last_visit = 0;
};

Cache::Download::Download(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Cache::Download::~Download() = default;
PartialObject& Cache::Download::partial() { return *parts_->partial; }
void Cache::Download::discard() { parts_->partial->remove(); }

Cache::Outcome Cache::acquire(const CacheKey& key) {
  const std::string hash = key.hash();
  Outcome outcome;
  outcome.hold = find(key);
  if (outcome.hold) return outcome;
  auto lock =
      CacheLock::try_lock(state_->fetch_lock(), lock_place(hash), CacheLock::Kind::exclusive);
  if (!lock) {
    outcome.growing = PartialObject::open(state_->partial(hash), hash);
    return outcome;
  }
  outcome.hold = find(key);  // it was finished meanwhile
  if (outcome.hold) return outcome;
  auto parts = std::make_unique<Download::Parts>();
  parts->cache = state_.get();
  parts->key = key;
  parts->hash = hash;
  parts->lock = std::move(lock);
  const std::uint64_t visit = lock_place(key.name_hash());
  parts->last_visit = state_->visits->last(visit);
  state_->visits->note(visit, now_ns());
  struct stat st {};
  const bool has_room =
      stat(state_->partial(hash).c_str(), &st) == 0 && st.st_size == static_cast<off_t>(key.size);
  if (!has_room) state_->make_room(key.size, hash);
  parts->partial =
      PartialObject::create(state_->partial(hash), hash, key.size, state_->options.part_size);
  outcome.download.reset(new Download(std::move(parts)));
  return outcome;
}

std::unique_ptr<Cache::Hold> Cache::Download::finish(const std::string& sha256, bool verified) {
  State& cache = *parts_->cache;
  const std::string path = cache.object(parts_->hash);
  const std::string link = cache.link(parts_->key.name_hash());
  make_directories(parent_directory(path));
  make_directories(parent_directory(link));
  const Json description{{"endpoint", text_json(parts_->key.endpoint)},
                         {"bucket", text_json(parts_->key.bucket)},
                         {"key", text_json(parts_->key.key)},
                         {"etag", text_json(parts_->key.etag)},
                         {"size", parts_->key.size},
                         {"sha256", sha256},
                         {"verified", verified}};
  write_file(path + ".json", description.dump() + "\n");
  // Not while others wait for the lock.
  if (fdatasync(parts_->partial->fd()) != 0) fail_errno(errno, "sync", parts_->partial->path());
  std::unique_ptr<Hold> hold;
  {
    CacheSpace space = cache.lock_space();
    const std::int64_t oldest_used = cache.is_nearly_full(space) ? space.oldest_used() : 0;
    parts_->partial->publish(path, /*sync=*/false);
    space.add(parts_->key.size);
    hold = cache.open(path);
    if (hold && is_visitor(now_ns(), parts_->last_visit, oldest_used)) set_used(hold->fd(), 0);
  }
  const std::string fresh = fmt::format("{}.{}.tmp", link, getpid());
  unlink(fresh.c_str());
  const std::string target =
      fmt::format("../../objects/{}/{}", parts_->hash.substr(0, 2), parts_->hash);
  if (symlink(target.c_str(), fresh.c_str()) != 0 || rename(fresh.c_str(), link.c_str()) != 0) {
    fail_errno(errno, "make the link", link);
  }
  if (!hold) fail(Code::io, "{}: vanished", printable(path));
  return hold;
}

// --- what is there ------------------------------------------------------------------------------

std::vector<CacheEntry> Cache::entries() const {
  std::vector<CacheEntry> entries;
  state_->for_each_object([&](const std::string& hash, std::string_view rest) {
    struct stat st {};
    const std::string path = state_->object(hash);
    if (!rest.empty() || stat(path.c_str(), &st) != 0) return;
    CacheEntry entry;
    entry.hash = hash;
    entry.path = path;
    entry.used_ns = used_ns(st);
    entry.key.size = static_cast<std::uint64_t>(st.st_size);
    entry.pinned = access((path + ".pin").c_str(), F_OK) == 0;
    try {
      std::string text(kLargestDescription, '\0');
      const Fd file = open_file(path + ".json", O_RDONLY);
      text.resize(read_fully(file.get(), reinterpret_cast<std::uint8_t*>(text.data()), text.size(),
                             path + ".json"));
      const Json json = Json::parse(text);
      entry.key.endpoint = json_bytes(json.at("endpoint"));
      entry.key.bucket = json_bytes(json.at("bucket"));
      entry.key.key = json_bytes(json.at("key"));
      entry.key.etag = json_bytes(json.at("etag"));
      entry.sha256 = json.at("sha256");
      entry.verified = json.at("verified");
    } catch (const Json::exception&) {
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
    }
    entries.push_back(std::move(entry));
  });
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(a.key.endpoint, a.key.bucket, a.key.key, a.hash) <
           std::tie(b.key.endpoint, b.key.bucket, b.key.key, b.hash);
  });
  return entries;
}

void Cache::pin(const std::string& path, bool pinned) {
  const std::string mark = path + ".pin";
  if (pinned) {
    write_file(mark, "");
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
  status.partial_bytes = state_->partial_bytes();
  status.limit = state_->options.max_bytes;
  struct statvfs fs {};
  if (statvfs(state_->options.directory.c_str(), &fs) == 0) {
    status.free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  }
  return status;
}

std::uint64_t Cache::evict(std::uint64_t bytes) {
  CacheSpace space = state_->lock_space();
  return state_->evict(space, bytes);
}

bool Cache::remove(const CacheEntry& entry) {
  CacheSpace space = state_->lock_space();
  return state_->remove(space, entry.hash, entry.key.size);
}

std::uint64_t Cache::remove_partials() {
  const CacheSpace space = state_->lock_space();
  return state_->remove_partials("");
}

}  // namespace prep
