// Hashes of sample keys: the share of a task, and the set of keys that were met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace prep {

// XXH3, 64 bits, seed 0: the same on every machine.
std::uint64_t key_hash(std::string_view key);

// One of N independent tasks, numbered from 0.
struct Task {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
  bool has(std::string_view key) const { return count == 1 || key_hash(key) % count == index; }
};

// Remembers keys by their 128-bit XXH3: 16 bytes a key in an open-addressed table that is at most
// two thirds full. Two of 100 million keys share a hash with a probability below 1e-22.
class KeySet {
 public:
  // False if the key was there already.
  bool insert(std::string_view key);
  std::size_t size() const { return size_; }

 private:
  using Hash = std::pair<std::uint64_t, std::uint64_t>;  // {0, 0} marks a free place
  static bool place(std::vector<Hash>& table, Hash hash);
  void grow();

  std::vector<Hash> table_;
  std::size_t size_ = 0;
};

}  // namespace prep
