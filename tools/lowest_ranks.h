// A random choice out of things that come one by one, in bounded memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace prep {

// A rank out of a hash: random numbers that are the same on every machine. The finalizer of
// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
inline std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Keeps what has the lowest ranks (hashes, say), by number and by the memory that it holds: the
// same things in whichever order they come.
template <typename T>
class LowestRanks {
 public:
  LowestRanks(std::uint64_t count, std::uint64_t most_held)
      : count_(count), most_held_(most_held) {}

  bool wants(std::uint64_t rank) const {
    return kept_.size() < count_ || (!kept_.empty() && rank < kept_.rbegin()->rank);
  }
  // `index` is its place in the order of the input; `held` the bytes of memory that it holds.
  void add(std::uint64_t rank, std::uint64_t index, T value, std::uint64_t held) {
    held_ += held;
    kept_.insert({rank, index, held, std::move(value)});
    if (kept_.size() > count_) drop_last();
    while (held_ > most_held_ && kept_.size() > 1) {
      drop_last();
      count_ = kept_.size();
      memory_was_short_ = true;
    }
  }
  // Whether there are fewer than asked for, because no more fitted into memory.
  bool memory_was_short() const { return memory_was_short_; }

  // By index, or by rank. Nothing is left.
  std::vector<T> take_in_order() {
    std::vector<Entry> entries = take();
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.index < b.index; });
    return values_of(entries);
  }
  std::vector<T> take_by_rank() {
    std::vector<Entry> entries = take();
    return values_of(entries);
  }

 private:
  struct Entry {
    std::uint64_t rank, index, held;
    T value;
    bool operator<(const Entry& other) const {
      return std::pair(rank, index) < std::pair(other.rank, other.index);
    }
  };

  std::vector<Entry> take() {
    std::vector<Entry> entries;
    while (!kept_.empty()) {
      entries.push_back(std::move(kept_.extract(kept_.begin()).value()));
    }
    return entries;
  }
  static std::vector<T> values_of(std::vector<Entry>& entries) {
    std::vector<T> values;
    for (Entry& entry : entries) values.push_back(std::move(entry.value));
    return values;
  }

  void drop_last() {
    const auto last = std::prev(kept_.end());
    held_ -= last->held;
    kept_.erase(last);
  }

  std::uint64_t count_;
  const std::uint64_t most_held_;
  std::uint64_t held_ = 0;
  bool memory_was_short_ = false;
  std::set<Entry> kept_;
};

}  // namespace prep
