#include "lib/image/baseline_encoder.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace prep::image {
namespace {

// DC, 63 AC coefficients; a run of zeros too long for one symbol takes the place of 16
// coefficients, and an end of block that of one.
constexpr std::size_t kMostTokens = 64;
constexpr std::uint32_t kRunOf16 = 0xF0, kEndOfBlock = 0x00;

constexpr int kBaseline = 0xC0, kHuffmanTables = 0xC4, kStart = 0xD8, kEnd = 0xD9, kScan = 0xDA,
              kQuantTables = 0xDB;

// T.81 F.1.2.1: a value's size in bits, and those bits; negative values are one less, so that
// their first bit is 0.
inline std::uint32_t size_of(int value) {
  return static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(std::abs(value))));
}
inline std::uint32_t bits_of(int value, std::uint32_t size) {
  return static_cast<std::uint32_t>(value + (value >> 31)) & ((1u << size) - 1);
}

// Entropy-coded bytes, gathered in a register.
class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* out) : out_(out) {}

  // length <= 27: a code and what follows it.
  void put(std::uint32_t bits, unsigned length) {
    free_ -= static_cast<int>(length);
    if (free_ < 0) {
      // The part that still fits, and the rest into an empty register.
      register_ = register_ << (static_cast<int>(length) + free_) |
                  static_cast<std::uint64_t>(bits) >> -free_;
      flush(register_);
      register_ = bits;
      free_ += 64;
      return;
    }
    register_ = register_ << length | bits;
  }

  std::uint8_t* finish() {
    const unsigned used = 64u - static_cast<unsigned>(free_);
    const unsigned padding = (8 - used % 8) % 8;
    register_ = register_ << padding | ((1u << padding) - 1);
    for (unsigned left = used + padding; left >= 8; left -= 8) {
      put_byte(static_cast<std::uint8_t>(register_ >> (left - 8)));
    }
    return out_;
  }

 private:
  void put_byte(std::uint8_t byte) {
    *out_++ = byte;
    if (byte == 0xFF) *out_++ = 0;
  }

  void flush(std::uint64_t word) {
    // A byte of ones is one that its complement has as zero; the trick finds every zero byte, and
    // now and then one more.
    constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
    const std::uint64_t complement = ~word;
    if (((complement - kOnes) & word & kHigh) == 0) {
      for (int i = 0; i < 8; ++i) out_[i] = static_cast<std::uint8_t>(word >> (56 - 8 * i));
      out_ += 8;
      return;
    }
    for (int shift = 56; shift >= 0; shift -= 8) put_byte(static_cast<std::uint8_t>(word >> shift));
  }

  std::uint64_t register_ = 0;
  int free_ = 64;
  std::uint8_t* out_;
};

void put16(std::vector<std::uint8_t>& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_marker(std::vector<std::uint8_t>& out, int marker) {
  out.push_back(0xFF);
  out.push_back(static_cast<std::uint8_t>(marker));
}

void put_segment(std::vector<std::uint8_t>& out, int marker,
                 const std::vector<std::uint8_t>& payload) {
  put_marker(out, marker);
  put16(out, payload.size() + 2);
  out.insert(out.end(), payload.begin(), payload.end());
}

// The number of the table that component `i` uses: its own, or an earlier one's equal to it.
std::size_t quant_number(const Frame& frame, std::size_t i) {
  std::size_t number = 0;
  for (std::size_t k = 0; k < i; ++k) {
    if (frame.components[k].quant == frame.components[i].quant) return quant_number(frame, k);
    number = std::max(number, quant_number(frame, k) + 1);
  }
  return number;
}

void put_quant_tables(std::vector<std::uint8_t>& out, const Frame& frame) {
  std::size_t written = 0;
  for (std::size_t i = 0; i < frame.components.size(); ++i) {
    const std::size_t number = quant_number(frame, i);
    if (number < written) continue;
    ++written;
    std::vector<std::uint8_t> payload{static_cast<std::uint8_t>(number)};
    for (const std::uint8_t natural : kZigzag) {
      payload.push_back(static_cast<std::uint8_t>(frame.components[i].quant[natural]));
    }
    put_segment(out, kQuantTables, payload);
  }
}

void put_frame_header(std::vector<std::uint8_t>& out, const Frame& frame) {
  std::vector<std::uint8_t> payload{8};
  put16(payload, static_cast<std::size_t>(frame.height));
  put16(payload, static_cast<std::size_t>(frame.width));
  payload.push_back(static_cast<std::uint8_t>(frame.components.size()));
  for (std::size_t i = 0; i < frame.components.size(); ++i) {
    const FrameComponent& component = frame.components[i];
    payload.push_back(static_cast<std::uint8_t>(i + 1));
    payload.push_back(static_cast<std::uint8_t>(component.h << 4 | component.v));
    payload.push_back(static_cast<std::uint8_t>(quant_number(frame, i)));
  }
  put_segment(out, kBaseline, payload);
}

void put_huffman_table(std::vector<std::uint8_t>& out, CodeKind kind, bool chroma,
                       const HuffmanTable& table) {
  std::vector<std::uint8_t> payload{
      static_cast<std::uint8_t>((kind == CodeKind::ac ? 0x10 : 0) | (chroma ? 1 : 0))};
  payload.insert(payload.end(), table.count.begin() + 1, table.count.end());
  payload.insert(payload.end(), table.symbols.begin(), table.symbols.end());
  put_segment(out, kHuffmanTables, payload);
}

void put_scan_header(std::vector<std::uint8_t>& out, std::size_t components) {
  std::vector<std::uint8_t> payload{static_cast<std::uint8_t>(components)};
  for (std::size_t i = 0; i < components; ++i) {
    payload.push_back(static_cast<std::uint8_t>(i + 1));
    payload.push_back(i == 0 ? 0x00 : 0x11);
  }
  payload.insert(payload.end(), {0, 63, 0});
  put_segment(out, kScan, payload);
}

}  // namespace

void TokenStream::clear() {
  size_ = 0;
  last_dc_ = {};
}

void TokenStream::reserve(std::size_t blocks) {
  const std::size_t needed = size_ + blocks * kMostTokens;
  if (needed <= capacity_) return;
  const std::size_t capacity = std::max(needed, capacity_ + capacity_ / 2);
  std::unique_ptr<Token[]> larger(new Token[capacity]);
  std::copy_n(tokens_.get(), size_, larger.get());
  tokens_ = std::move(larger);
  capacity_ = capacity;
}

void TokenStream::add(int component, const DctBlock& levels, std::uint64_t nonzero) {
  const bool chroma = component > 0;
  const Token dc_table = static_cast<Token>(table_index(CodeKind::dc, chroma)) << 24;
  const Token ac_table = static_cast<Token>(table_index(CodeKind::ac, chroma)) << 24;
  Token* to = tokens_.get() + size_;
  int& last_dc = last_dc_[static_cast<std::size_t>(component)];
  const int difference = levels[0] - last_dc;
  last_dc = levels[0];
  const std::uint32_t dc_size = size_of(difference);
  *to++ = dc_table | dc_size << 16 | bits_of(difference, dc_size);
  unsigned at = 0;
  for (std::uint64_t left = nonzero & ~std::uint64_t{1}; left != 0; left &= left - 1) {
    const auto next = static_cast<unsigned>(std::countr_zero(left));
    unsigned run = next - at - 1;
    for (; run > 15; run -= 16) *to++ = ac_table | kRunOf16 << 16;
    const int level = levels[kZigzag[next]];
    const std::uint32_t size = size_of(level);
    *to++ = ac_table | run << 20 | size << 16 | bits_of(level, size);
    at = next;
  }
  if (at < 63) *to++ = ac_table | kEndOfBlock << 16;
  size_ = static_cast<std::size_t>(to - tokens_.get());
}

void TokenStream::add_padding(int component) {
  DctBlock flat = {};
  flat[0] = static_cast<std::int16_t>(last_dc_[static_cast<std::size_t>(component)]);
  add(component, flat, 0);
}

std::array<std::array<std::uint32_t, 256>, 4> TokenStream::count_symbols() const {
  std::array<std::array<std::uint32_t, 256>, 4> frequency{};
  for (std::size_t i = 0; i < size_; ++i) ++frequency[tokens_[i] >> 24][tokens_[i] >> 16 & 255];
  return frequency;
}

void TokenStream::write(const std::array<std::array<HuffmanCode, 256>, 4>& codes,
                        std::vector<std::uint8_t>& out) const {
  // 16 bits of code and 11 that follow, every byte of them stuffed.
  const std::size_t before = out.size();
  out.resize(before + size_ * 7 + 16);
  BitWriter writer(out.data() + before);
  for (std::size_t i = 0; i < size_; ++i) {
    const Token token = tokens_[i];
    const HuffmanCode code = codes[token >> 24][token >> 16 & 255];
    const unsigned follow = token >> 16 & 15;
    writer.put(static_cast<std::uint32_t>(code.bits) << follow | (token & 0xFFFF),
               code.length + follow);
  }
  out.resize(static_cast<std::size_t>(writer.finish() - out.data()));
}

Bytes write_baseline(const Frame& frame, ByteView metadata, const TokenStream& tokens,
                     bool optimize) {
  std::vector<std::uint8_t> out;
  put_marker(out, kStart);
  out.insert(out.end(), metadata.begin(), metadata.end());
  put_quant_tables(out, frame);
  put_frame_header(out, frame);
  std::array<std::array<std::uint32_t, 256>, 4> frequency;
  if (optimize) frequency = tokens.count_symbols();
  std::array<std::array<HuffmanCode, 256>, 4> codes{};
  for (const bool chroma : {false, true}) {
    if (chroma && frame.components.size() == 1) break;
    for (const CodeKind kind : {CodeKind::dc, CodeKind::ac}) {
      const std::size_t index = TokenStream::table_index(kind, chroma);
      const HuffmanTable table =
          optimize ? optimal_huffman_table(frequency[index]) : standard_huffman_table(kind, chroma);
      codes[index] = make_codes(table);
      put_huffman_table(out, kind, chroma, table);
    }
  }
  put_scan_header(out, frame.components.size());
  tokens.write(codes, out);
  put_marker(out, kEnd);
  return Bytes::take(std::move(out));
}

}  // namespace prep::image
