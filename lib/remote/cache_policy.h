// Which objects are worth their room in a cache that is smaller than what is read.
//
// A loader reads all objects of a set once an epoch, in one order or in a new one each time. If
// they do not all fit, dropping the least recently used is the worst that can be done: each object
// goes just before it is wanted again, and nothing is ever found. What helps is to keep some,
// whichever, and to let the others pass.
//
// So there are residents and visitors. Of the residents, the least recently used is the first to
// go, and as long as even that one is likely to be read again, whatever else comes is a visitor: it
// is stored, for all that ask for it now, in a small share of the cache, and goes when other
// visitors need the room. How long an object may be left alone and still be likely to come back is
// seen from those that do come back: those that are found, and those that had to be dropped, which
// a table remembers. When a set is not read any more, its objects are soon older than that, and
// give way.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace prep {

// When objects were last used that are not in the cache, and after how long objects come back: a
// table of fixed size in a file, shared by all processes. It only gives advice, so that nothing is
// locked and a lost entry does no harm. Times are nanoseconds since 1970.
class UseHistory {
 public:
  // A file that cannot be mapped (a full disk, an odd file system): then nothing is remembered.
  explicit UseHistory(const std::string& path);
  UseHistory(const UseHistory&) = delete;
  UseHistory& operator=(const UseHistory&) = delete;
  ~UseHistory();

  // `object`: any 64 bits of its name's digest. 0: not known.
  std::int64_t last_use(std::uint64_t object) const;
  void note_use(std::uint64_t object, std::int64_t when_ns);

  // An object came back after so long. Readers that want the same object at about the same time
  // count for little, because a return counts by its length.
  void note_return(std::int64_t after_ns);
  // The mean of the last returns, by their lengths; 0: not known.
  std::int64_t typical_return() const;

  static constexpr std::size_t kSets = 1 << 16, kWays = 8;

 private:
  struct Table;
  Table* table_ = nullptr;
};

struct Arrival {
  std::int64_t now_ns = 0;
  std::int64_t last_use_ns = 0;         // of this object; 0: not known
  std::int64_t oldest_resident_ns = 0;  // when what would have to go was used; 0: nothing has to go
  std::int64_t typical_return_ns = 0;
};
bool is_visitor(const Arrival& arrival);

// An object that may be dropped.
struct Evictable {
  std::string hash;
  std::uint64_t size = 0;
  std::int64_t used_ns = 0;  // a visitor's: when it came
  bool is_visitor = false;
};

// What an object is stands in its file's mode, as its use does in the modification time: nothing
// has to be looked up. Nobody is to write to either.
constexpr mode_t kResidentMode = 0400, kVisitorMode = 0600;
constexpr bool is_visitor_mode(mode_t mode) { return (mode & S_IWUSR) != 0; }

// Sorts them so that those to be dropped first are first. `visitor_bytes`: the room that visitors
// have before residents.
void sort_for_eviction(std::vector<Evictable>& objects, std::uint64_t visitor_bytes);

// Of a cache of that size.
constexpr std::uint64_t visitor_share(std::uint64_t bytes) { return bytes / 16; }

}  // namespace prep
