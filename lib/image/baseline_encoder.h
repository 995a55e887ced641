// Quantized blocks to a baseline JPEG of one scan. With the standard Huffman tables blocks become
// bits at once. With tables made for the image they become tokens first, so that the symbols'
// frequencies are known before the first bit, and no second pass over the coefficients is needed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/dct_requantize.h"
#include "lib/image/huffman_code.h"
#include "lib/image/quant_tables.h"

namespace prep::image {

struct FrameComponent {
  int h = 1, v = 1;  // sampling factors
  QuantTable quant{};
};

// Grey, or Y, Cb and Cr. The components' ids are 1, 2, 3.
struct Frame {
  int width = 0, height = 0;
  std::vector<FrameComponent> components;
};

// What codes a scan's DC levels are differences to; by component.
using LastDc = std::array<int, 3>;

// The symbols of a scan with the bits that follow each. Components 1 and 2 share their tables.
class TokenStream {
 public:
  // Forgets the last image's, but not its memory.
  void clear();
  // Makes room for this many blocks; add() relies on it.
  void reserve(std::size_t blocks);
  // Bit i of `nonzero` is set where the i-th coefficient in zigzag order is not 0; bit 0 is not
  // looked at.
  void add(int component, const DctBlock& levels, std::uint64_t nonzero);
  // A block that only fills up an MCU: like the component's last one in the mean, and flat.
  void add_padding(int component);

  // How often each table's symbols occur; tables by table_index().
  const std::array<std::array<std::uint32_t, 256>, 4>& frequencies() const { return frequency_; }
  // Entropy-coded data, bytes FF stuffed, the last byte filled up with ones.
  // `codes` by table_index(). Appends to `out`.
  void write(const std::array<std::array<HuffmanCode, 256>, 4>& codes,
             std::vector<std::uint8_t>& out);

  std::size_t memory() const { return capacity_ * sizeof(Token) + bytes_capacity_; }

  static std::size_t table_index(CodeKind kind, bool chroma) {
    return (chroma ? 2u : 0u) + (kind == CodeKind::ac ? 1u : 0u);
  }

 private:
  // table << 24 | symbol << 16 | the bits that follow the code; how many is the symbol's lower
  // half.
  using Token = std::uint32_t;

  std::unique_ptr<Token[]> tokens_;
  std::size_t size_ = 0, capacity_ = 0;
  std::unique_ptr<std::uint8_t[]> bytes_;  // scratch of write()
  std::size_t bytes_capacity_ = 0;
  std::array<std::array<std::uint32_t, 256>, 4> frequency_{};
  LastDc last_dc_{};
};

// The same in the codes of the standard tables.
class CodeStream {
 public:
  void clear();
  void reserve(std::size_t blocks);
  void add(int component, const DctBlock& levels, std::uint64_t nonzero);
  void add_padding(int component);
  // As TokenStream::write().
  void write(std::vector<std::uint8_t>& out) const;

  std::size_t memory() const { return capacity_; }

 private:
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
  std::uint64_t pending_ = 0;  // bits that fill no byte yet, from the highest one on
  unsigned used_ = 0;          // how many they are
  LastDc last_dc_{};
};

// A whole file: SOI, `metadata` (segments as they shall stand in it), tables, frame, scan, EOI.
Bytes write_baseline(const Frame& frame, ByteView metadata, TokenStream& scan);
Bytes write_baseline(const Frame& frame, ByteView metadata, const CodeStream& scan);

}  // namespace prep::image
