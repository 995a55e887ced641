// Huffman tables of a JPEG: the standard's and ones made for an image.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace prep::image {

enum class CodeKind { dc, ac };

// A table as its DHT segment has it: how many codes of 1 to 16 bits, and their symbols in order.
struct HuffmanTable {
  std::array<std::uint8_t, 17> count{};  // [0] is 0
  std::vector<std::uint8_t> symbols;
};

// T.81 tables K.3 to K.6; luma's and chroma's.
const HuffmanTable& standard_huffman_table(CodeKind kind, bool chroma);

// The table whose codes take the fewest bits for symbols of these frequencies, among those with no
// code above 16 bits and none of ones only (T.81 annex C). Symbols that do not occur get no code.
HuffmanTable optimal_huffman_table(const std::array<std::uint32_t, 256>& frequency);

// A symbol's code, right-aligned; length 0: it has none.
struct HuffmanCode {
  std::uint16_t bits = 0;
  std::uint8_t length = 0;
};
std::array<HuffmanCode, 256> make_codes(const HuffmanTable& table);

}  // namespace prep::image
