#include "lib/image/gif_codec.h"

#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/codec_limits.h"

namespace prep::image {
namespace {


constexpr std::uint8_t kExtension = '!', kImage = ',', kTrailer = ';', kGraphicControl = 0xf9;
constexpr std::uint8_t kHasPalette = 0x80, kInterlaced = 0x40, kHasTransparent = 0x01;
constexpr std::uint64_t kScreenEnd = 13, kDescriptor = 10;

// ---- Blocks

// Walks the blocks of a file.
class BlockReader {
 public:
  explicit BlockReader(ByteView file) : file_(file), reader_(file, ByteOrder::little) {
    if (file.size() < kScreenEnd) fail(Code::truncated, "the GIF ends inside its header");
    at_ = kScreenEnd;
  }

  // The introducer of the next block; nullopt at the end of the file.
  std::optional<std::uint8_t> next() {
    if (at_ >= file_.size()) return std::nullopt;
    return file_[at_++];
  }
  std::uint64_t at() const { return at_; }
  std::uint32_t u16(std::uint64_t at) const { return *reader_.u16(at); }
  std::uint8_t u8(std::uint64_t at) const { return file_[at]; }

  // `size` bytes from here on, which are passed over.
  ByteView take(std::uint64_t size) {
    const auto bytes = reader_.bytes(at_, size);
    if (!bytes) fail(Code::truncated, "the GIF ends before its image begins");
    at_ += size;
    return *bytes;
  }
  // A palette of the size that the flags of a screen or an image give.
  ByteView take_palette(std::uint8_t flags) {
    return flags & kHasPalette ? take(std::uint64_t{6} << (flags & 7)) : ByteView();
  }
  // Passes over sub-blocks and the empty one that ends them; false if the file ends in them.
  bool skip_sub_blocks() {
    while (at_ < file_.size()) {
      const std::uint8_t size = file_[at_++];
      if (size == 0) return true;
      if (size > file_.size() - at_) break;
      at_ += size;
    }
    at_ = file_.size();
    return false;
  }
  ByteView from(std::uint64_t start) const { return file_.subspan(start, at_ - start); }

 private:
  ByteView file_;
  ByteReader reader_;
  std::uint64_t at_ = 0;
};

// An extension before the first image: only its transparent colour matters.
void read_extension(BlockReader& reader, GifInfo& info) {
  const bool control = reader.take(1)[0] == kGraphicControl;
  const std::uint64_t start = reader.at();
  if (!reader.skip_sub_blocks()) fail(Code::truncated, "the GIF ends before its image begins");
  const ByteView blocks = reader.from(start);
  if (!control || blocks[0] < 4) return;
  info.transparent = blocks[1] & kHasTransparent ? blocks[4] : -1;
}

void read_image(BlockReader& reader, ByteView global_palette, GifInfo& info) {
  const ByteReader fields(reader.take(kDescriptor - 1), ByteOrder::little);
  info.left = static_cast<int>(*fields.u16(0));
  info.top = static_cast<int>(*fields.u16(2));
  info.image_width = static_cast<int>(*fields.u16(4));
  info.image_height = static_cast<int>(*fields.u16(6));
  const std::uint8_t flags = (*fields.bytes(8, 1))[0];
  info.interlaced = (flags & kInterlaced) != 0;
  const ByteView palette = reader.take_palette(flags);
  info.palette = palette.empty() ? global_palette : palette;
  if (info.image_width == 0 || info.image_height == 0) {
    fail(Code::corrupt, "the GIF's first image is empty");
  }
  if (info.palette.empty()) fail(Code::corrupt, "the GIF has no palette");
  info.width = std::max(info.width, info.left + info.image_width);
  info.height = std::max(info.height, info.top + info.image_height);
  const std::uint64_t start = reader.at();
  reader.take(1);
  info.complete = reader.skip_sub_blocks();
  info.pixels = reader.from(start);
}

// What follows the first image, as far as to tell whether there is another.
void read_rest(BlockReader& reader, std::uint64_t size, GifInfo& info) {
  while (const auto block = reader.next()) {
    if (*block == kImage) {
      info.animated = true;
      info.warnings.emplace_back("animated: only the first image is used");
      return;
    }
    if (*block == kTrailer) {
      if (reader.at() < size) info.warnings.emplace_back("trailing bytes after the image");
      return;
    }
    if (*block != kExtension || !reader.next() || !reader.skip_sub_blocks()) break;
  }
  info.warnings.emplace_back("ends without its end mark");
}

// ---- giflib

// The smallest GIF around the pixels, so that giflib sees no other block: header and screen without
// a palette, the image's descriptor, and the pixels.
class GifSource {
 public:
  explicit GifSource(const GifInfo& info) : pixels_(info.pixels) {
    std::memcpy(head_.data(), "GIF89a", 6);
    put16(6, info.image_width);
    put16(8, info.image_height);
    head_[kScreenEnd] = kImage;
    put16(kScreenEnd + 5, info.image_width);
    put16(kScreenEnd + 7, info.image_height);
  }

  int read(std::uint8_t* out, int size) {
    const std::size_t wanted = static_cast<std::size_t>(std::max(size, 0));
    std::size_t count = copy(head_, 0, out, wanted);
    count += copy(pixels_, head_.size(), out + count, wanted - count);
    return static_cast<int>(count);
  }

 private:
  void put16(std::size_t at, int value) {
    head_[at] = static_cast<std::uint8_t>(value & 0xff);
    head_[at + 1] = static_cast<std::uint8_t>(value >> 8);
  }

  // What of `part`, which stands at `start`, comes next.
  std::size_t copy(ByteView part, std::size_t start, std::uint8_t* out, std::size_t size) {
    if (at_ < start || at_ - start >= part.size()) return 0;
    const ByteView rest = part.subspan(at_ - start);
    const std::size_t count = std::min(size, rest.size());
    if (count > 0) std::memcpy(out, rest.data(), count);
    at_ += count;
    return count;
  }

  std::array<std::uint8_t, kScreenEnd + kDescriptor> head_{};
  ByteView pixels_;
  std::size_t at_ = 0;
};

int read_source(GifFileType* gif, GifByteType* out, int size) {
  return static_cast<GifSource*>(gif->UserData)->read(out, size);
}

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using GifPtr = std::unique_ptr<GifFileType, CloseGif>;

// Ready for the first row.
GifPtr open_gif(GifSource& source) {
  int error = 0;
  GifPtr gif(DGifOpen(&source, read_source, &error));
  if (!gif) {
    if (error == D_GIF_ERR_NOT_ENOUGH_MEM) throw std::bad_alloc();
    fail(Code::corrupt, "the GIF is damaged");
  }
  GifRecordType type = UNDEFINED_RECORD_TYPE;
  if (DGifGetRecordType(gif.get(), &type) != GIF_OK || DGifGetImageDesc(gif.get()) != GIF_OK) {
    fail(Code::corrupt, "the GIF's pixels are damaged");
  }
  return gif;
}

// ---- Pixels

void convert_row(const std::vector<std::uint8_t>& indices, const GifInfo& info, int channels,
                 std::uint8_t* out) {
  for (const std::uint8_t index : indices) {
    const std::size_t at = std::size_t{3} * index;
    if (index != info.transparent) {
      if (at < info.palette.size()) std::memcpy(out, info.palette.data() + at, 3);
      if (channels == 4) out[3] = 255;
    }
    out += channels;
  }
}

// The rows in the order in which they are stored.
std::vector<int> row_order(const GifInfo& info) {
  std::vector<int> rows;
  rows.reserve(static_cast<std::size_t>(info.image_height));
  struct Pass {
    int start, step;
  };
  static constexpr Pass kWhole[] = {{0, 1}};
  static constexpr Pass kInterlaces[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  const auto add = [&](const Pass& pass) {
    for (int y = pass.start; y < info.image_height; y += pass.step) rows.push_back(y);
  };
  if (info.interlaced) {
    std::for_each(std::begin(kInterlaces), std::end(kInterlaces), add);
  } else {
    add(kWhole[0]);
  }
  return rows;
}

// How many of the rows could be read; the others stay as they were.
std::size_t read_rows(GifFileType* gif, const GifInfo& info, const Plane& out) {
  std::vector<std::uint8_t> indices(static_cast<std::size_t>(info.image_width));
  std::size_t count = 0;
  for (const int y : row_order(info)) {
    if (DGifGetLine(gif, indices.data(), info.image_width) != GIF_OK) break;
    convert_row(indices, info, out.channels,
                out.row(info.top + y) + std::ptrdiff_t{out.channels} * info.left);
    ++count;
  }
  return count;
}

}  // namespace

GifInfo read_gif_info(const Bytes& data) {
  BlockReader reader(data.view());
  GifInfo info;
  info.width = static_cast<int>(reader.u16(6));
  info.height = static_cast<int>(reader.u16(8));
  const ByteView palette = reader.take_palette(reader.u8(10));
  while (const auto block = reader.next()) {
    if (*block == kImage) {
      read_image(reader, palette, info);
      if (info.complete) read_rest(reader, data.size(), info);
      return info;
    }
    if (*block == kExtension) {
      read_extension(reader, info);
    } else if (*block != 0) {  // some writers leave a zero too many between blocks
      fail(Code::corrupt, "the GIF has no image");
    }
  }
  fail(Code::truncated, "the GIF ends before its image begins");
}

Plane decode_gif(const GifInfo& info, bool allow_truncated, PlaneBuffer& buffer,
                 std::vector<std::string>& warnings) {
  if (std::int64_t{info.width} * info.height > kMaxCodecPixels) {
    fail(Code::limit, "{} x {} pixels are more than the decoder takes", info.width, info.height);
  }
  if (!info.complete && !allow_truncated) {
    fail(Code::truncated, "the GIF ends before its image does");
  }
  GifSource source(info);
  const GifPtr gif = open_gif(source);
  const Plane out = buffer.shape(info.width, info.height, info.has_alpha() ? 4 : 3);
  clear(out);
  const std::size_t rows = read_rows(gif.get(), info, out);
  if (rows < static_cast<std::size_t>(info.image_height)) {
    if (info.complete) fail(Code::corrupt, "the GIF's pixels are damaged");
    if (rows == 0) fail(Code::truncated, "the GIF ends before its image begins");
  }
  if (!info.complete) warnings.emplace_back("truncated: what is missing is blank");
  return out;
}

}  // namespace prep::image
