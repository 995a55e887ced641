// Room in a cache: how much there is, who has reserved some, and what has to go for more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/remote/cache.h"
#include "lib/remote/cache_directory.h"
#include "lib/remote/cache_policy.h"
#include "lib/remote/cache_space.h"

namespace prep {

// While it lives, no other process changes what is stored or reserved. Few system calls; but when
// something has to go, all entries are looked at, and then some more go than must.
class CacheRoom {
 public:
  // throws Error interrupted, io.
  CacheRoom(const CacheDirectory& directory, const CacheOptions& options, UseHistory& history);

  // Makes room for an object and reserves it. Returns how many bytes are lacking, 0 if it worked.
  std::uint64_t reserve(const std::string& hash);
  // When the resident was used that would have to go next; 0 if nothing had to go soon.
  std::int64_t oldest_resident() const;

  // A file was stored under its final name, where perhaps another one was.
  void add(std::uint64_t bytes, std::uint64_t replaced);
  // Returns the bytes that were freed.
  std::uint64_t evict(std::uint64_t bytes);
  // Unless it is in use.
  bool remove(const std::string& hash);
  // What was begun, and nobody is at; but for `except`.
  std::uint64_t remove_partials(const std::string& except);

 private:
  struct Contents;
  Contents look() const;
  std::uint64_t recount() const;
  std::uint64_t lacking(const std::string& hash, std::uint64_t size) const;
  bool is_pinned(const std::string& hash) const;
  bool may_be_alive(const std::string& file) const;

  const CacheDirectory& directory_;
  const CacheOptions& options_;
  UseHistory& history_;
  CacheSpace space_;
};

// Of all downloads, also those that were broken off.
struct PartialBytes {
  std::uint64_t reserved = 0;   // what they will have when they are whole
  std::uint64_t allocated = 0;  // what of it the file system has given already
};
PartialBytes count_partials(const CacheDirectory& directory, const std::string& except);

}  // namespace prep
