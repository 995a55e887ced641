// Objects on a local disk, shared by any number of processes: one download each, a byte limit,
// eviction that an epoch larger than the cache does not defeat (cache_policy.h).
//
//     DIR/format                   "preptools cache 2\n"
//     DIR/objects/ab/HASH          an object's bytes; HASH: cache_directory.h. Its modification
//     time
//                                  is when it was last asked for
//     DIR/objects/ab/HASH.json     what it is, and the digest of its bytes
//     DIR/current/ab/NAME          a link to the newest version; NAME: the first half of HASH
//     DIR/current/ab/NAME.pin      it stays, whatever its version
//     DIR/partial/HASH[.state]     being downloaded (partial_object.h)
//     DIR/partial/HASH.room        its room is reserved, nothing has come yet
//     DIR/use.lock, fetch.lock, space.lock     locked by places (cache_lock.h), never removed
//     DIR/space                    the sum of all objects (cache_space.h)
//     DIR/history                  when objects were used (cache_policy.h)
//
// There is no index that could be lost or be wrong: what is stored is what is there. A hit is a
// link that is read, a file that is opened and locked, and a time that is set. `space` is counted
// anew if it is lost or a process was killed while it changed something; `history` may be lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/file_io.h"
#include "lib/remote/object.h"
#include "lib/remote/partial_object.h"

namespace prep {

struct CacheOptions {
  std::string directory;  // default_cache_directory()
  std::optional<std::uint64_t> max_bytes;
  double min_free = 0.05;  // the share of the file system that is left free
  std::uint64_t part_size = 8 << 20;
  // How long to wait for others to finish with what would have to go.
  double patience_s = 60;
};

// $PREP_CACHE, else $XDG_CACHE_HOME/preptools, else ~/.cache/preptools. throws Error usage.
std::string default_cache_directory();

// One version of one object.
struct CacheKey {
  std::string endpoint, bucket, key, etag;
  std::uint64_t size = 0;

  std::string hash() const;       // CacheHash
  std::string name_hash() const;  // its beginning: of the object, whatever its version
};

struct CacheEntry {
  CacheKey key;
  std::string hash, path;
  std::int64_t used_ns = 0;
  bool is_visitor = false;  // cache_policy.h: among the first to go
  std::string sha256;       // "" if the description is lost, which a crash of the machine can do
  bool verified = false;    // against what the server said
  bool pinned = false;
};

struct CacheStatus {
  std::uint64_t entries = 0, bytes = 0, pinned_bytes = 0, partial_bytes = 0;
  std::optional<std::uint64_t> limit;
  std::uint64_t free = 0;  // of the file system
};

class Cache {
 public:
  // An entry that is not evicted while this lives.
  class Hold;
  // The right to download an object.
  class Download;
  // Exactly one is set.
  struct Outcome {
    std::unique_ptr<Hold> hold;            // it is there
    std::unique_ptr<Download> download;    // it is for the caller to fetch
    std::optional<PartialObject> growing;  // another process is at it: read along, ask again
  };

  // Makes the directory, for the user alone, if need be. throws Error io; usage for a directory
  // that holds other things, or is not the user's own.
  explicit Cache(CacheOptions options);
  ~Cache();

  // The newest version that is stored. Asks no network.
  std::unique_ptr<Hold> find(const std::string& endpoint, const std::string& bucket,
                             const std::string& key) const;
  std::unique_ptr<Hold> find(const CacheKey& key) const;
  // Room is made before a download begins. throws Error limit where there cannot be enough (the
  // object is larger than the cache; all else is pinned, or stays in use), io, interrupted. Whether
  // it is stored to stay is decided too; if not, it is stored all the same, so that others can read
  // along and a path can be given out, but goes before what stays.
  Outcome acquire(const CacheKey& key);

  // `path` is an entry's or a hold's.
  // `path`: an entry's, or a Hold's. throws Error not_found, io.
  void pin(const std::string& path, bool pinned);
  std::vector<CacheEntry> entries() const;  // by endpoint, bucket, key
  CacheStatus status() const;
  // Removes entries that are neither pinned nor in use, the least worth keeping first, until so
  // many bytes are freed. Returns how many were.
  std::uint64_t evict(std::uint64_t bytes);
  // Whatever it is, unless it is in use: false.
  bool remove(const CacheEntry& entry);
  // What was begun and is not being continued. Returns the bytes.
  std::uint64_t remove_partials();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

class Cache::Hold {
 public:
  ~Hold();
  const std::string& path() const;
  int fd() const;  // open for reading
  std::uint64_t size() const;

 private:
  friend class Cache;
  friend class Download;
  struct Parts;
  explicit Hold(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

class Cache::Download {
 public:
  ~Download();  // without finish(): what is there stays, for whoever goes on
  PartialObject& partial();
  // All is there and right: from now on everybody finds it. `sha256` in hex; `verified`: the
  // server's own digest was that of the bytes. throws Error io.
  std::unique_ptr<Hold> finish(const std::string& sha256, bool verified);
  // It is not the object any more that is on the server.
  void discard();

 private:
  friend class Cache;
  struct Parts;
  explicit Download(std::unique_ptr<Parts> parts);
  std::unique_ptr<Hold> hold_of(const PartialObject& partial);
  std::unique_ptr<Parts> parts_;
};

}  // namespace prep
