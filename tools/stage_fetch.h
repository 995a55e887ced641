// prep-stage get, cat and warm: objects through the cache.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "lib/core/report.h"
#include "lib/core/spec.h"
#include "lib/remote/cache.h"
#include "lib/remote/object_store.h"
#include "tools/stage_options.h"

namespace prep {

// Makes objects be in the cache, whoever else is at it. Thread-safe.
class CachedObjects {
 public:
  CachedObjects(const StageOptions& options, int jobs);
  ~CachedObjects();

  // Takes bytes in order, from the beginning, as they arrive. May wait. throws Error.
  using Reader = std::function<void(ByteView)>;

  // What is stored under the name, or else what the server has. `was_there`: nothing was fetched.
  // With a reader, every byte goes to it, once. throws Error: what came to the reader until then is
  // the beginning of the object, and not all of it.
  std::unique_ptr<Cache::Hold> get(const ObjectUrl& url, bool* was_there,
                                   const Reader& reader = {});
  Cache& cache() { return cache_; }
  // Of the endpoint that the options name.
  std::string endpoint_name(const ObjectUrl& url) const;

 private:
  struct Network;
  Network& network();
  std::unique_ptr<Cache::Hold> get(const ObjectUrl& url, const ObjectInfo& object, bool* was_there,
                                   const Reader& reader);
  std::unique_ptr<Cache::Hold> fetch(const ObjectUrl& url, const ObjectInfo& object,
                                     Cache::Download& download, std::uint64_t& read,
                                     const Reader& reader);

  const StageOptions& options_;
  const int jobs_;
  Cache cache_;
  std::once_flag network_made_;
  std::unique_ptr<Network> network_;
};

// The objects that the words name: URLs with braces, and @lists of them. throws Error usage, io.
std::vector<ObjectUrl> objects_named(const std::vector<Spec>& words);

// Prints the paths, in the order of the words.
void get_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, Reporter& reporter);
// Writes their bytes to the standard output, one after the other.
void cat_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, Reporter& reporter);
// Several at a time; one that fails does not stop the others.
void warm_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, bool pin,
                  Reporter& reporter);

}  // namespace prep
