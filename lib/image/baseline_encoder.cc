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
constexpr std::size_t kMostTokenBytes = 4;  // 16 bits of code and 11 that follow
constexpr std::size_t kWrittenAhead = 8;    // by BitWriter
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

// A block as symbols (T.81 F.1.2): calls put_dc and put_ac with each symbol, its lower half, which
// is the number of bits that follow, and these bits.
template <typename PutDc, typename PutAc>
inline void encode_block(const DctBlock& levels, std::uint64_t nonzero, int& last_dc,
                         const PutDc& put_dc, const PutAc& put_ac) {
  const int difference = levels[0] - last_dc;
  last_dc = levels[0];
  const std::uint32_t dc_size = size_of(difference);
  put_dc(dc_size, dc_size, bits_of(difference, dc_size));
  unsigned at = 0;
  for (std::uint64_t left = nonzero & ~std::uint64_t{1}; left != 0; left &= left - 1) {
    const auto next = static_cast<unsigned>(std::countr_zero(left));
    unsigned run = next - at - 1;
    for (; run > 15; run -= 16) put_ac(kRunOf16, 0, 0);
    const int level = levels[kZigzag[next]];
    const std::uint32_t size = size_of(level);
    put_ac(run << 4 | size, size, bits_of(level, size));
    at = next;
  }
  if (at < 63) put_ac(kEndOfBlock, 0, 0);
}

// Bits to bytes, not stuffed yet. What is whole is written at once, without a branch, since when a
// register is full cannot be foretold.
class BitWriter {
 public:
  // Goes on behind `out` with a byte's first `used` bits, which are `pending`'s highest.
  BitWriter(std::uint8_t* out, std::uint64_t pending, unsigned used)
      : out_(out), pending_(pending), used_(used) {}

  // length 1 to 27: a code and what follows it. Writes 8 bytes, most of them in advance.
  void put(std::uint32_t bits, unsigned length) {
    used_ += length;
    pending_ |= static_cast<std::uint64_t>(bits) << (64 - used_);
    std::uint64_t word = pending_;
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    std::memcpy(out_, &word, sizeof word);
    out_ += used_ / 8;
    pending_ <<= used_ & ~7u;
    used_ %= 8;
  }

  // Fills the last byte up with ones.
  void finish() {
    if (used_ > 0) put((1u << (8 - used_)) - 1, 8 - used_);
  }

  std::uint8_t* out() const { return out_; }
  std::uint64_t pending() const { return pending_; }
  unsigned used() const { return used_; }

 private:
  std::uint8_t* out_;
  std::uint64_t pending_;
  unsigned used_;
};

// Appends entropy-coded data, a zero behind every FF.
void put_stuffed(std::vector<std::uint8_t>& out, const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* const end = data + size;
  while (const void* const found = std::memchr(data, 0xFF, static_cast<std::size_t>(end - data))) {
    const auto* const behind = static_cast<const std::uint8_t*>(found) + 1;
    out.insert(out.end(), data, behind);
    out.push_back(0);
    data = behind;
  }
  out.insert(out.end(), data, end);
}

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

void put_up_to_frame(std::vector<std::uint8_t>& out, const Frame& frame, ByteView metadata) {
  put_marker(out, kStart);
  out.insert(out.end(), metadata.begin(), metadata.end());
  put_quant_tables(out, frame);
  put_frame_header(out, frame);
}

// Calls `visit` with the kind of each Huffman table and whether it is chroma's.
template <typename Visit>
void for_each_table(const Frame& frame, const Visit& visit) {
  for (const bool chroma : {false, true}) {
    if (chroma && frame.components.size() == 1) break;
    for (const CodeKind kind : {CodeKind::dc, CodeKind::ac}) visit(kind, chroma);
  }
}

struct StandardCodes {
  std::array<HuffmanCode, 256> dc, ac;
};

const StandardCodes& standard_codes(bool chroma) {
  static const auto make = [](bool of_chroma) {
    return StandardCodes{make_codes(standard_huffman_table(CodeKind::dc, of_chroma)),
                         make_codes(standard_huffman_table(CodeKind::ac, of_chroma))};
  };
  static const StandardCodes codes[2] = {make(false), make(true)};
  return codes[chroma];
}

// Room for `needed` elements, of which the first `size` are kept.
template <typename T>
void grow(std::unique_ptr<T[]>& memory, std::size_t size, std::size_t& capacity,
          std::size_t needed) {
  if (needed <= capacity) return;
  const std::size_t larger = std::max(needed, capacity + capacity / 2);
  std::unique_ptr<T[]> grown(new T[larger]);  // not initialised
  std::copy_n(memory.get(), size, grown.get());
  memory = std::move(grown);
  capacity = larger;
}

template <typename Stream>
void add_flat(Stream& stream, int component, const LastDc& last_dc) {
  DctBlock flat = {};
  flat[0] = static_cast<std::int16_t>(last_dc[static_cast<std::size_t>(component)]);
  stream.add(component, flat, 0);
}

}  // namespace

// ---- TokenStream

void TokenStream::clear() {
  size_ = 0;
  last_dc_ = {};
  frequency_ = {};
}

void TokenStream::reserve(std::size_t blocks) {
  grow(tokens_, size_, capacity_, size_ + blocks * kMostTokens);
}

void TokenStream::add(int component, const DctBlock& levels, std::uint64_t nonzero) {
  const bool chroma = component > 0;
  Token* to = tokens_.get() + size_;
  const auto putter = [&](CodeKind kind) {
    const std::size_t index = table_index(kind, chroma);
    const Token table = static_cast<Token>(index) << 24;
    return [&to, &frequency = frequency_[index], table](Token symbol, Token, Token bits) {
      ++frequency[symbol];
      *to++ = table | symbol << 16 | bits;
    };
  };
  encode_block(levels, nonzero, last_dc_[static_cast<std::size_t>(component)], putter(CodeKind::dc),
               putter(CodeKind::ac));
  size_ = static_cast<std::size_t>(to - tokens_.get());
}

void TokenStream::add_padding(int component) { add_flat(*this, component, last_dc_); }

void TokenStream::write(const std::array<std::array<HuffmanCode, 256>, 4>& codes,
                        std::vector<std::uint8_t>& out) {
  grow(bytes_, 0, bytes_capacity_, size_ * kMostTokenBytes + kWrittenAhead);
  BitWriter writer(bytes_.get(), 0, 0);
  for (std::size_t i = 0; i < size_; ++i) {
    const Token token = tokens_[i];
    const HuffmanCode code = codes[token >> 24][token >> 16 & 255];
    const unsigned follow = token >> 16 & 15;
    writer.put(static_cast<std::uint32_t>(code.bits) << follow | (token & 0xFFFF),
               code.length + follow);
  }
  writer.finish();
  put_stuffed(out, bytes_.get(), static_cast<std::size_t>(writer.out() - bytes_.get()));
}

// ---- CodeStream

void CodeStream::clear() {
  size_ = 0;
  pending_ = 0;
  used_ = 0;
  last_dc_ = {};
}

void CodeStream::reserve(std::size_t blocks) {
  grow(bytes_, size_, capacity_, size_ + blocks * kMostTokens * kMostTokenBytes + kWrittenAhead);
}

void CodeStream::add(int component, const DctBlock& levels, std::uint64_t nonzero) {
  const StandardCodes& codes = standard_codes(component > 0);
  BitWriter writer(bytes_.get() + size_, pending_, used_);
  const auto putter = [&writer](const std::array<HuffmanCode, 256>& table) {
    return [&](std::uint32_t symbol, std::uint32_t size, std::uint32_t bits) {
      const HuffmanCode code = table[symbol];
      writer.put(static_cast<std::uint32_t>(code.bits) << size | bits, code.length + size);
    };
  };
  encode_block(levels, nonzero, last_dc_[static_cast<std::size_t>(component)], putter(codes.dc),
               putter(codes.ac));
  size_ = static_cast<std::size_t>(writer.out() - bytes_.get());
  pending_ = writer.pending();
  used_ = writer.used();
}

void CodeStream::add_padding(int component) { add_flat(*this, component, last_dc_); }

void CodeStream::write(std::vector<std::uint8_t>& out) const {
  BitWriter writer(bytes_.get() + size_, pending_, used_);
  writer.finish();
  put_stuffed(out, bytes_.get(), static_cast<std::size_t>(writer.out() - bytes_.get()));
}

// ---- Files

Bytes write_baseline(const Frame& frame, ByteView metadata, TokenStream& scan) {
  std::vector<std::uint8_t> out;
  put_up_to_frame(out, frame, metadata);
  std::array<std::array<HuffmanCode, 256>, 4> codes{};
  for_each_table(frame, [&](CodeKind kind, bool chroma) {
    const std::size_t index = TokenStream::table_index(kind, chroma);
    const HuffmanTable table = optimal_huffman_table(scan.frequencies()[index]);
    codes[index] = make_codes(table);
    put_huffman_table(out, kind, chroma, table);
  });
  put_scan_header(out, frame.components.size());
  scan.write(codes, out);
  put_marker(out, kEnd);
  return Bytes::take(std::move(out));
}

Bytes write_baseline(const Frame& frame, ByteView metadata, const CodeStream& scan) {
  std::vector<std::uint8_t> out;
  put_up_to_frame(out, frame, metadata);
  for_each_table(frame, [&](CodeKind kind, bool chroma) {
    put_huffman_table(out, kind, chroma, standard_huffman_table(kind, chroma));
  });
  put_scan_header(out, frame.components.size());
  scan.write(out);
  put_marker(out, kEnd);
  return Bytes::take(std::move(out));
}

}  // namespace prep::image
