#include "lib/image/baseline_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/image/quant_tables.h"

namespace prep::image {
namespace {

constexpr unsigned kLongestCode = 16;
constexpr unsigned kLargestDc = 11, kLargestAc = 10;  // in bits, of 8-bit pictures
constexpr unsigned kLastCoefficient = 63;
constexpr int kMostBlocks = 10;  // in an MCU
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kMarker = 0xFF, kFirstRestart = 0xD0, kEnd = 0xD9;

// No block takes more bits than 64 of the longest codes with the most bits behind them, so that
// reading may be checked once a block, with so many bytes of zeros behind the data.
constexpr std::size_t kBlockBytes = 64 * (kLongestCode + kLargestDc) / 8;
constexpr std::size_t kReadAtOnce = 8;
constexpr std::size_t kPadding = kBlockBytes + 2 * kReadAtOnce;

// The natural order by zigzag position, and room for a run that leads beyond the block's end.
constexpr std::size_t kLongestRun = 16;
using Order = std::array<std::uint8_t, 64 + kLongestRun>;
Order make_order() {
  Order order;
  order.fill(kLastCoefficient);
  std::copy(kZigzag.begin(), kZigzag.end(), order.begin());
  return order;
}
const Order kOrder = make_order();

// Bits out of bytes, from the highest one on.
class BitReader {
 public:
  BitReader() = default;
  // kPadding bytes behind `end` must be readable where left() is looked at once a block.
  BitReader(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {}

  // Makes at least 56 bits ready. The bytes to load are known since the last time, so that the
  // memory's latency is in nobody's way.
  void refill() {
    std::uint64_t word;
    std::memcpy(&word, at_, sizeof word);
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    bits_ |= word >> count_;
    at_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  std::uint64_t bits() const { return bits_; }
  void skip(unsigned count) {
    bits_ <<= count;
    count_ -= count;
  }
  // Bits left over, less than 0 where more were taken than there are.
  std::ptrdiff_t left() const { return (end_ - at_) * 8 + static_cast<std::ptrdiff_t>(count_); }

 private:
  const std::uint8_t *at_ = nullptr, *end_ = nullptr;
  std::uint64_t bits_ = 0;
  unsigned count_ = 0;
};

// T.81 F.2.2.1: the value whose bits end the code at the start of `bits`.
inline int value_of(std::uint64_t bits, HuffmanLookup::Entry entry) {
  const std::uint64_t value = bits << (entry.total() - entry.size());
  const int magnitude = static_cast<int>(value >> 1 >> (63 - entry.size()));
  // Where the first bit is 0, the value is negative.
  const int negative = static_cast<int>(~static_cast<std::int64_t>(value) >> 63);
  return magnitude + (negative & (1 - (1 << entry.size())));
}

}  // namespace

// ---- HuffmanLookup

bool HuffmanLookup::assign(CodeKind kind, const HuffmanTable& table) {
  if (!table.symbols.empty() && table.count == table_.count && table.symbols == table_.symbols) {
    return true;
  }
  table_ = {};
  short_ = {};
  std::uint32_t code = 0;
  std::size_t next = 0;
  for (unsigned length = 1; length <= kLongestCode; ++length, code <<= 1) {
    first_[length] = static_cast<std::int32_t>(next) - static_cast<std::int32_t>(code);
    for (int i = 0; i < table.count[length]; ++i, ++code, ++next) {
      if (next >= table.symbols.size() || next >= entries_.size()) return false;
      const unsigned symbol = table.symbols[next], size = symbol & 15, run = symbol >> 4;
      const bool usual = kind == CodeKind::dc
                             ? symbol <= kLargestDc
                             : size <= kLargestAc && (size > 0 || run == 0 || run == 15);
      if (!usual) return false;
      const Entry entry(length + size, size, kind == CodeKind::dc || symbol == 0 ? 0 : run + 1);
      entries_[next] = entry;
      if (length <= kShort) {
        const unsigned free = kShort - length;
        if ((code + 1) << free > short_.size()) return false;
        std::fill_n(short_.begin() + (code << free), std::size_t{1} << free, entry);
      }
    }
    // As libjpeg has it, which refuses a code of ones only.
    if (table.count[length] > 0 && code >= 1u << length) return false;
    end_[length] = code << (kLongestCode - length);
  }
  if (next == 0) return false;
  table_ = table;
  return true;
}

HuffmanLookup::Entry HuffmanLookup::find_long(std::uint64_t bits) const {
  const auto code = static_cast<std::uint32_t>(bits >> (64 - kLongestCode));
  for (unsigned length = kShort + 1; length <= kLongestCode; ++length) {
    if (code < end_[length]) {
      const auto right = static_cast<std::int32_t>(code >> (kLongestCode - length));
      return entries_[static_cast<std::size_t>(first_[length] + right)];
    }
  }
  return {};
}

// ---- BaselineDecoder

// One scan on its way.
class BaselineDecoder::Run {
 public:
  Run(BaselineDecoder& decoder, const BaselineScan& scan)
      : decoder_(decoder), scan_(scan), count_(scan.components.size()) {}

  bool decode();

 private:
  bool prepare();
  bool start_interval();
  bool next_interval();
  bool ends_before(int marker) const;
  void clear_blocks(int mcu_y);
  bool decode_mcu(int mcu_x, int mcu_y);
  bool decode_block(std::size_t component, DctBlock& block);

  BaselineDecoder& decoder_;
  const BaselineScan& scan_;
  const std::size_t count_;
  BitReader reader_;
  std::array<int, kMostComponents> last_dc_{};
  const std::uint8_t* at_ = nullptr;  // of the data as it stands in the file
  int restarts_ = 0;
  DctBlock outside_;  // a block that only fills up an MCU
};

bool BaselineDecoder::Run::prepare() {
  if (count_ < 1 || count_ > kMostComponents || scan_.data.size() > kMostBytes) return false;
  std::int64_t blocks = 0;
  for (const ScanComponent& component : scan_.components) blocks += component.h * component.v;
  if (count_ > 1 && blocks > kMostBlocks) return false;
  blocks *= std::int64_t{scan_.mcus_across} * scan_.mcus_down;
  // A block takes two codes. What claims to have more than the data can hold gets no memory.
  if (static_cast<std::uint64_t>(blocks) > scan_.data.size() * 4) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const ScanComponent& component = scan_.components[i];
    if (!decoder_.dc_[i].assign(CodeKind::dc, component.dc)) return false;
    if (!decoder_.ac_[i].assign(CodeKind::ac, component.ac)) return false;
    constexpr int kBlock = sizeof(DctBlock);
    decoder_.planes_[i] = decoder_.memory_[i].shape(component.across * kBlock, component.down);
  }
  at_ = scan_.data.data();
  return true;
}

// Copies the data up to the next marker, without the zero bytes that are stuffed behind FFs.
bool BaselineDecoder::Run::start_interval() {
  const std::uint8_t* const end = scan_.data.data() + scan_.data.size();
  const auto size = static_cast<std::size_t>(end - at_);
  std::uint8_t* const bits = decoder_.bits_.shape(static_cast<int>(size + kPadding), 1).data;
  std::uint8_t* to = bits;
  for (;;) {
    const void* const found = std::memchr(at_, kMarker, static_cast<std::size_t>(end - at_));
    if (!found) return false;
    const auto* const ff = static_cast<const std::uint8_t*>(found);
    if (end - ff < 2) return false;
    const bool stuffed = ff[1] == 0;
    const std::size_t run = static_cast<std::size_t>(ff - at_) + (stuffed ? 1 : 0);
    std::memcpy(to, at_, run);
    to += run;
    at_ = ff;
    if (!stuffed) break;
    at_ += 2;
  }
  std::memset(to, 0, kPadding);
  reader_ = BitReader(bits, to);
  last_dc_ = {};
  return true;
}

// Whether all bits were used up but for the last byte's padding, and this marker follows.
bool BaselineDecoder::Run::ends_before(int marker) const {
  const std::ptrdiff_t left = reader_.left();
  return left >= 0 && left < 8 && at_[1] == marker;
}

bool BaselineDecoder::Run::decode_block(std::size_t component, DctBlock& block) {
  BitReader reader = reader_;
  reader.refill();
  const HuffmanLookup::Entry dc = decoder_.dc_[component].find(reader.bits());
  if (dc.none()) return false;
  const int level = last_dc_[component] + value_of(reader.bits(), dc);
  last_dc_[component] = level;
  block[0] = static_cast<std::int16_t>(level);
  if (block[0] != level) return false;
  reader.skip(dc.total());
  const HuffmanLookup& ac = decoder_.ac_[component];
  unsigned at = 0;
  // True while there is more to come.
  const auto decode_one = [&] {
    const HuffmanLookup::Entry entry = ac.find(reader.bits());
    at += entry.advance();
    if (entry.size() > 0) {
      block[kOrder[at]] = static_cast<std::int16_t>(value_of(reader.bits(), entry));
    } else if (entry.advance() == 0) {
      if (entry.none()) at = kOrder.size();
      reader.skip(entry.total());
      return false;
    }
    reader.skip(entry.total());
    return at < kLastCoefficient;
  };
  // Two codes and what follows them fit in the register.
  while (decode_one()) {
    reader.refill();
    if (!decode_one()) break;
  }
  reader_ = reader;
  return at <= kLastCoefficient && reader.left() >= 0;
}

// Many blocks at once, while they are few enough to stay in the cache until they are filled.
void BaselineDecoder::Run::clear_blocks(int mcu_y) {
  for (std::size_t i = 0; i < count_; ++i) {
    const ScanComponent& component = scan_.components[i];
    const int first = mcu_y * component.v;
    for (int y = first; y < std::min(first + component.v, component.down); ++y) {
      std::memset(decoder_.planes_[i].row(y), 0,
                  static_cast<std::size_t>(component.across) * sizeof(DctBlock));
    }
  }
}

bool BaselineDecoder::Run::decode_mcu(int mcu_x, int mcu_y) {
  for (std::size_t i = 0; i < count_; ++i) {
    const ScanComponent& component = scan_.components[i];
    for (int v = 0; v < component.v; ++v) {
      const int y = mcu_y * component.v + v;
      for (int h = 0; h < component.h; ++h) {
        const int x = mcu_x * component.h + h;
        const bool inside = x < component.across && y < component.down;
        DctBlock& block =
            inside ? reinterpret_cast<DctBlock*>(decoder_.planes_[i].row(y))[x] : outside_;
        if (!decode_block(i, block)) return false;
      }
    }
  }
  return true;
}

bool BaselineDecoder::Run::next_interval() {
  if (!ends_before(kFirstRestart + restarts_++ % 8)) return false;
  at_ += 2;
  return start_interval();
}

bool BaselineDecoder::Run::decode() {
  if (!prepare() || !start_interval()) return false;
  const int interval = scan_.restart_interval;
  int left = interval;
  for (int y = 0; y < scan_.mcus_down; ++y) {
    clear_blocks(y);
    for (int x = 0; x < scan_.mcus_across; ++x) {
      if (interval > 0 && left == 0) {
        if (!next_interval()) return false;
        left = interval;
      }
      if (!decode_mcu(x, y)) return false;
      --left;
    }
  }
  return ends_before(kEnd);
}

bool BaselineDecoder::decode(const BaselineScan& scan) { return Run(*this, scan).decode(); }

void BaselineDecoder::trim(std::size_t keep) {
  for (PlaneBuffer& memory : memory_) memory.trim(keep);
  bits_.trim(keep);
}

}  // namespace prep::image
