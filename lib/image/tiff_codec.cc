#include "lib/image/tiff_codec.h"

#include <tiffio.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/codec_limits.h"

namespace prep::image {
namespace {

// More than real files have in one tile, unless the picture is larger still.
constexpr std::uint64_t kMaxTilePixels = 1 << 24;
constexpr int kMaxSamples = 8;

// ---- The directory

// One tag's values, of type BYTE, SHORT or LONG.
class Values {
 public:
  Values(const ByteReader& reader, std::uint64_t entry) : reader_(reader) {
    const std::uint32_t type = *reader.u16(entry + 2);
    size_ = type == 1 || type == 7 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
    count_ = size_ ? *reader.u32(entry + 4) : 0;
    at_ = std::uint64_t{count_} * size_ <= 4 ? entry + 8 : *reader.u32(entry + 8);
  }
  std::uint32_t count() const { return count_; }
  std::optional<std::uint32_t> operator[](std::uint32_t i) const {
    if (i >= count_) return std::nullopt;
    const std::uint64_t at = at_ + std::uint64_t{i} * size_;
    if (size_ == 4) return reader_.u32(at);
    if (size_ == 2) return reader_.u16(at);
    const auto byte = reader_.bytes(at, 1);
    return byte ? std::optional<std::uint32_t>((*byte)[0]) : std::nullopt;
  }
  std::optional<ByteView> bytes() const {
    return reader_.bytes(at_, std::uint64_t{count_} * size_);
  }

 private:
  ByteReader reader_;
  std::uint32_t size_ = 0, count_ = 0;
  std::uint64_t at_ = 0;
};

class Directory {
 public:
  explicit Directory(ByteView data)
      : reader_(data, data.empty() || data[0] == 'I' ? ByteOrder::little : ByteOrder::big) {
    const auto at = reader_.u32(4);
    const auto count = at ? reader_.u16(*at) : std::nullopt;
    if (!count || !reader_.bytes(*at + std::uint64_t{2}, std::uint64_t{12} * *count)) {
      fail(Code::truncated, "the TIFF ends before its directory does");
    }
    first_ = *at + std::uint64_t{2};
    count_ = *count;
  }

  std::optional<Values> find(std::uint32_t tag) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint64_t entry = first_ + std::uint64_t{12} * i;
      if (*reader_.u16(entry) == tag) return Values(reader_, entry);
    }
    return std::nullopt;
  }
  std::uint32_t value(std::uint32_t tag, std::uint32_t otherwise) const {
    const auto values = find(tag);
    return values ? (*values)[0].value_or(otherwise) : otherwise;
  }
  bool more_images() const {
    return reader_.u32(first_ + std::uint64_t{12} * count_).value_or(0) != 0;
  }
  std::size_t file_size() const { return reader_.size(); }

 private:
  ByteReader reader_;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
};

void read_size(const Directory& directory, TiffInfo& info) {
  const std::uint32_t width = directory.value(256, 0), height = directory.value(257, 0);
  if (width == 0 || height == 0 || width > INT_MAX || height > INT_MAX) {
    fail(Code::corrupt, "the TIFF's size of {} x {} pixels is not possible", width, height);
  }
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
}

void read_samples(const Directory& directory, TiffInfo& info) {
  info.samples = static_cast<int>(std::min(directory.value(277, 1), 65535u));
  info.photometric = static_cast<int>(directory.value(262, 1));
  info.sample_format = static_cast<int>(directory.value(339, 1));
  info.separate = directory.value(284, 1) == 2 && info.samples > 1;
  if (const auto extra = directory.find(338)) {
    info.extra_samples = static_cast<int>(std::min(extra->count(), 65535u));
    info.extra_kind = static_cast<int>((*extra)[0].value_or(0));
  }
  info.bits = static_cast<int>(directory.value(258, 1));
  if (const auto bits = directory.find(258)) {
    for (std::uint32_t i = 1; i < std::min<std::uint32_t>(bits->count(), 8); ++i) {
      if ((*bits)[i] != (*bits)[0]) {
        fail(Code::unsupported, "a TIFF whose channels differ in depth is not supported");
      }
    }
  }
  if (info.samples > kMaxSamples) {
    fail(Code::unsupported, "a TIFF of {} channels is not supported", info.samples);
  }
  if (info.sample_format == 3) fail(Code::unsupported, "a floating-point TIFF is not supported");
  if (info.sample_format == 2) fail(Code::unsupported, "a TIFF of signed numbers is not supported");
  if (info.bits < 1 || info.bits > 16) {
    fail(Code::unsupported, "a TIFF of {} bits a channel is not supported", info.bits);
  }
}

// Whether every strip or tile lies inside the file.
bool is_complete(const Directory& directory) {
  const bool tiled = directory.find(324).has_value();
  const auto offsets = directory.find(tiled ? 324 : 273), sizes = directory.find(tiled ? 325 : 279);
  if (!offsets) fail(Code::corrupt, "the TIFF does not say where its pixels are");
  for (std::uint32_t i = 0; i < offsets->count(); ++i) {
    const auto at = (*offsets)[i];
    const auto size = sizes ? (*sizes)[i] : std::optional<std::uint32_t>(0);
    if (!at || !size || std::uint64_t{*at} + *size > directory.file_size()) return false;
  }
  return true;
}

// ---- libtiff

struct TiffSource {
  ByteView data;
  std::uint64_t position = 0;
};

tmsize_t read_source(thandle_t handle, void* out, tmsize_t size) {
  auto& source = *static_cast<TiffSource*>(handle);
  const std::uint64_t left =
      source.data.size() - std::min<std::uint64_t>(source.position, source.data.size());
  const std::uint64_t count =
      std::min(left, static_cast<std::uint64_t>(std::max<tmsize_t>(size, 0)));
  if (count > 0) std::memcpy(out, source.data.data() + source.position, count);
  source.position += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t write_source(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek_source(thandle_t handle, toff_t offset, int whence) {
  auto& source = *static_cast<TiffSource*>(handle);
  const std::uint64_t base = whence == SEEK_SET   ? 0
                             : whence == SEEK_CUR ? source.position
                                                  : source.data.size();
  return source.position = base + offset;
}

int close_source(thandle_t) { return 0; }

toff_t size_source(thandle_t handle) { return static_cast<TiffSource*>(handle)->data.size(); }

// The first error, and warnings up to a number.
struct Messages {
  std::string error;
  std::vector<std::string>* warnings = nullptr;
};

std::string format_message(const char* format, std::va_list arguments) {
  char text[160];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

// 1: libtiff's global handlers, which print, are not called. No exception may cross libtiff.
int on_error(TIFF*, void* user, const char*, const char* format, std::va_list arguments) {
  auto& messages = *static_cast<Messages*>(user);
  try {
    if (messages.error.empty()) messages.error = format_message(format, arguments);
  } catch (...) {
  }
  return 1;
}

int on_warning(TIFF*, void* user, const char*, const char* format, std::va_list arguments) {
  auto& warnings = *static_cast<Messages*>(user)->warnings;
  try {
    if (warnings.size() < kMaxWarnings && !std::strstr(format, "nknown field")) {
      warnings.push_back("libtiff: " + format_message(format, arguments));
    }
  } catch (...) {
  }
  return 1;
}

struct CloseTiff {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using TiffPtr = std::unique_ptr<TIFF, CloseTiff>;

TiffPtr open_tiff(TiffSource& source, Messages& messages) {
  const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(
      TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, &messages);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, &messages);
  // "m": no memory mapping, the data is in memory already.
  return TiffPtr(TIFFClientOpenExt("", "rm", &source, read_source, write_source, seek_source,
                                   close_source, size_source, nullptr, nullptr, options.get()));
}

// A tile is decoded as a whole, however little of it the picture shows. Asked of libtiff, which
// takes a missing length from other tags.
void check_tiles(TIFF* tiff, const TiffInfo& info) {
  if (!TIFFIsTiled(tiff)) return;
  std::uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  const std::uint64_t picture =
      static_cast<std::uint64_t>(info.width) * static_cast<std::uint64_t>(info.height);
  if (std::uint64_t{width} * height > std::max(kMaxTilePixels, 2 * picture)) {
    fail(Code::limit, "the TIFF has tiles of {} x {} pixels", width, height);
  }
}

// ---- Pixels

// What is done to one pixel's samples on the way to 8 bits.
struct Layout {
  int samples = 1;  // in the file
  int colors = 1;   // of them colour
  bool alpha = false, premultiplied = false;
  bool invert = false;  // white is zero, or CMYK to our inverted CMYK
  int channels() const { return colors + (alpha ? 1 : 0); }
};

// Colour times alpha back to colour.
std::uint8_t unpremultiply(unsigned value, unsigned alpha) {
  if (alpha == 0) return 0;
  return static_cast<std::uint8_t>(std::min(255u, (value * 255 + alpha / 2) / alpha));
}

void unpremultiply_row(std::uint8_t* pixel, int width, int channels) {
  for (int x = 0; x < width; ++x, pixel += channels) {
    for (int i = 0; i + 1 < channels; ++i) pixel[i] = unpremultiply(pixel[i], pixel[channels - 1]);
  }
}

std::uint8_t to_8_bits(std::uint8_t value) { return value; }
std::uint8_t to_8_bits(std::uint16_t value) {
  return static_cast<std::uint8_t>((value + 128) / 257);
}

template <typename T>
void convert_row(const std::uint8_t* bytes, int width, const Layout& layout, std::uint8_t* out) {
  std::uint8_t* to = out;
  for (int x = 0; x < width; ++x) {
    for (int i = 0; i < layout.channels(); ++i) {
      T sample;
      std::memcpy(&sample, bytes + sizeof(T) * static_cast<std::size_t>(i), sizeof(T));
      const std::uint8_t value = to_8_bits(sample);
      *to++ = layout.invert && i < layout.colors ? static_cast<std::uint8_t>(255 - value) : value;
    }
    bytes += sizeof(T) * static_cast<std::size_t>(layout.samples);
  }
  if (layout.premultiplied) unpremultiply_row(out, width, layout.channels());
}

// The layout of pictures whose samples can be taken as they are; nullopt for those that libtiff
// must convert (palettes, YCbCr, Lab, fewer than 8 bits, separate planes).
std::optional<Layout> plain_layout(const TiffInfo& info) {
  if (info.separate || (info.bits != 8 && info.bits != 16)) return std::nullopt;
  Layout layout;
  switch (info.photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
      layout.colors = 1;
      break;
    case PHOTOMETRIC_RGB:
      layout.colors = 3;
      break;
    case PHOTOMETRIC_SEPARATED:
      layout.colors = 4;
      break;
    default:
      return std::nullopt;
  }
  layout.samples = info.samples;
  if (layout.samples < layout.colors) return std::nullopt;
  const bool cmyk = layout.colors == 4;
  layout.alpha = info.has_alpha() && layout.samples > layout.colors && !cmyk;
  layout.premultiplied = layout.alpha && info.extra_kind == EXTRASAMPLE_ASSOCALPHA;
  layout.invert = cmyk || info.photometric == PHOTOMETRIC_MINISWHITE;
  return layout;
}

// The grid of blocks that the pixels are stored in: tiles, or strips as wide as the picture.
struct Grid {
  bool tiled = false;
  int width = 0, height = 0;  // of a block
  std::size_t row_bytes = 0, block_bytes = 0;
};

Grid read_grid(TIFF* tiff, const TiffInfo& info, const Layout& layout) {
  Grid grid;
  std::uint32_t width = static_cast<std::uint32_t>(info.width), height = 0;
  grid.tiled = TIFFIsTiled(tiff) != 0;
  if (grid.tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  } else {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &height);
    height = std::min(height, static_cast<std::uint32_t>(info.height));
  }
  const std::uint64_t sample_bytes = info.bits / 8;
  const std::uint64_t row_bytes =
      std::uint64_t{width} * static_cast<unsigned>(layout.samples) * sample_bytes;
  const tmsize_t block = grid.tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  if (width == 0 || height == 0 || width > INT_MAX || height > INT_MAX ||
      block != static_cast<tmsize_t>(row_bytes * height)) {
    fail(Code::corrupt, "the TIFF's strips or tiles do not fit its pixels");
  }
  grid.width = static_cast<int>(width);
  grid.height = static_cast<int>(height);
  grid.row_bytes = row_bytes;
  grid.block_bytes = static_cast<std::size_t>(block);
  return grid;
}

// Reads the samples block by block, without any conversion by libtiff.
class PlainReader {
 public:
  PlainReader(TIFF* tiff, const TiffInfo& info, const Layout& layout)
      : tiff_(tiff), info_(info), layout_(layout), grid_(read_grid(tiff, info, layout)) {}

  // False at the first block that can't be read; it and those behind it stay as they were.
  bool read(const Plane& out) {
    std::vector<std::uint8_t> block(grid_.block_bytes);
    for (int y = 0; y < out.height; y += grid_.height) {
      for (int x = 0; x < out.width; x += grid_.width) {
        if (!read_block(x, y, block)) return false;
        convert_block(x, y, block, out);
      }
    }
    return true;
  }

 private:
  bool read_block(int x, int y, std::vector<std::uint8_t>& block) {
    const auto size = static_cast<tmsize_t>(block.size());
    const auto column = static_cast<std::uint32_t>(x), row = static_cast<std::uint32_t>(y);
    if (grid_.tiled) {
      return TIFFReadEncodedTile(tiff_, TIFFComputeTile(tiff_, column, row, 0, 0), block.data(),
                                 size) >= 0;
    }
    return TIFFReadEncodedStrip(tiff_, TIFFComputeStrip(tiff_, row, 0), block.data(), size) >= 0;
  }

  void convert_block(int x0, int y0, const std::vector<std::uint8_t>& block, const Plane& out) {
    const int width = std::min(grid_.width, out.width - x0);
    const int height = std::min(grid_.height, out.height - y0);
    for (int y = 0; y < height; ++y) {
      const std::uint8_t* in = block.data() + grid_.row_bytes * static_cast<std::size_t>(y);
      std::uint8_t* to = out.row(y0 + y) + std::ptrdiff_t{out.channels} * x0;
      info_.bits == 16 ? convert_row<std::uint16_t>(in, width, layout_, to)
                       : convert_row<std::uint8_t>(in, width, layout_, to);
    }
  }

  TIFF* tiff_;
  const TiffInfo& info_;
  const Layout& layout_;
  Grid grid_;
};

// libtiff's conversion of any kind of picture to RGBA, premultiplied.
class RgbaReader {
 public:
  RgbaReader(TIFF* tiff, bool stop_on_error) {
    char why[1024] = "";
    if (!TIFFRGBAImageOK(tiff, why) || !TIFFRGBAImageBegin(&image_, tiff, stop_on_error, why)) {
      fail(Code::unsupported, "this kind of TIFF is not supported: {}", why);
    }
    // The rows as stored, top first; bringing the picture upright comes later.
    image_.orientation = ORIENTATION_TOPLEFT;
    image_.req_orientation = ORIENTATION_TOPLEFT;
  }
  ~RgbaReader() { TIFFRGBAImageEnd(&image_); }
  RgbaReader(const RgbaReader&) = delete;

  bool has_alpha() const { return image_.alpha != 0; }

  bool read(const Plane& out) {
    std::vector<std::uint32_t> raster(static_cast<std::size_t>(out.width) *
                                      static_cast<std::size_t>(out.height));
    const bool whole =
        TIFFRGBAImageGet(&image_, raster.data(), static_cast<std::uint32_t>(out.width),
                         static_cast<std::uint32_t>(out.height)) != 0;
    for (int y = 0; y < out.height; ++y) {
      const std::uint32_t* in =
          raster.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(out.width);
      std::uint8_t* to = out.row(y);
      for (int x = 0; x < out.width; ++x) {
        for (int i = 0; i < out.channels; ++i) *to++ = static_cast<std::uint8_t>(in[x] >> (8 * i));
      }
      if (out.channels == 4) unpremultiply_row(out.row(y), out.width, 4);
    }
    return whole;
  }

 private:
  TIFFRGBAImage image_{};
};

bool is_grey(const TiffInfo& info) {
  return info.photometric == PHOTOMETRIC_MINISWHITE || info.photometric == PHOTOMETRIC_MINISBLACK;
}

}  // namespace

TiffInfo read_tiff_info(const Bytes& data) {
  const Directory directory(data.view());
  TiffInfo info;
  read_size(directory, info);
  read_samples(directory, info);
  info.complete = is_complete(directory);
  const std::uint32_t orientation = directory.value(274, 1);
  info.orientation = orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : 1;
  if (const auto icc = directory.find(34675)) info.icc = icc->bytes().value_or(ByteView());
  if (directory.more_images()) {
    info.warnings.emplace_back("several pages: only the first image is used");
  }
  return info;
}

Plane decode_tiff(const Bytes& data, const TiffInfo& info, bool allow_truncated,
                  PlaneBuffer& buffer, bool& cmyk, std::vector<std::string>& warnings) {
  if (!info.complete && !allow_truncated) {
    fail(Code::truncated, "the TIFF ends before its image does");
  }
  TiffSource source{data.view()};
  Messages messages{{}, &warnings};
  const TiffPtr tiff = open_tiff(source, messages);
  if (!tiff) fail(Code::corrupt, "the TIFF is damaged: {}", messages.error);
  check_tiles(tiff.get(), info);
  Plane out;
  bool whole = false;
  cmyk = false;
  if (const auto layout = plain_layout(info)) {
    cmyk = layout->colors == 4;
    PlainReader reader(tiff.get(), info, *layout);
    out = buffer.shape(info.width, info.height, layout->channels());
    clear(out);
    whole = reader.read(out);
  } else {
    RgbaReader reader(tiff.get(), !allow_truncated);
    const int channels = reader.has_alpha() ? 4 : is_grey(info) ? 1 : 3;
    out = buffer.shape(info.width, info.height, channels);
    whole = reader.read(out);
  }
  if (!whole && info.complete) fail(Code::corrupt, "the TIFF is damaged: {}", messages.error);
  if (!info.complete) warnings.emplace_back("truncated: what is missing is blank");
  return out;
}

}  // namespace prep::image
