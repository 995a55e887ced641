#include "lib/core/key_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace prep {

std::uint64_t key_hash(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

bool KeySet::insert(std::string_view key) {
  if (size_ * 3 >= table_.size() * 2) grow();
  const XXH128_hash_t h = XXH3_128bits(key.data(), key.size());
  const Hash hash{h.high64, h.low64 | 1};  // never {0, 0}
  if (!place(table_, hash)) return false;
  ++size_;
  return true;
}

bool KeySet::place(std::vector<Hash>& table, Hash hash) {
  const std::size_t mask = table.size() - 1;
  for (std::size_t i = hash.first & mask;; i = (i + 1) & mask) {
    if (table[i] == hash) return false;
    if (table[i] == Hash{}) {
      table[i] = hash;
      return true;
    }
  }
}

void KeySet::grow() {
  std::vector<Hash> larger(table_.empty() ? 1024 : table_.size() * 2);
  for (const Hash& hash : table_) {
    if (hash != Hash{}) place(larger, hash);
  }
  table_.swap(larger);
}

}  // namespace prep
