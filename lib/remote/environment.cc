#include "lib/remote/environment.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace prep {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string home_directory() {
  if (std::string home = environment("HOME"); !home.empty()) return home;
  std::vector<char> buffer(16384);
  struct passwd entry {};
  struct passwd* found = nullptr;
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found && found->pw_dir ? found->pw_dir : "";
}

std::string expand_home(const std::string& path) {
  return path == "~" || path.starts_with("~/") ? home_directory() + path.substr(1) : path;
}

}  // namespace prep
