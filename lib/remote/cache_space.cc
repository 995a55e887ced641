#include "lib/remote/cache_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace prep {
namespace {

constexpr std::uint64_t kMagic = 0x31656361'70737070;  // "ppspace1"

// The layout of DIR/space.
struct Record {
  std::uint64_t magic, is_changing, bytes;
  std::int64_t oldest_used;
};

}  // namespace

CacheSpace::CacheSpace(const std::string& directory, const std::function<std::uint64_t()>& count)
    : lock_(CacheLock::lock(join_path(directory, "space.lock"), 0, CacheLock::Kind::exclusive)),
      file_(open_file(join_path(directory, "space"), O_RDWR | O_CREAT, 0600)) {
  Record record{};
  const bool is_known =
      pread(file_.get(), &record, sizeof record, 0) == static_cast<ssize_t>(sizeof record) &&
      record.magic == kMagic && record.is_changing == 0;
  bytes_ = is_known ? record.bytes : count();
  if (is_known) oldest_used_ = record.oldest_used;
  write(/*is_changing=*/true);
}

CacheSpace::~CacheSpace() { write(/*is_changing=*/false); }

// If it cannot be written, the old content stays, which says that all is to be counted.
void CacheSpace::write(bool is_changing) const {
  const Record record{kMagic, is_changing, bytes_, oldest_used_};
  (void)!pwrite(file_.get(), &record, sizeof record, 0);
}

}  // namespace prep
