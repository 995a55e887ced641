// Walks a directory tree of outputs, hidden files included, links not followed.
#pragma once

#include <functional>
#include <string>

namespace prep {

// Calls visit(directory's descriptor, path of the file relative to `root`, its base name) for all
// that is no directory. What cannot be listed is passed over.
using VisitFile = std::function<void(int, const std::string&, const char*)>;
void for_each_file(const std::string& root, const VisitFile& visit);

}  // namespace prep
