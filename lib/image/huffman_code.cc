#include "lib/image/huffman_code.h"

#include <algorithm>
#include <numeric>

namespace prep::image {
namespace {

constexpr int kLongest = 16;

// The tables' symbols, run << 4 | size, in the order of the standard.
HuffmanTable make_standard(const std::array<std::uint8_t, 17>& count,
                           std::vector<std::uint8_t> symbols) {
  return {count, std::move(symbols)};
}

HuffmanTable make_standard_dc(bool chroma) {
  std::vector<std::uint8_t> sizes(12);
  std::iota(sizes.begin(), sizes.end(), std::uint8_t{0});
  if (chroma) return make_standard({0, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1}, sizes);
  return make_standard({0, 0, 1, 5, 1, 1, 1, 1, 1, 1}, sizes);
}

HuffmanTable make_standard_ac_luma() {
  return make_standard(
      {0, 0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125},
      {0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21, 0x31, 0x41, 0x06, 0x13, 0x51, 0x61,
       0x07, 0x22, 0x71, 0x14, 0x32, 0x81, 0x91, 0xA1, 0x08, 0x23, 0x42, 0xB1, 0xC1, 0x15, 0x52,
       0xD1, 0xF0, 0x24, 0x33, 0x62, 0x72, 0x82, 0x09, 0x0A, 0x16, 0x17, 0x18, 0x19, 0x1A, 0x25,
       0x26, 0x27, 0x28, 0x29, 0x2A, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44, 0x45,
       0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63, 0x64,
       0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A, 0x83,
       0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
       0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6,
       0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xD2, 0xD3,
       0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE1, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7, 0xE8,
       0xE9, 0xEA, 0xF1, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA});
}

HuffmanTable make_standard_ac_chroma() {
  return make_standard(
      {0, 0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119},
      {0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31, 0x06, 0x12, 0x41, 0x51, 0x07, 0x61,
       0x71, 0x13, 0x22, 0x32, 0x81, 0x08, 0x14, 0x42, 0x91, 0xA1, 0xB1, 0xC1, 0x09, 0x23, 0x33,
       0x52, 0xF0, 0x15, 0x62, 0x72, 0xD1, 0x0A, 0x16, 0x24, 0x34, 0xE1, 0x25, 0xF1, 0x17, 0x18,
       0x19, 0x1A, 0x26, 0x27, 0x28, 0x29, 0x2A, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A, 0x43, 0x44,
       0x45, 0x46, 0x47, 0x48, 0x49, 0x4A, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5A, 0x63,
       0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6A, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7A,
       0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8A, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
       0x98, 0x99, 0x9A, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xB2, 0xB3, 0xB4,
       0xB5, 0xB6, 0xB7, 0xB8, 0xB9, 0xBA, 0xC2, 0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA,
       0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8, 0xD9, 0xDA, 0xE2, 0xE3, 0xE4, 0xE5, 0xE6, 0xE7,
       0xE8, 0xE9, 0xEA, 0xF2, 0xF3, 0xF4, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA});
}

struct Node {
  std::uint64_t frequency = 0;
  int symbol = -1;  // leaves
  int parent = -1;
};

// Huffman's construction with two queues: leaves in order of frequency, and the inner nodes, which
// come into being in that order. Equal frequencies go by symbol, so that the result is one.
std::vector<Node> build_tree(std::vector<Node> leaves) {
  std::sort(leaves.begin(), leaves.end(), [](const Node& a, const Node& b) {
    return a.frequency != b.frequency ? a.frequency < b.frequency : a.symbol > b.symbol;
  });
  std::vector<Node> tree = std::move(leaves);
  const std::size_t count = tree.size();
  tree.reserve(2 * count);
  std::size_t leaf = 0, inner = count;
  const auto take = [&] {
    const bool from_leaves =
        leaf < count && (inner == tree.size() || tree[leaf].frequency <= tree[inner].frequency);
    const std::size_t taken = from_leaves ? leaf++ : inner++;
    tree[taken].parent = static_cast<int>(tree.size());
    return tree[taken].frequency;
  };
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t first = take(), second = take();
    tree.push_back({first + second});
  }
  return tree;
}

// How many codes have each length, unlimited.
std::vector<int> count_lengths(const std::vector<Node>& tree) {
  std::vector<int> depth(tree.size(), 0);
  std::vector<int> count(tree.size() + kLongest + 1, 0);
  for (std::size_t i = tree.size() - 1; i-- > 0;) {
    depth[i] = depth[static_cast<std::size_t>(tree[i].parent)] + 1;
    if (tree[i].symbol >= 0) ++count[static_cast<std::size_t>(depth[i])];
  }
  return count;
}

// T.81 figure K.3: a pair of the longest codes is taken away; its prefix serves one of the two, and
// a shorter code is split for the other and for the one that had it.
void limit_lengths(std::vector<int>& count) {
  for (std::size_t length = count.size() - 1; length > kLongest; --length) {
    while (count[length] > 0) {
      std::size_t shorter = length - 2;
      while (count[shorter] == 0) --shorter;
      count[length] -= 2;
      ++count[length - 1];
      count[shorter + 1] += 2;
      --count[shorter];
    }
  }
}

}  // namespace

const HuffmanTable& standard_huffman_table(CodeKind kind, bool chroma) {
  static const HuffmanTable dc[2] = {make_standard_dc(false), make_standard_dc(true)};
  static const HuffmanTable ac[2] = {make_standard_ac_luma(), make_standard_ac_chroma()};
  return (kind == CodeKind::dc ? dc : ac)[chroma];
}

HuffmanTable optimal_huffman_table(const std::array<std::uint32_t, 256>& frequency) {
  // One more symbol, the rarest, gets the code of ones only, which is then left out. Its number
  // puts it behind all others.
  constexpr int kReserved = 256;
  std::vector<Node> leaves = {{0, kReserved}};
  for (int symbol = 0; symbol < 256; ++symbol) {
    const std::uint32_t n = frequency[static_cast<std::size_t>(symbol)];
    if (n > 0) leaves.push_back({n, symbol});
  }
  const std::vector<Node> tree = build_tree(std::move(leaves));
  std::vector<int> count = count_lengths(tree);
  limit_lengths(count);
  HuffmanTable table;
  for (std::size_t length = 1; length <= kLongest; ++length) {
    table.count[length] = static_cast<std::uint8_t>(count[length]);
  }
  const auto longest =
      std::find_if(table.count.rbegin(), table.count.rend(), [](std::uint8_t n) { return n > 0; });
  if (longest != table.count.rend()) --*longest;
  // The leaves come first in the tree, by growing frequency; the most frequent get the shortest.
  for (std::size_t i = (tree.size() + 1) / 2; i-- > 0;) {
    if (tree[i].symbol != kReserved) {
      table.symbols.push_back(static_cast<std::uint8_t>(tree[i].symbol));
    }
  }
  return table;
}

std::array<HuffmanCode, 256> make_codes(const HuffmanTable& table) {
  std::array<HuffmanCode, 256> codes{};
  unsigned code = 0;
  std::size_t next = 0;
  for (std::size_t length = 1; length <= kLongest; ++length, code <<= 1) {
    for (int i = 0; i < table.count[length]; ++i, ++code) {
      codes[table.symbols[next++]] = {static_cast<std::uint16_t>(code),
                                      static_cast<std::uint8_t>(length)};
    }
  }
  return codes;
}

}  // namespace prep::image
