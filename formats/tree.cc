#include "formats/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <string_view>

#include "lib/core/file_io.h"

namespace prep {
namespace {

bool is_directory(int parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat st {};
  return fstatat(parent, entry.d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

void walk(const std::string& root, const std::string& path, const VisitFile& visit) {
  DIR* directory = opendir(path.empty() ? root.c_str() : join_path(root, path).c_str());
  if (!directory) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(directory, closedir);
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = join_path(path, name);
    if (is_directory(dirfd(directory), *entry)) {
      walk(root, below, visit);
    } else {
      visit(dirfd(directory), below, entry->d_name);
    }
  }
}

}  // namespace

void for_each_file(const std::string& root, const VisitFile& visit) { walk(root, "", visit); }

}  // namespace prep
