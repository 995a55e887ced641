#include "formats/verify_names.h"

#include <algorithm>

#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/text.h"

namespace prep {
namespace {

// Calls visit(step) for what lies between slashes, until it returns true; whether it did.
template <typename Visit>
bool any_step(std::string_view path, Visit visit) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (visit(path.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

// "__MACOSX__" and the like: WebDataset and Energon take such names for notes about the archive.
bool is_note(std::string_view step) {
  return step.size() >= 4 && step.starts_with("__") && step.ends_with("__");
}

}  // namespace

std::string name_fault(std::string_view path) {
  const std::string_view base = base_name(path);
  if (path.empty()) return "a member without a name";
  if (path.find('\0') != std::string_view::npos) return "a name with a NUL byte";
  if (path.starts_with('/'))
    return "an absolute name, which would leave the directory it is put in";
  if (any_step(path, [](std::string_view step) { return step == ".."; })) {
    return "a name with '..', which would leave the directory it is put in";
  }
  if (base.starts_with("._")) {
    return "macOS's shadow of a file, which loaders take for data; pack with COPYFILE_DISABLE=1";
  }
  if (base.starts_with('.')) {
    return "its name starts with a dot, so that loaders take the directory for its key";
  }
  if (split_key(path).second.empty()) {
    return "its name has no extension, so that loaders drop it without a word";
  }
  return "";
}

std::string_view name_oddity(std::string_view path) {
  if (path.starts_with("./")) return "names begin with './', which becomes a part of the key";
  if (path.find("//") != std::string_view::npos) return "names hold '//'";
  if (path.starts_with("__") || any_step(path, is_note)) {
    return "names begin with '__' or hold '__…__', and some loaders leave those out";
  }
  if (path.starts_with('.') || path.find("/.") != std::string_view::npos) {
    return "names are below a hidden directory, and some loaders leave those out";
  }
  if (!is_utf8(path)) return "names are not UTF-8, which some loaders cannot read";
  return "";
}

}  // namespace prep
