// Where each key of a data set was met first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace prep {

// Keys by 95 bits of their XXH3, with a number each, in 16 bytes a key of an open-addressed table
// that is at most two thirds full. Two of 100 million keys share a hash with a probability of
// 1e-13.
class KeyPlaces {
 public:
  struct Hash {
    std::uint64_t high = 0;
    std::uint32_t low = 0;  // odd
  };
  static Hash hash(std::string_view key);

  // Remembers `number` for a new key; for one that is there already, returns its number.
  std::optional<std::uint32_t> insert(Hash hash, std::uint32_t number);
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint64_t high = 0;
    std::uint32_t low = 0;  // 0: free
    std::uint32_t number = 0;
  };
  static Entry& find(std::vector<Entry>& table, Hash hash);
  void grow();

  std::vector<Entry> table_;
  std::size_t size_ = 0;
};

}  // namespace prep
