#include "lib/core/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "lib/core/error.h"

namespace prep {

Fd open_unnamed_file() {
  const char* variable = std::getenv("TMPDIR");
  const std::string directory = variable && *variable ? variable : "/var/tmp";
  Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // A file system without O_TMPFILE.
  std::string path = join_path(directory, "prep-XXXXXX");
  file.reset(mkostemp(path.data(), O_CLOEXEC));
  if (!file) fail_errno(errno, "create a temporary file in", directory);
  unlink(path.c_str());
  return file;
}

}  // namespace prep
