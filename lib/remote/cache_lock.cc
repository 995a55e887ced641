#include "lib/remote/cache_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

struct flock request(std::uint64_t place, CacheLock::Kind kind) {
  struct flock lock {};
  lock.l_type = kind == CacheLock::Kind::shared ? F_RDLCK : F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(place >> 2);  // off_t has a sign
  lock.l_len = 1;
  return lock;
}

// A place that stands for nothing (but for one hash in 2^62, which then is fetched by itself).
constexpr std::uint64_t kTrial = ~std::uint64_t{0};

}  // namespace

std::optional<CacheLock> CacheLock::try_lock(const std::string& path, std::uint64_t place,
                                             Kind kind) {
  Fd file = open_file(path, O_RDWR | O_CREAT, 0600);
  struct flock lock = request(place, kind);
  const bool is_held =
      fcntl(file.get(), F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
  if (is_held) return std::nullopt;
  return CacheLock(std::move(file));
}

CacheLock CacheLock::lock(const std::string& path, std::uint64_t place, Kind kind) {
  Fd file = open_file(path, O_RDWR | O_CREAT, 0600);
  struct flock lock = request(place, kind);
  while (fcntl(file.get(), F_OFD_SETLKW, &lock) != 0 && errno == EINTR) check_interrupt();
  return CacheLock(std::move(file));
}

bool CacheLock::works(const std::string& path) {
  // If another process is trying as well, then it does.
  const auto first = try_lock(path, kTrial, Kind::exclusive);
  return !first || !try_lock(path, kTrial, Kind::exclusive);
}

}  // namespace prep
