#include "lib/image/png_codec.h"

#include <png.h>
#include <setjmp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/codec_limits.h"
#include "lib/image/exif.h"

namespace prep::image {
namespace {

constexpr std::size_t kSignature = 8, kChunkFrame = 12;  // length, type and CRC
constexpr std::uint32_t kMaxAncillary = 1 << 20;
// A profile that inflates to more is not one.
constexpr png_alloc_size_t kMaxInflatedChunk = 8 << 20;

// ---- The walk over the chunks.

void read_header(ByteView payload, PngInfo& info) {
  const ByteReader reader(payload, ByteOrder::big);
  if (payload.size() != 13) fail(Code::corrupt, "the PNG's header chunk has the wrong size");
  const std::uint32_t width = *reader.u32(0), height = *reader.u32(4);
  if (width == 0 || height == 0 || width > PNG_UINT_31_MAX || height > PNG_UINT_31_MAX) {
    fail(Code::corrupt, "the PNG's size of {} x {} pixels is not possible", width, height);
  }
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
  info.bit_depth = payload[8];
  info.color_type = payload[9];
  info.transparency = (info.color_type & PNG_COLOR_MASK_ALPHA) != 0;
}

bool is_chunk_type(std::string_view type) {
  return std::all_of(type.begin(), type.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); });
}

// Takes from an eXIf chunk what is wanted.
void read_exif(const Bytes& data, std::size_t at, std::size_t size, PngInfo& info) {
  info.exif = data.slice(at, size);
  info.orientation = exif_orientation(info.exif.view());
}

// Whether libpng is to see the chunk.
bool wanted(std::string_view type, std::uint32_t length, PngInfo& info) {
  if (type == "IHDR" || type == "PLTE" || type == "IDAT" || type == "IEND") return true;
  if (length > kMaxAncillary && info.warnings.size() < kMaxWarnings) {
    info.warnings.push_back(fmt::format("a {} chunk of more than 1 MB is ignored", type));
  }
  return length <= kMaxAncillary && (type == "tRNS" || type == "iCCP");
}

struct Chunk {
  std::string_view type;
  std::uint32_t length = 0;
  bool whole = false;
};

// The chunk at `at`; not whole where the data ends inside it.
Chunk read_chunk(const Bytes& data, std::size_t at) {
  const ByteReader reader(data.view(), ByteOrder::big);
  const auto length = reader.u32(at);
  const auto type = reader.bytes(at + 4, 4);
  if (!length || !type) return {};
  if (*length > PNG_UINT_31_MAX || !is_chunk_type(as_text(*type))) {
    fail(Code::corrupt, "the PNG has a chunk that is none, at byte {}", at);
  }
  return {as_text(*type), *length, reader.bytes(at, kChunkFrame + *length).has_value()};
}

void check_first_chunk(const Chunk& chunk) {
  if (chunk.type == "CgBI") fail(Code::unsupported, "Apple's CgBI variant of PNG is not supported");
  if (!chunk.type.empty() && chunk.type != "IHDR") {
    fail(Code::corrupt, "the PNG does not start with its header chunk");
  }
  if (!chunk.whole) fail(Code::truncated, "the PNG ends inside its header");
}

}  // namespace

PngInfo read_png_info(const Bytes& data) {
  PngInfo info;
  std::size_t at = std::min(kSignature, data.size());
  info.chunks.push_back(data.view().first(at));
  for (bool first = true; !info.ends; first = false) {
    const Chunk chunk = read_chunk(data, at);
    if (first) check_first_chunk(chunk);
    if (!chunk.whole) {  // libpng gets what there is of the pixels
      if (chunk.type == "IDAT") info.chunks.push_back(data.view().subspan(at));
      return info;
    }
    if (first) read_header(data.view().subspan(at + 8, chunk.length), info);
    if (!first && chunk.type == "IHDR") fail(Code::corrupt, "the PNG has two header chunks");
    if (chunk.type == "tRNS") info.transparency = true;
    if (chunk.type == "acTL") info.animated = true;
    if (wanted(chunk.type, chunk.length, info)) {
      info.chunks.push_back(data.view().subspan(at, kChunkFrame + chunk.length));
    }
    if (chunk.type == "eXIf" && chunk.length <= kMaxAncillary) {
      read_exif(data, at + 8, chunk.length, info);
    }
    info.ends = chunk.type == "IEND";
    at += kChunkFrame + chunk.length;
  }
  if (info.animated) info.warnings.emplace_back("animated: only the first image is used");
  if (at < data.size()) info.warnings.emplace_back("trailing bytes after the image");
  return info;
}

namespace {

// ---- libpng. What its callbacks write to; plain data, since a longjmp crosses it.

struct Report {
  std::array<char, 160> error{};
  std::vector<std::string>* warnings = nullptr;
};

void on_error(png_structp png, png_const_charp message) {
  auto& report = *static_cast<Report*>(png_get_error_ptr(png));
  std::strncpy(report.error.data(), message, report.error.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp png, png_const_charp message) {
  auto& report = *static_cast<Report*>(png_get_error_ptr(png));
  if (!report.warnings || report.warnings->size() >= kMaxWarnings) return;
  // "known incorrect sRGB profile": in every other PNG, and without a consequence here.
  if (std::strstr(message, "sRGB profile")) return;
  try {
    report.warnings->push_back(fmt::format("libpng: {}", message));
  } catch (...) {  // no memory for a warning: go on without it
  }
}

enum class Mode { eight_bit, raw };

// One picture being read. The methods with a setjmp hold nothing that a longjmp would leak.
class Reader {
 public:
  Reader(const PngInfo& info, std::vector<std::string>& warnings) : chunks_(info.chunks) {
    if (!info.ends) mend_last_chunk();
    report_.warnings = &warnings;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;

  // Reads up to the first pixels and sets up the conversions.
  bool start(Mode mode) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_read_fn(png_, this, &Reader::read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png_, kMaxInflatedChunk);
    png_set_benign_errors(png_, 1);
    if (!mended_.empty()) png_set_crc_action(png_, PNG_CRC_QUIET_USE, PNG_CRC_WARN_DISCARD);
    png_read_info(png_, info_);
    mode == Mode::raw ? png_set_packing(png_) : set_eight_bit();
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }

  int bytes_per_pixel() const {
    const int depth = png_get_bit_depth(png_, info_);
    return png_get_channels(png_, info_) * (depth == 16 ? 2 : 1);
  }

  bool read_rows(const Plane& out) {
    if (setjmp(png_jmpbuf(png_))) return false;
    for (int pass = 0; pass < passes_; ++pass) {
      for (int y = 0; y < out.height; ++y) {
        png_read_row(png_, out.row(y), nullptr);
        any_row_ = true;
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  std::vector<std::uint8_t> icc() const {
    png_charp name = nullptr;
    png_bytep profile = nullptr;
    png_uint_32 size = 0;
    int compression = 0;
    if (!png_get_iCCP(png_, info_, &name, &compression, &profile, &size)) return {};
    return {profile, profile + size};
  }

  // Whether the data ended where libpng wanted more.
  bool hit_end() const { return hit_end_; }
  bool any_row() const { return any_row_; }

  [[noreturn]] void fail_read() const {
    if (hit_end_) fail(Code::truncated, "the PNG ends before its image does");
    fail(Code::corrupt, "the PNG is damaged: {}", report_.error.data());
  }

 private:
  static void read(png_structp png, png_bytep out, std::size_t size) {
    auto& self = *static_cast<Reader*>(png_get_io_ptr(png));
    while (size > 0) {
      if (self.chunk_ == self.chunks_.size()) {
        self.hit_end_ = true;
        png_error(png, "no more data");
      }
      const ByteView chunk = self.chunks_[self.chunk_].subspan(self.offset_);
      const std::size_t part = std::min(size, chunk.size());
      std::copy_n(chunk.data(), part, out);
      out += part;
      size -= part;
      self.offset_ += part;
      if (self.offset_ == self.chunks_[self.chunk_].size()) {
        ++self.chunk_;
        self.offset_ = 0;
      }
    }
  }

  void set_eight_bit() {
    png_set_expand(png_);    // palette to RGB, grey to 8 bits, tRNS to alpha
    png_set_scale_16(png_);  // rounds; png_set_strip_16 would cut off
  }

  // libpng drops a chunk that it can't read whole. A last IDAT that was cut off gets the length
  // that it has, so that its pixels up to the cut are not lost.
  void mend_last_chunk() {
    const ByteView last = chunks_.back();
    if (chunks_.size() < 2 || last.size() < 8) return;
    const ByteReader reader(last, ByteOrder::big);
    const auto length = static_cast<std::uint32_t>(last.size() - 8);
    if (*reader.u32(0) <= length) return;  // it is whole; what is missing are chunks behind it
    mended_.assign(last.begin(), last.end());
    for (int i = 0; i < 4; ++i) {
      mended_[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(length >> (24 - 8 * i));
    }
    mended_.resize(mended_.size() + 4);  // a CRC, which is not checked then
    chunks_.back() = mended_;
  }

  std::vector<ByteView> chunks_;
  std::vector<std::uint8_t> mended_;
  std::size_t chunk_ = 0, offset_ = 0;
  bool hit_end_ = false, any_row_ = false;
  int passes_ = 1;
  Report report_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

Plane read_pixels(Reader& reader, Mode mode, const PngInfo& info, bool allow_truncated,
                  PlaneBuffer& buffer, std::vector<std::string>& warnings) {
  if (!reader.start(mode)) reader.fail_read();
  const Plane out = buffer.shape(info.width, info.height, reader.bytes_per_pixel());
  if (!info.ends) {
    if (!allow_truncated) fail(Code::truncated, "the PNG ends before its image does");
    clear(out);
  }
  if (!reader.read_rows(out)) {
    if (!allow_truncated || !reader.hit_end() || !reader.any_row()) reader.fail_read();
    warnings.emplace_back("truncated: what is missing is blank");
  }
  return out;
}

// The payload of the first chunk of a type.
std::vector<std::uint8_t> payload(const PngInfo& info, std::string_view type) {
  for (const ByteView chunk : info.chunks) {
    if (chunk.size() < kChunkFrame || as_text(chunk.subspan(4, 4)) != type) continue;
    const ByteView body = chunk.subspan(8, chunk.size() - kChunkFrame);
    return {body.begin(), body.end()};
  }
  return {};
}

// One picture being written, by the same rules as Reader.
class Writer {
 public:
  Writer() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &report_, on_error, on_warning);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_write_struct(&png_, nullptr);
      throw std::bad_alloc();
    }
  }
  ~Writer() { png_destroy_write_struct(&png_, &info_); }
  Writer(const Writer&) = delete;

  Bytes write(const ConstPlane& pixels, const PngRaw& raw, const PngEncodeOptions& options) {
    if (!run(pixels, raw, options)) fail(Code::internal, "libpng: {}", report_.error.data());
    return Bytes::take(std::move(out_));
  }

 private:
  bool run(const ConstPlane& pixels, const PngRaw& raw, const PngEncodeOptions& options) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_write_fn(png_, this, &Writer::append, [](png_structp) {});
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_benign_errors(png_, 1);
    png_set_compression_level(png_, 6);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(pixels.width),
                 static_cast<png_uint_32>(pixels.height), raw.bit_depth, raw.color_type,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    set_palette(raw);
    set_transparency(raw);
    set_metadata(options);
    png_write_info(png_, info_);
    png_set_packing(png_);
    for (int y = 0; y < pixels.height; ++y) png_write_row(png_, pixels.row(y));
    png_write_end(png_, nullptr);
    return true;
  }

  void set_palette(const PngRaw& raw) {
    std::array<png_color, 256> colors;
    const std::size_t count = std::min<std::size_t>(raw.palette.size() / 3, 256);
    for (std::size_t i = 0; i < count; ++i) {
      colors[i] = {raw.palette[3 * i], raw.palette[3 * i + 1], raw.palette[3 * i + 2]};
    }
    if (count > 0) png_set_PLTE(png_, info_, colors.data(), static_cast<int>(count));
  }

  // tRNS is one alpha value a palette entry, or the one grey or RGB value that is transparent.
  void set_transparency(const PngRaw& raw) {
    const std::vector<std::uint8_t>& t = raw.transparency;
    if (t.empty()) return;
    const auto value = [&](std::size_t i) {
      return static_cast<png_uint_16>(t[i] << 8 | t[i + 1]);
    };
    png_color_16 color{};
    if (raw.color_type == PNG_COLOR_TYPE_PALETTE) {
      png_set_tRNS(png_, info_, t.data(), static_cast<int>(std::min<std::size_t>(t.size(), 256)),
                   nullptr);
    } else if (raw.color_type == PNG_COLOR_TYPE_GRAY && t.size() >= 2) {
      color.gray = value(0);
      png_set_tRNS(png_, info_, nullptr, 1, &color);
    } else if (raw.color_type == PNG_COLOR_TYPE_RGB && t.size() >= 6) {
      color.red = value(0);
      color.green = value(2);
      color.blue = value(4);
      png_set_tRNS(png_, info_, nullptr, 1, &color);
    }
  }

  void set_metadata(const PngEncodeOptions& options) {
    if (!options.icc.empty()) {
      png_set_iCCP(png_, info_, "icc", PNG_COMPRESSION_TYPE_BASE, options.icc.data(),
                   static_cast<png_uint_32>(options.icc.size()));
    }
    if (!options.exif.empty()) {
      png_set_eXIf_1(png_, info_, static_cast<png_uint_32>(options.exif.size()),
                     const_cast<png_bytep>(options.exif.data()));  // libpng copies it
    }
  }

  static void append(png_structp png, png_bytep data, std::size_t size) {
    auto& self = *static_cast<Writer*>(png_get_io_ptr(png));
    try {
      self.out_.insert(self.out_.end(), data, data + size);
      return;
    } catch (const std::bad_alloc&) {  // reported below, where no exception is being handled
    }
    png_error(png, "out of memory");
  }

  std::vector<std::uint8_t> out_;
  Report report_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Plane decode_png(const PngInfo& info, const PngDecodeOptions& options, PlaneBuffer& buffer,
                 std::vector<std::uint8_t>& icc, std::vector<std::string>& warnings) {
  Reader reader(info, warnings);
  const Plane out =
      read_pixels(reader, Mode::eight_bit, info, options.allow_truncated, buffer, warnings);
  icc = reader.icc();
  return out;
}

PngRaw decode_png_raw(const PngInfo& info, const PngDecodeOptions& options, PlaneBuffer& buffer,
                      std::vector<std::string>& warnings) {
  Reader reader(info, warnings);
  PngRaw raw;
  raw.bit_depth = info.bit_depth;
  raw.color_type = info.color_type;
  raw.pixels = read_pixels(reader, Mode::raw, info, options.allow_truncated, buffer, warnings);
  if (info.color_type == PNG_COLOR_TYPE_PALETTE) raw.palette = payload(info, "PLTE");
  raw.transparency = payload(info, "tRNS");
  return raw;
}

Bytes encode_png_raw(const PngRaw& raw) { return Writer().write(as_const(raw.pixels), raw, {}); }

Bytes encode_png(const ConstPlane& pixels, const PngEncodeOptions& options) {
  PngRaw header;
  header.color_type = pixels.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
  return Writer().write(pixels, header, options);
}

}  // namespace prep::image
