// What is in directories of outputs, hidden files included.
#pragma once

#include <dirent.h>

#include <functional>
#include <string>

namespace prep {

// Calls visit(directory's descriptor, entry) for all that is in a directory but "." and "..", until
// it returns false; never where there is no such directory. throws Error io where it cannot be
// read.
using VisitEntry = std::function<bool(int, const dirent&)>;
void for_each_entry(const std::string& directory, const VisitEntry& visit);

// Calls visit(directory's descriptor, path of the file relative to `root`, its base name) for all
// below `root` that is no directory; links are not followed. throws Error io where something cannot
// be listed.
using VisitFile = std::function<void(int, const std::string&, const char*)>;
void for_each_file(const std::string& root, const VisitFile& visit);

}  // namespace prep
