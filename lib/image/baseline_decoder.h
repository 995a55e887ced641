// The entropy-coded data of an ordinary JPEG to coefficients, in 0.7 of libjpeg's time.
//
// Ordinary is: Huffman-coded, sequential, 8 bits a sample, one scan of all components. Where a file
// is anything else, or where anything in it is irregular, the answer is no, and libjpeg has to be
// asked: what is an error, worth a warning or can be mended is decided in one place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/dct_requantize.h"
#include "lib/image/huffman_code.h"
#include "lib/image/plane.h"

namespace prep::image {

struct ScanComponent {
  int h = 1, v = 1;          // blocks in an MCU
  int across = 0, down = 0;  // blocks that hold something of the picture
  HuffmanTable dc, ac;
};

struct BaselineScan {
  int mcus_across = 0, mcus_down = 0;
  int restart_interval = 0;  // in MCUs; 0: none
  std::vector<ScanComponent> components;
  ByteView data;  // from behind the scan's header to behind the end-of-image marker
};

// Codes of one table, ready to be looked up.
class HuffmanLookup {
 public:
  // What to do about a code, in one word, since it is the decoder's innermost load: skip its total
  // bits, of which the last ones, as many as its size, are a coefficient's, and go on by `advance`
  // coefficients. Size 0 stands for no coefficient. 0 is no code of this table, or a long one.
  class Entry {
   public:
    Entry() = default;
    Entry(unsigned total, unsigned size, unsigned advance)
        : word_(total | size << 8 | advance << 16) {}
    bool none() const { return word_ == 0; }
    unsigned total() const { return word_ & 0xFF; }
    unsigned size() const { return word_ >> 8 & 0xFF; }
    unsigned advance() const { return word_ >> 16; }

   private:
    std::uint32_t word_ = 0;
  };

  // False where the table can't be a sound baseline file's.
  bool assign(CodeKind kind, const HuffmanTable& table);
  // By the next bits, from the highest one on.
  Entry find(std::uint64_t bits) const {
    const Entry entry = short_[bits >> (64 - kShort)];
    return entry.none() ? find_long(bits) : entry;
  }

 private:
  static constexpr unsigned kShort = 9;  // more would cost cache, and save nothing measurable

  Entry find_long(std::uint64_t bits) const;

  HuffmanTable table_;  // what all this was made of
  std::array<Entry, 1u << kShort> short_{};
  // By length: the first code that is longer, left-aligned in 16 bits; where the symbols are.
  std::array<std::uint32_t, 17> end_{};
  std::array<std::int32_t, 17> first_{};
  std::array<Entry, 256> entries_{};  // in the order of the codes
};

// Holds memory that is used again from image to image.
class BaselineDecoder {
 public:
  // False where anything is not as it should be; then there are no rows.
  bool decode(const BaselineScan& scan);
  // Row `y` of a component's blocks, of the scan decoded last.
  const DctBlock* row(std::size_t component, int y) const {
    return reinterpret_cast<const DctBlock*>(planes_[component].row(y));
  }
  // Gives memory back when more than `keep` bytes are held in one piece.
  void trim(std::size_t keep);

 private:
  static constexpr std::size_t kMostComponents = 4;
  class Run;

  std::array<HuffmanLookup, kMostComponents> dc_, ac_;
  std::array<PlaneBuffer, kMostComponents> memory_;
  std::array<Plane, kMostComponents> planes_{};
  PlaneBuffer bits_;  // entropy-coded data without stuffing
};

}  // namespace prep::image
