// prep-stage ls, status, verify, pin, unpin, evict and clear: what is in the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/report.h"
#include "lib/remote/cache.h"
#include "lib/remote/object.h"

namespace prep {

// A line each: size, when last used, marks, URL. `words` choose: a URL, or a prefix that ends in
// "/" or
// "*"; none: all.
void list_cache(const Cache& cache, const std::vector<std::string>& words);
void show_cache_status(const Cache& cache);
// Reads everything again and compares digests; what is damaged is a failed outcome, and removed.
void verify_cache(Cache& cache, const std::vector<std::string>& words, Reporter& reporter);
// throws Error not_found where nothing is chosen.
void pin_cached(Cache& cache, const std::vector<std::string>& words, bool pinned,
                Reporter& reporter);
// `bytes` of what is least worth keeping, or what is chosen.
void evict_cached(Cache& cache, std::optional<std::uint64_t> bytes,
                  const std::vector<std::string>& words, Reporter& reporter);
// Everything that is not in use, pinned or not.
void clear_cache(Cache& cache, Reporter& reporter);

}  // namespace prep
