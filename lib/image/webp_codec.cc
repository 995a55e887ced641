#include "lib/image/webp_codec.h"

#include <webp/decode.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/codec_limits.h"
#include "lib/image/exif.h"

namespace prep::image {
namespace {

// The format's own limit for the canvas of an animation is four times that.

// ---- The container

struct RiffChunk {
  std::string_view type;
  ByteView payload;
  bool whole = true;
};

// Calls f(chunk) for chunk after chunk; the last one may lack its end. Whether it doesn't.
template <typename F>
bool for_each_chunk(ByteView chunks, F&& f) {
  const ByteReader reader(chunks, ByteOrder::little);
  for (std::uint64_t at = 0; at + 8 <= chunks.size();) {
    const std::uint64_t size = *reader.u32(at + 4), left = chunks.size() - at - 8;
    const bool whole = size <= left;
    f(RiffChunk{as_text(chunks.subspan(at, 4)), chunks.subspan(at + 8, std::min(size, left)),
                whole});
    if (!whole) return false;
    at += 8 + size + (size & 1);
  }
  return true;
}

[[noreturn]] void fail_header(const RiffChunk& chunk) {
  if (!chunk.whole) fail(Code::truncated, "the WebP ends inside its header");
  fail(Code::corrupt, "the WebP's header is damaged");
}

// The size from a VP8 key frame's header (RFC 6386, 9.1).
void read_vp8(const RiffChunk& chunk, WebpInfo& info) {
  const ByteReader reader(chunk.payload, ByteOrder::little);
  if (!reader.u16(8) || reader.u24(3) != 0x2a019du) fail_header(chunk);
  info.width = static_cast<int>(*reader.u16(6) & 0x3fff);
  info.height = static_cast<int>(*reader.u16(8) & 0x3fff);
}

// 0x2f, then 14 bits of width - 1, 14 bits of height - 1, one bit of alpha.
void read_vp8l(const RiffChunk& chunk, WebpInfo& info) {
  const ByteReader reader(chunk.payload, ByteOrder::little);
  const auto bits = reader.u32(1);
  if (!bits || chunk.payload[0] != 0x2f) fail_header(chunk);
  info.width = static_cast<int>((*bits & 0x3fff) + 1);
  info.height = static_cast<int>((*bits >> 14 & 0x3fff) + 1);
  info.alpha = (*bits >> 28 & 1) != 0;
}

void read_vp8x(const RiffChunk& chunk, WebpInfo& info) {
  const ByteReader reader(chunk.payload, ByteOrder::little);
  if (!reader.u24(7)) fail_header(chunk);
  info.alpha = (chunk.payload[0] & 0x10) != 0;
  info.animated = (chunk.payload[0] & 0x02) != 0;
  info.width = static_cast<int>(*reader.u24(4) + 1);
  info.height = static_cast<int>(*reader.u24(7) + 1);
}

// EXIF in WebP is the bare block, or by some encoders with JPEG's "Exif\0\0" before it.
Bytes exif_block(const Bytes& data, ByteView payload) {
  std::size_t skip = 0;
  if (as_text(payload).starts_with(std::string_view("Exif\0\0", 6))) skip = 6;
  const auto at = static_cast<std::size_t>(payload.data() - data.data());
  return data.slice(at + skip, payload.size() - skip);
}

void take_chunk(const Bytes& data, const RiffChunk& chunk, bool extended, WebpInfo& info) {
  if (chunk.type == "VP8X" && info.width == 0) read_vp8x(chunk, info);
  if (chunk.type == "VP8 " && !extended) read_vp8(chunk, info);
  if (chunk.type == "VP8L" && !extended) read_vp8l(chunk, info);
  if (chunk.type == "ANMF" && info.frame.empty()) info.frame = chunk.payload;
  if (!chunk.whole) return;
  if (chunk.type == "ICCP") info.icc = chunk.payload;
  if (chunk.type == "EXIF") {
    info.exif = exif_block(data, chunk.payload);
    info.orientation = exif_orientation(info.exif.view());
  }
}

// ---- libwebp

// Where the pixels of a stream go: a rectangle of the plane, 3 channels or 4.
class Decoder {
 public:
  explicit Decoder(const Plane& out) {
    if (!WebPInitDecoderConfig(&config_)) fail(Code::internal, "libwebp is of another version");
    WebPDecBuffer& target = config_.output;
    target.colorspace = out.channels == 4 ? MODE_RGBA : MODE_RGB;
    target.is_external_memory = 1;
    target.u.RGBA.rgba = out.data;
    target.u.RGBA.stride = static_cast<int>(out.stride);
    target.u.RGBA.size =
        static_cast<std::size_t>(out.stride) * static_cast<std::size_t>(out.height - 1) +
        static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.channels);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void decode(ByteView stream) { check(WebPDecode(stream.data(), stream.size(), &config_)); }

  // The rows that are there.
  void decode_start(ByteView stream) {
    struct Delete {
      void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
    };
    const std::unique_ptr<WebPIDecoder, Delete> decoder(WebPINewDecoder(&config_.output));
    if (!decoder) throw std::bad_alloc();
    const VP8StatusCode status = WebPIUpdate(decoder.get(), stream.data(), stream.size());
    int rows = 0;
    WebPIDecGetRGB(decoder.get(), &rows, nullptr, nullptr, nullptr);
    if (status != VP8_STATUS_SUSPENDED && status != VP8_STATUS_NOT_ENOUGH_DATA) check(status);
    if (rows <= 0) fail(Code::truncated, "the WebP ends before its image begins");
  }

 private:
  static void check(VP8StatusCode status) {
    if (status == VP8_STATUS_OUT_OF_MEMORY) throw std::bad_alloc();
    if (status != VP8_STATUS_OK) fail(Code::corrupt, "the WebP is damaged");
  }

  WebPDecoderConfig config_{};
};

// What libwebp says of a stream, which must be of the size that the container says.
bool stream_has_alpha(ByteView stream, int width, int height, bool complete) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(stream.data(), stream.size(), &features);
  if (status == VP8_STATUS_NOT_ENOUGH_DATA && !complete) {
    fail(Code::truncated, "the WebP ends before its image begins");
  }
  if (status != VP8_STATUS_OK || features.width != width || features.height != height) {
    fail(Code::corrupt, "the WebP is damaged");
  }
  return features.has_alpha != 0;
}

void decode_stream(ByteView stream, bool complete, const Plane& out) {
  Decoder decoder(out);
  if (complete) {
    decoder.decode(stream);
  } else {
    decoder.decode_start(stream);
  }
}

// An ANMF chunk: where the frame lies on the canvas, and its stream, whose chunks need no RIFF
// header around them.
struct Frame {
  explicit Frame(ByteView payload) {
    const ByteReader reader(payload, ByteOrder::little);
    x = static_cast<int>(*reader.u24(0) * 2);
    y = static_cast<int>(*reader.u24(3) * 2);
    width = static_cast<int>(*reader.u24(6) + 1);
    height = static_cast<int>(*reader.u24(9) + 1);
    stream = payload.subspan(kHeader);
  }
  static constexpr std::size_t kHeader = 16;

  int x = 0, y = 0, width = 0, height = 0;
  ByteView stream;
};

Plane decode_first_frame(const WebpInfo& info, PlaneBuffer& buffer) {
  if (info.frame.size() <= Frame::kHeader) {
    fail(info.complete ? Code::corrupt : Code::truncated, "the WebP has no first frame");
  }
  const Frame frame(info.frame);
  if (frame.width > info.width - frame.x || frame.height > info.height - frame.y) {
    fail(Code::corrupt, "the WebP's first frame is larger than its canvas");
  }
  const bool alpha = stream_has_alpha(frame.stream, frame.width, frame.height, info.complete) ||
                     frame.width != info.width || frame.height != info.height;
  const Plane out = buffer.shape(info.width, info.height, alpha ? 4 : 3);
  clear(out);
  Plane part = out;
  part.data = out.row(frame.y) + std::ptrdiff_t{out.channels} * frame.x;
  part.width = frame.width;
  part.height = frame.height;
  decode_stream(frame.stream, info.complete, part);
  return out;
}

Plane decode_still(ByteView stream, const WebpInfo& info, PlaneBuffer& buffer) {
  const bool alpha = stream_has_alpha(stream, info.width, info.height, info.complete);
  const Plane out = buffer.shape(info.width, info.height, alpha ? 4 : 3);
  if (!info.complete) clear(out);
  decode_stream(stream, info.complete, out);
  return out;
}

}  // namespace

WebpInfo read_webp_info(const Bytes& data) {
  const ByteReader reader(data.view(), ByteOrder::little);
  const auto riff = reader.u32(4);
  if (!riff || data.size() < 20) fail(Code::truncated, "the WebP ends inside its header");
  if (*riff < 12) fail(Code::corrupt, "the WebP's header is damaged");
  WebpInfo info;
  const std::uint64_t there = data.size() - 8;
  info.complete = *riff <= there;
  const ByteView chunks = data.view().subspan(12, std::min<std::uint64_t>(*riff, there) - 4);
  const bool extended = as_text(chunks).starts_with("VP8X");
  const bool whole = for_each_chunk(
      chunks, [&](const RiffChunk& chunk) { take_chunk(data, chunk, extended, info); });
  if (!whole && info.complete) fail(Code::corrupt, "the WebP's chunks do not fit together");
  if (info.width <= 0 || info.height <= 0) {
    fail(info.complete ? Code::corrupt : Code::truncated, "the WebP has no image");
  }
  if (info.animated) info.warnings.emplace_back("animated: only the first image is used");
  if (there > std::uint64_t{*riff} + (*riff & 1)) {
    info.warnings.emplace_back("trailing bytes after the image");
  }
  return info;
}

Plane decode_webp(const Bytes& data, const WebpInfo& info, bool allow_truncated,
                  PlaneBuffer& buffer, std::vector<std::string>& warnings) {
  if (std::int64_t{info.width} * info.height > kMaxCodecPixels) {
    fail(Code::limit, "{} x {} pixels are more than the decoder takes", info.width, info.height);
  }
  if (!info.complete && !allow_truncated) {
    fail(Code::truncated, "the WebP ends before its image does");
  }
  const Plane out =
      info.animated ? decode_first_frame(info, buffer) : decode_still(data.view(), info, buffer);
  if (!info.complete) warnings.emplace_back("truncated: what is missing is blank");
  return out;
}

}  // namespace prep::image
