#include "formats/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "lib/core/error.h"
#include "lib/core/text.h"

namespace prep {
namespace {

constexpr int kAttempts = 100;

}  // namespace

Fd lock_for_run(const std::string& path, const std::string& output) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Fd fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      fail(Code::io, "{}: another run is writing into it", printable(output));
    }
    // The run before us may have removed the file between our open and our lock.
    if (is_named(fd, path)) return fd;
  }
  fail(Code::io, "{}: cannot lock it", printable(path));
}

bool is_locked(const std::string& path) {
  const Fd fd = open_if_there(path);
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace prep
