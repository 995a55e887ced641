#include "lib/remote/cache_room.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <set>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/remote/cache_lock.h"

namespace prep {
namespace {

// Looking at all entries for one small object after the other would take longer than fetching them:
// at least this part of what is stored goes each time.
constexpr std::uint64_t kPartThatGoes = 128;
// Who downloads writes more often than that.
constexpr std::time_t kSecondsOfSilence = 5;

}  // namespace

PartialBytes count_partials(const CacheDirectory& directory, const std::string& except) {
  std::set<std::string> hashes;
  PartialBytes bytes;
  directory.for_each_partial([&](const std::string& hash, std::string_view) {
    if (hash == except || !hashes.insert(hash).second) return;
    const std::uint64_t size = CacheHash::size(hash);
    bytes.reserved += size;
    struct stat st {};
    if (stat(directory.partial(hash).c_str(), &st) == 0) {
      bytes.allocated += std::min(size, static_cast<std::uint64_t>(st.st_blocks) * 512);
    }
  });
  return bytes;
}

struct CacheRoom::Contents {
  std::uint64_t bytes = 0;
  std::vector<Evictable> objects;
};

CacheRoom::CacheRoom(const CacheDirectory& directory, const CacheOptions& options,
                     UseHistory& history)
    : directory_(directory),
      options_(options),
      history_(history),
      space_(directory.path(), [this] { return recount(); }) {}

CacheRoom::Contents CacheRoom::look() const {
  Contents contents;
  directory_.for_each_object([&](const std::string& hash, std::string_view rest) {
    struct stat st {};
    if (!rest.empty() || stat(directory_.object(hash).c_str(), &st) != 0) return;
    const auto size = static_cast<std::uint64_t>(st.st_size);
    contents.bytes += size;
    contents.objects.push_back({hash, size, mtime_ns(st), is_visitor_mode(st.st_mode)});
  });
  return contents;
}

// Somebody was killed while changing something: what is left of that goes too.
std::uint64_t CacheRoom::recount() const {
  if (CacheLock::works(directory_.use_lock())) directory_.remove_rests();
  return look().bytes;
}

std::uint64_t CacheRoom::lacking(const std::string& hash, std::uint64_t size) const {
  const PartialBytes others = count_partials(directory_, hash);
  std::uint64_t lacking = 0;
  if (options_.max_bytes) {
    const std::uint64_t wanted = space_.bytes() + others.reserved + size;
    if (wanted > *options_.max_bytes) lacking = wanted - *options_.max_bytes;
  }
  struct statvfs fs {};
  if (statvfs(directory_.path().c_str(), &fs) != 0) return lacking;
  const auto block = static_cast<double>(fs.f_frsize);
  struct stat own {};
  const bool is_begun = !hash.empty() && stat(directory_.partial(hash).c_str(), &own) == 0;
  const double free = static_cast<double>(fs.f_bavail) * block +
                      (is_begun ? static_cast<double>(own.st_blocks) * 512 : 0);
  const double wanted = static_cast<double>(fs.f_blocks) * block * options_.min_free +
                        static_cast<double>(others.reserved - others.allocated) +
                        static_cast<double>(size);
  if (wanted > free) lacking = std::max(lacking, static_cast<std::uint64_t>(wanted - free));
  return lacking;
}

std::uint64_t CacheRoom::reserve(const std::string& hash) {
  const std::uint64_t size = CacheHash::size(hash);
  std::uint64_t bytes = lacking(hash, size);
  if (bytes > 0 && remove_partials(hash) > 0) bytes = lacking(hash, size);
  if (bytes > 0) {
    space_.set_bytes(look().bytes);  // where locks do nothing, the sum may be wrong by now
    bytes = lacking(hash, size);
  }
  if (bytes > 0) {
    evict(std::max(bytes, space_.bytes() / kPartThatGoes));
    bytes = lacking(hash, size);
  }
  if (bytes == 0) {
    make_directories(directory_.in("partial"));
    open_file(directory_.reservation(hash), O_WRONLY | O_CREAT, 0600);
  }
  return bytes;
}

std::int64_t CacheRoom::oldest_resident() const {
  return lacking("", 2 * space_.bytes() / kPartThatGoes) > 0 ? space_.oldest_used() : 0;
}

void CacheRoom::add(std::uint64_t bytes, std::uint64_t replaced) {
  space_.subtract(replaced);
  space_.add(bytes);
}

bool CacheRoom::is_pinned(const std::string& hash) const {
  const std::string name = CacheHash::name(hash);
  if (access(directory_.pin(name).c_str(), F_OK) != 0) return false;
  const std::string current = directory_.current(name);
  return current.empty() || current == hash;
}

std::uint64_t CacheRoom::evict(std::uint64_t bytes) {
  Contents contents = look();
  space_.set_bytes(contents.bytes);
  sort_for_eviction(contents.objects, visitor_share(contents.bytes));
  std::uint64_t freed = 0;
  std::int64_t oldest = 0;
  for (const Evictable& object : contents.objects) {
    if (freed >= bytes && object.is_visitor) continue;
    if (is_pinned(object.hash)) continue;
    if (freed < bytes && remove(object.hash)) {
      freed += object.size;
      if (!object.is_visitor) history_.note_use(CacheHash::name_bits(object.hash), object.used_ns);
    } else if (!object.is_visitor && oldest == 0) {
      oldest = object.used_ns;
    }
    if (freed >= bytes && oldest != 0) break;
  }
  space_.set_oldest_used(oldest);
  return freed;
}

// The file goes before its description, so that an object without one is never left; links and pins
// go before the file, so that they lead nowhere at no time.
bool CacheRoom::remove(const std::string& hash) {
  const auto lock =
      CacheLock::try_lock(directory_.use_lock(), CacheHash::bits(hash), CacheLock::Kind::exclusive);
  if (!lock) return false;
  const std::string name = CacheHash::name(hash);
  if (directory_.current(name) == hash) {
    unlink(directory_.pin(name).c_str());
    unlink(directory_.link(name).c_str());
  }
  const std::string path = directory_.object(hash);
  struct stat st {};
  const bool is_there = stat(path.c_str(), &st) == 0;
  if (is_there && unlink(path.c_str()) == 0) {
    space_.subtract(static_cast<std::uint64_t>(st.st_size));
  }
  unlink(directory_.description(hash).c_str());
  return true;
}

// Where locks do nothing: who has a file of his own (cache.cc) may still be at it, here or on
// another host.
bool CacheRoom::may_be_alive(const std::string& file) const {
  struct stat st {};
  if (stat(directory_.partial(file).c_str(), &st) != 0) return false;
  if (std::time(nullptr) - st.st_mtime < kSecondsOfSilence) return true;
  const auto pid = static_cast<pid_t>(
      std::strtol(file.substr(std::min(file.size(), CacheHash::kDigits + 1)).c_str(), nullptr, 10));
  return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
}

std::uint64_t CacheRoom::remove_partials(const std::string& except) {
  std::set<std::string> hashes;
  std::vector<std::string> files;
  directory_.for_each_partial([&](const std::string& hash, std::string_view rest) {
    if (hash == except) return;
    hashes.insert(hash);
    files.push_back(hash + std::string(rest));
  });
  const bool has_locks = CacheLock::works(directory_.fetch_lock());
  std::uint64_t freed = 0;
  for (const std::string& hash : hashes) {
    const auto lock = CacheLock::try_lock(directory_.fetch_lock(), CacheHash::bits(hash),
                                          CacheLock::Kind::exclusive);
    if (!lock) continue;
    freed += CacheHash::size(hash);
    for (const std::string& file : files) {
      if (!file.starts_with(hash) || (!has_locks && may_be_alive(file))) continue;
      unlink(directory_.partial(file).c_str());
    }
  }
  return freed;
}

}  // namespace prep
