#include "lib/remote/local_name.h"

#include <limits.h>

#include "lib/core/error.h"

namespace prep {
namespace {

// What keeps one component of a key from being a file's name; "": nothing does.
std::string objection(std::string_view component) {
  if (component.empty()) return "an empty name between two \"/\" is none for a file";
  if (component == "." || component == "..") {
    return fmt::format("\"{}\" would lead somewhere else", component);
  }
  if (component.size() > NAME_MAX) {
    return fmt::format("a file's name has {} bytes at most, one here has {}", NAME_MAX,
                       component.size());
  }
  if (component.find('\0') != component.npos) return "a file's name has no NUL";
  return "";
}

}  // namespace

std::optional<std::string> mirror_path(std::string_view key_below_prefix, std::string* why) {
  std::string_view rest = key_below_prefix;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    if (std::string found = objection(rest.substr(0, slash)); !found.empty()) {
      if (why) *why = std::move(found);
      return std::nullopt;
    }
    rest = slash == rest.npos ? "" : rest.substr(slash + 1);
  }
  return std::string(key_below_prefix);
}

}  // namespace prep
