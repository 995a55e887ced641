// What an entry of a cache is, for people and for `verify`: a JSON file beside it.
#pragma once

#include <string>
#include <string_view>

#include "lib/remote/cache.h"

namespace prep {

std::string description_text(const CacheKey& key, std::string_view sha256, bool verified);

// Fills key (but for the size), sha256 and verified. False if there is none that makes sense.
// throws Error interrupted.
bool read_description(const std::string& path, CacheEntry& entry);

}  // namespace prep
