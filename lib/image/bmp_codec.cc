#include "lib/image/bmp_codec.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/codec_limits.h"

namespace prep::image {
namespace {

// Beyond any picture that a BMP of 4 GB could hold, other than as runs of one colour.
constexpr std::int64_t kMaxSide = 1 << 20;

constexpr std::uint32_t kFileHeader = 14, kCoreHeader = 12, kInfoHeader = 40;
constexpr std::uint32_t kUncompressed = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6;

// ---- Headers

// The fields of the info header; those behind its end are 0, as OS/2 wants it.
class Header {
 public:
  explicit Header(ByteView file) : file_(file, ByteOrder::little) {
    const auto size = file_.u32(kFileHeader);
    if (!size || !file_.bytes(kFileHeader, *size)) {
      fail(Code::truncated, "the BMP ends inside its header");
    }
    size_ = *size;
    if (size_ < kCoreHeader) fail(Code::corrupt, "the BMP's header is damaged");
  }

  std::uint32_t size() const { return size_; }
  bool is_core() const { return size_ == kCoreHeader; }
  std::uint32_t end() const { return kFileHeader + size_; }
  std::uint32_t pixels() const { return *file_.u32(10); }
  // `at` counts from the start of the header.
  std::uint32_t u16(std::uint32_t at) const {
    return at + 2 <= size_ ? *file_.u16(kFileHeader + at) : 0;
  }
  std::uint32_t u32(std::uint32_t at) const {
    return at + 4 <= size_ ? *file_.u32(kFileHeader + at) : 0;
  }
  std::int32_t i32(std::uint32_t at) const { return static_cast<std::int32_t>(u32(at)); }
  std::uint32_t compression() const { return is_core() ? kUncompressed : u32(16); }
  bool has_masks() const { return compression() == kBitFields || compression() == kAlphaBitFields; }
  // Between the header and the palette, where the header is too short to hold them.
  std::uint32_t masks_behind() const {
    if (!has_masks() || size_ > kInfoHeader) return 0;
    return compression() == kAlphaBitFields ? 16 : 12;
  }
  // Of masks: they stand at the same place, in the header or behind it.
  std::uint32_t mask(std::uint32_t index) const {
    const auto value = file_.u32(kFileHeader + kInfoHeader + 4 * index);
    if (!value) fail(Code::truncated, "the BMP ends inside its header");
    return *value;
  }
  bool has_alpha_mask() const { return compression() == kAlphaBitFields || size_ >= 56; }

 private:
  ByteReader file_;
  std::uint32_t size_ = 0;
};

void read_size(const Header& header, BmpInfo& info) {
  const bool core = header.is_core();
  const std::int64_t width = core ? std::int64_t{header.u16(4)} : header.i32(4);
  std::int64_t height = core ? std::int64_t{header.u16(6)} : header.i32(8);
  info.top_down = height < 0;
  height = std::abs(height);
  if (width <= 0 || height <= 0 || height > INT_MAX) {
    fail(Code::corrupt, "the BMP's size of {} x {} pixels is not possible", width, height);
  }
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
}

void read_kind(const Header& header, BmpInfo& info) {
  info.bits = static_cast<int>(header.is_core() ? header.u16(10) : header.u16(14));
  const std::uint32_t compression = header.compression();
  info.runs = (compression == kRle8 && info.bits == 8) || (compression == kRle4 && info.bits == 4);
  static constexpr std::array kBits{1, 4, 8, 16, 24, 32};
  const bool plain =
      compression == kUncompressed && std::find(kBits.begin(), kBits.end(), info.bits) != kBits.end();
  const bool fields = header.has_masks() && (info.bits == 16 || info.bits == 32);
  if (!plain && !info.runs && !fields) {
    fail(Code::unsupported, "a BMP of {} bits with compression {} is not supported", info.bits,
         compression);
  }
}

bool is_contiguous(std::uint32_t mask) {
  if (mask == 0) return true;
  const std::uint32_t low = mask >> std::countr_zero(mask);
  return (low & (low + 1)) == 0;
}

void read_masks(const Header& header, BmpInfo& info) {
  if (!header.has_masks()) {
    if (info.bits == 16) info.masks = {0x7c00, 0x3e0, 0x1f, 0};
    if (info.bits == 32) info.masks = {0xff0000, 0xff00, 0xff, 0};
    return;
  }
  for (std::uint32_t i = 0; i < (header.has_alpha_mask() ? 4 : 3); ++i) {
    const std::uint32_t mask = header.mask(i);
    if (!is_contiguous(mask)) {
      fail(Code::unsupported, "a BMP with colour masks of scattered bits is not supported");
    }
    if (info.bits == 16 && mask > 0xffff) fail(Code::corrupt, "the BMP's colour masks are damaged");
    info.masks[i] = mask;
  }
  if ((info.masks[0] | info.masks[1] | info.masks[2]) == 0) {
    fail(Code::corrupt, "the BMP's colour masks are damaged");
  }
}

// The palette, which may be cut short by the pixels, and where these begin.
void read_places(const Header& header, ByteView file, BmpInfo& info) {
  const std::uint64_t start = std::uint64_t{header.end()} + header.masks_behind();
  info.palette_entry = header.is_core() ? 3 : 4;
  std::uint64_t entries = 0;
  if (info.bits <= 8) {
    entries = std::uint64_t{1} << info.bits;
    if (const std::uint32_t used = header.is_core() ? 0 : header.u32(32)) {
      entries = std::min<std::uint64_t>(entries, used);
    }
  }
  std::uint64_t end = start + entries * static_cast<unsigned>(info.palette_entry);
  info.pixels = header.pixels() ? header.pixels() : end;
  if (info.pixels < header.end()) fail(Code::corrupt, "the BMP's pixels begin in its header");
  if (info.pixels >= file.size()) fail(Code::truncated, "the BMP ends before its image begins");
  if (info.bits > 8) return;
  end = std::min(end, info.pixels);
  if (end < start + static_cast<unsigned>(info.palette_entry)) {
    fail(Code::corrupt, "the BMP has no palette");
  }
  info.palette = file.subspan(start, end - start);
}

std::uint64_t row_bits(const BmpInfo& info) {
  return static_cast<std::uint64_t>(info.width) * static_cast<unsigned>(info.bits);
}

// From row to row; rows are padded to 4 bytes. At most 2^33, so that a picture's fits 64 bits.
std::uint64_t stride_of(const BmpInfo& info) { return (row_bits(info) + 31) / 32 * 4; }

std::uint64_t row_bytes(const BmpInfo& info) { return (row_bits(info) + 7) / 8; }

// ---- Colours

// The colours of the palette, black where it is too short.
struct Lookup {
  explicit Lookup(const BmpInfo& info) {
    const std::size_t entry = static_cast<std::size_t>(info.palette_entry);
    for (std::size_t i = 0; i < info.palette.size() / entry; ++i) {
      const std::uint8_t* bgr = info.palette.data() + i * entry;
      colors[i] = {bgr[2], bgr[1], bgr[0]};
      grey = grey && bgr[0] == bgr[1] && bgr[1] == bgr[2];
    }
  }

  int channels() const { return grey ? 1 : 3; }
  void put(unsigned index, std::uint8_t* out) const {
    const auto& color = colors[index];
    out[0] = color[0];
    if (grey) return;
    out[1] = color[1];
    out[2] = color[2];
  }

  std::array<std::array<std::uint8_t, 3>, 256> colors{};
  bool grey = true;
};

// One channel of a pixel, scaled to 8 bits.
class Field {
 public:
  explicit Field(std::uint32_t mask) : mask_(mask) {
    if (mask == 0) return;
    shift_ = std::countr_zero(mask);
    max_ = mask >> shift_;
    for (std::uint32_t v = 0; v <= std::min(max_, 255u); ++v) table_[v] = scale(v);
  }

  std::uint8_t of(std::uint32_t pixel) const {
    const std::uint32_t value = (pixel & mask_) >> shift_;
    return max_ <= 255 ? table_[value] : scale(value);
  }

 private:
  std::uint8_t scale(std::uint64_t value) const {
    return static_cast<std::uint8_t>((value * 255 + max_ / 2) / max_);
  }

  std::uint32_t mask_;
  int shift_ = 0;
  std::uint32_t max_ = 0;
  std::array<std::uint8_t, 256> table_{};
};

// ---- Pixels

void convert_indices(const std::uint8_t* in, int count, int bits, const Lookup& lookup,
                     std::uint8_t* out) {
  const unsigned mask = (1u << bits) - 1;
  const int channels = lookup.channels();
  for (int x = 0; x < count; ++x, out += channels) {
    const int at = x * bits;  // fits: kMaxSide * 8
    lookup.put(unsigned{in[at / 8]} >> (8 - bits - at % 8) & mask, out);
  }
}

void convert_bgr(const std::uint8_t* in, int count, std::uint8_t* out) {
  for (int x = 0; x < count; ++x, in += 3, out += 3) {
    out[0] = in[2];
    out[1] = in[1];
    out[2] = in[0];
  }
}

void convert_fields(const std::uint8_t* in, int count, int bytes,
                    const std::array<Field, 4>& fields, int channels, std::uint8_t* out) {
  for (int x = 0; x < count; ++x, in += bytes, out += channels) {
    std::uint32_t pixel = in[0] | std::uint32_t{in[1]} << 8;
    if (bytes == 4) pixel |= std::uint32_t{in[2]} << 16 | std::uint32_t{in[3]} << 24;
    for (int i = 0; i < channels; ++i) out[i] = fields[static_cast<std::size_t>(i)].of(pixel);
  }
}

// Calls convert(bytes, number of pixels, where to) for every row that is there, or begins.
template <typename F>
void for_each_row(ByteView rows, const BmpInfo& info, const Plane& out, F&& convert) {
  for (int i = 0; i < out.height && !rows.empty(); ++i) {
    const std::uint64_t bits = std::min<std::uint64_t>(row_bytes(info), rows.size()) * 8;
    const auto count = std::min<std::uint64_t>(static_cast<std::uint64_t>(info.width),
                                               bits / static_cast<unsigned>(info.bits));
    convert(rows.data(), static_cast<int>(count), out.row(info.top_down ? i : out.height - 1 - i));
    rows = rows.subspan(std::min<std::uint64_t>(stride_of(info), rows.size()));
  }
}

// RLE4 and RLE8. A place only moves forward, so that whatever the codes are, every pixel is
// written at most twice.
class RunReader {
 public:
  RunReader(ByteView codes, const BmpInfo& info, const Lookup& lookup, const Plane& out)
      : codes_(codes), info_(info), lookup_(lookup), out_(out) {}

  // False if the codes end before the picture does; the rest is black then.
  bool read() {
    const auto first_color = [](int) { return 0u; };
    for (int y = 0; y < out_.height; ++y) fill(y, 0, first_color, out_.width);
    if (read_codes()) return true;
    for (int y = y_, x = x_; y < out_.height; ++y, x = 0) blacken(y, x);
    return false;
  }

 private:
  bool read_codes() {
    while (!finished()) {
      if (codes_.size() - at_ < 2) return false;
      const std::uint8_t count = codes_[at_], value = codes_[at_ + 1];
      at_ += 2;
      if (count > 0) {
        put(count, [&](int i) { return run_index(value, i); });
      } else if (value == 0) {  // the end of the row
        x_ = 0;
        ++y_;
      } else if (value == 1) {  // the end of the picture
        return true;
      } else if (value == 2 ? !jump() : !copy(value)) {
        return false;
      }
    }
    return true;
  }

  bool finished() const { return y_ >= out_.height || (y_ == out_.height - 1 && x_ >= out_.width); }

  // RLE4 alternates between two indices.
  unsigned run_index(std::uint8_t value, int i) const {
    if (info_.bits == 8) return value;
    return i % 2 == 0 ? value >> 4 : value & 15;
  }

  bool jump() {
    if (codes_.size() - at_ < 2) return false;
    x_ = std::min(x_ + codes_[at_], out_.width);
    y_ = std::min(y_ + codes_[at_ + 1], out_.height);
    at_ += 2;
    return true;
  }

  // `count` indices as they are, padded to 16 bits.
  bool copy(int count) {
    const std::size_t bytes = static_cast<std::size_t>((count * info_.bits + 7) / 8);
    const std::size_t there = std::min(bytes, codes_.size() - at_);
    const std::uint8_t* in = codes_.data() + at_;
    put(std::min(count, static_cast<int>(there) * 8 / info_.bits),
        [&](int i) { return info_.bits == 8 ? in[i] : run_index(in[i / 2], i); });
    at_ = std::min(at_ + (bytes + 1) / 2 * 2, codes_.size());
    return there == bytes;
  }

  // What sticks out to the right is dropped.
  template <typename F>
  void put(int count, F&& index) {
    const int end = std::min(x_ + count, out_.width);
    fill(y_, x_, index, end);
    x_ = end;
  }

  template <typename F>
  void fill(int y, int x, F&& index, int end) {
    std::uint8_t* to = pixel(y, x);
    for (int i = 0; x + i < end; ++i, to += out_.channels) lookup_.put(index(i), to);
  }

  void blacken(int y, int x) {
    std::memset(pixel(y, x), 0,
                static_cast<std::size_t>(out_.width - x) * static_cast<std::size_t>(out_.channels));
  }

  std::uint8_t* pixel(int y, int x) const {
    return out_.row(info_.top_down ? y : out_.height - 1 - y) + std::ptrdiff_t{x} * out_.channels;
  }

  ByteView codes_;
  const BmpInfo& info_;
  const Lookup& lookup_;
  Plane out_;
  std::size_t at_ = 0;
  int x_ = 0, y_ = 0;  // y from the first row stored
};

// False if runs end before the picture does.
bool decode_indexed(ByteView pixels, const BmpInfo& info, PlaneBuffer& buffer, Plane& out) {
  const Lookup lookup(info);
  out = buffer.shape(info.width, info.height, lookup.channels());
  if (info.runs) return RunReader(pixels, info, lookup, out).read();
  clear(out);
  for_each_row(pixels, info, out, [&](const std::uint8_t* in, int count, std::uint8_t* to) {
    convert_indices(in, count, info.bits, lookup, to);
  });
  return true;
}

void decode_direct(ByteView pixels, const BmpInfo& info, PlaneBuffer& buffer, Plane& out) {
  const int channels = info.has_alpha() ? 4 : 3;
  out = buffer.shape(info.width, info.height, channels);
  clear(out);
  if (info.bits == 24) {
    for_each_row(pixels, info, out, convert_bgr);
    return;
  }
  const std::array<Field, 4> fields{Field(info.masks[0]), Field(info.masks[1]),
                                    Field(info.masks[2]), Field(info.masks[3])};
  for_each_row(pixels, info, out, [&](const std::uint8_t* in, int count, std::uint8_t* to) {
    convert_fields(in, count, info.bits / 8, fields, channels, to);
  });
}

void make_opaque_if_unset(const Plane& out, std::vector<std::string>& warnings) {
  for (int y = 0; y < out.height; ++y) {
    const std::uint8_t* row = out.row(y);
    for (int x = 0; x < out.width; ++x) {
      if (row[4 * x + 3] != 0) return;
    }
  }
  for (int y = 0; y < out.height; ++y) {
    std::uint8_t* row = out.row(y);
    for (int x = 0; x < out.width; ++x) row[4 * x + 3] = 255;
  }
  warnings.emplace_back("alpha is zero everywhere: taken as opaque");
}

}  // namespace

BmpInfo read_bmp_info(const Bytes& data) {
  const Header header(data.view());
  BmpInfo info;
  read_size(header, info);
  read_kind(header, info);
  read_masks(header, info);
  read_places(header, data.view(), info);
  if (!info.runs) {
    // The padding of the last row may be missing.
    const std::uint64_t rows = static_cast<std::uint64_t>(info.height) - 1;
    info.full_size = info.pixels + stride_of(info) * rows + row_bytes(info);
  }
  return info;
}

Plane decode_bmp(const Bytes& data, const BmpInfo& info, bool allow_truncated, PlaneBuffer& buffer,
                 std::vector<std::string>& warnings) {
  if (info.width > kMaxSide || info.height > kMaxSide ||
      std::int64_t{info.width} * info.height > kMaxCodecPixels) {
    fail(Code::limit, "{} x {} pixels are more than the decoder takes", info.width, info.height);
  }
  bool whole = info.full_size <= data.size();
  if (!whole && !allow_truncated) fail(Code::truncated, "the BMP ends before its image does");
  const ByteView pixels = data.view().subspan(info.pixels);
  Plane out;
  if (info.bits <= 8) {
    whole = decode_indexed(pixels, info, buffer, out) && whole;
  } else {
    decode_direct(pixels, info, buffer, out);
  }
  if (!whole && !allow_truncated) fail(Code::truncated, "the BMP ends before its image does");
  if (!whole) warnings.emplace_back("truncated: what is missing is blank");
  if (info.has_alpha()) make_opaque_if_unset(out, warnings);
  return out;
}

}  // namespace prep::image
