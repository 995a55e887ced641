// For tests of what AWS's variables and files say: a process with none of them, and an empty home.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/temp_dir.h"

namespace prep::test {

class AwsEnvironment {
 public:
  AwsEnvironment() {
    if (const char* home = std::getenv("HOME")) home_ = home;
    clear();
    set("HOME", directory_.path());
  }
  AwsEnvironment(const AwsEnvironment&) = delete;
  AwsEnvironment& operator=(const AwsEnvironment&) = delete;
  ~AwsEnvironment() {
    clear();
    set("HOME", home_);
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  void unset(const std::string& name) { unsetenv(name.c_str()); }
  std::string operator/(const std::string& name) const { return directory_ / name; }
  void config(const std::string& text) { write_file(directory_ / ".aws/config", text); }
  void credentials(const std::string& text) { write_file(directory_ / ".aws/credentials", text); }

 private:
  static void clear() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry; ++entry) {
      if (std::strncmp(*entry, "AWS_", 4) == 0) {
        names.emplace_back(*entry, std::strcspn(*entry, "="));
      }
    }
    for (const std::string& name : names) unsetenv(name.c_str());
  }

  TempDir directory_;
  std::string home_;
};

}  // namespace prep::test
