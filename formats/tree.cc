#include "formats/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

bool is_directory(int parent, const dirent& entry, const std::string& path) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat st {};
  if (fstatat(parent, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) return S_ISDIR(st.st_mode);
  if (errno == ENOENT) return false;
  fail_errno(errno, "stat", path);
}

void walk(const std::string& root, const std::string& path, const VisitFile& visit) {
  const std::string directory = path.empty() ? root : join_path(root, path);
  for_each_entry(directory, [&](int fd, const dirent& entry) {
    const std::string below = join_path(path, entry.d_name);
    if (is_directory(fd, entry, below)) {
      walk(root, below, visit);
    } else {
      visit(fd, below, entry.d_name);
    }
    return true;
  });
}

}  // namespace

void for_each_entry(const std::string& directory, const VisitEntry& visit) {
  DIR* raw = opendir(directory.c_str());
  if (!raw && (errno == ENOENT || errno == ENOTDIR)) return;
  if (!raw) fail_errno(errno, "list", directory);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(raw, closedir);
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(raw);
    if (!entry && errno != 0) fail_errno(errno, "list", directory);
    if (!entry) return;
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !visit(dirfd(raw), *entry)) return;
  }
}

void for_each_file(const std::string& root, const VisitFile& visit) { walk(root, "", visit); }

}  // namespace prep
