#include "formats/verify_keys.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace prep {

KeyPlaces::Hash KeyPlaces::hash(std::string_view key) {
  const XXH128_hash_t h = XXH3_128bits(key.data(), key.size());
  return {h.high64, static_cast<std::uint32_t>(h.low64) | 1};
}

std::optional<std::uint32_t> KeyPlaces::insert(Hash hash, std::uint32_t number) {
  if (size_ * 3 >= table_.size() * 2) grow();
  Entry& entry = find(table_, hash);
  if (entry.low != 0) return entry.number;
  entry = {hash.high, hash.low, number};
  ++size_;
  return std::nullopt;
}

// The key's entry, or the free one where it belongs.
KeyPlaces::Entry& KeyPlaces::find(std::vector<Entry>& table, Hash hash) {
  const std::size_t mask = table.size() - 1;
  std::size_t i = hash.high & mask;
  while (table[i].low != 0 && (table[i].high != hash.high || table[i].low != hash.low)) {
    i = (i + 1) & mask;
  }
  return table[i];
}

void KeyPlaces::grow() {
  std::vector<Entry> larger(table_.empty() ? 256 : table_.size() * 2);
  for (const Entry& entry : table_) {
    if (entry.low != 0) find(larger, {entry.high, entry.low}) = entry;
  }
  table_.swap(larger);
}

}  // namespace prep
