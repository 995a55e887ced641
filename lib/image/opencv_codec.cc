#include "lib/image/opencv_codec.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>

#include "lib/core/error.h"
#include "lib/image/byte_reader.h"
#include "lib/image/exif.h"

namespace prep::image {
namespace {

// OpenCV's own limits (imgcodecs/src/loadsave.cpp). They would fire with a message about asserts.
constexpr std::int64_t kMaxSide = 1 << 20, kMaxPixels = 1 << 30;
// WebPDecoder refuses a smaller buffer, though a WebP can be smaller.
constexpr std::size_t kMinBuffer = 32;

void check_opencv_limits(int width, int height) {
  if (width > kMaxSide || height > kMaxSide || std::int64_t{width} * height > kMaxPixels) {
    fail(Code::limit, "{} x {} pixels are more than the decoder takes", width, height);
  }
}

void quiet_opencv() {
  static std::once_flag once;
  std::call_once(once, [] {
    cv::setNumThreads(0);
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  });
}

// The pixels as stored, 8 bits a channel, in OpenCV's order; an empty matrix if it can't decode.
cv::Mat decode(ByteView file) {
  quiet_opencv();
  if (file.size() > INT_MAX) fail(Code::limit, "the file is larger than the decoder takes");
  std::vector<std::uint8_t> padded;
  if (file.size() < kMinBuffer) {
    padded.assign(file.begin(), file.end());
    padded.resize(kMinBuffer);
    file = padded;
  }
  const cv::Mat buffer(1, static_cast<int>(file.size()), CV_8UC1,
                       const_cast<std::uint8_t*>(file.data()));  // OpenCV only reads it
  try {
    const cv::Mat pixels = cv::imdecode(buffer, cv::IMREAD_UNCHANGED);
    return pixels.depth() == CV_8U ? pixels : cv::Mat();
  } catch (const cv::Exception&) {
    return {};
  }
}

// BGR(A) to RGB(A), or grey as it is. Where `out` has fewer channels, alpha is dropped.
void copy_pixels(const cv::Mat& in, const Plane& out) {
  const int channels = in.channels();
  for (int y = 0; y < out.height; ++y) {
    const std::uint8_t* from = in.ptr<std::uint8_t>(y);
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < out.width; ++x, from += channels, to += out.channels) {
      for (int i = 0; i < out.channels; ++i) to[i] = from[i < 3 && channels >= 3 ? 2 - i : i];
    }
  }
}

// ---- WebP

struct RiffChunk {
  std::string_view type;
  ByteView payload;
};

// Calls f(chunk) for chunk after chunk; false if the data ends inside one.
template <typename F>
bool for_each_chunk(ByteView chunks, F&& f) {
  const ByteReader reader(chunks, ByteOrder::little);
  for (std::uint64_t at = 0; at + 8 <= chunks.size();) {
    const std::uint64_t size = *reader.u32(at + 4);
    const auto payload = reader.bytes(at + 8, size);
    if (!payload) return false;
    f(RiffChunk{as_text(chunks.subspan(at, 4)), *payload});
    at += 8 + size + (size & 1);
  }
  return true;
}

// The size from a VP8 key frame's header (RFC 6386, 9.1).
void read_vp8(ByteView payload, WebpInfo& info) {
  const ByteReader reader(payload, ByteOrder::little);
  if (reader.u24(3) != 0x2a019du || !reader.u16(8)) {
    fail(Code::corrupt, "the WebP's frame header is damaged");
  }
  info.width = static_cast<int>(*reader.u16(6) & 0x3fff);
  info.height = static_cast<int>(*reader.u16(8) & 0x3fff);
}

// 0x2f, then 14 bits of width - 1, 14 bits of height - 1, one bit of alpha.
void read_vp8l(ByteView payload, WebpInfo& info) {
  const ByteReader reader(payload, ByteOrder::little);
  const auto bits = reader.u32(1);
  if (!bits || payload[0] != 0x2f) fail(Code::corrupt, "the WebP's frame header is damaged");
  info.width = static_cast<int>((*bits & 0x3fff) + 1);
  info.height = static_cast<int>((*bits >> 14 & 0x3fff) + 1);
  info.alpha = (*bits >> 28 & 1) != 0;
}

void read_vp8x(ByteView payload, WebpInfo& info) {
  const ByteReader reader(payload, ByteOrder::little);
  if (!reader.u24(7)) fail(Code::corrupt, "the WebP's header is damaged");
  info.alpha = (payload[0] & 0x10) != 0;
  info.animated = (payload[0] & 0x02) != 0;
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
  if (chunk.type == "VP8X" && info.width == 0) read_vp8x(chunk.payload, info);
  if (chunk.type == "VP8 " && !extended) read_vp8(chunk.payload, info);
  if (chunk.type == "VP8L" && !extended) read_vp8l(chunk.payload, info);
  if (chunk.type == "ICCP") info.icc = chunk.payload;
  if (chunk.type == "ANMF" && info.frame.empty()) info.frame = chunk.payload;
  if (chunk.type == "EXIF") {
    info.exif = exif_block(data, chunk.payload);
    info.orientation = exif_orientation(info.exif.view());
  }
}

void put(std::vector<std::uint8_t>& out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

void put(std::vector<std::uint8_t>& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

// Where an animation's first frame lies on the canvas, and a still WebP made of it.
struct Frame {
  int x = 0, y = 0, width = 0, height = 0;
  bool alpha = false;
  std::vector<std::uint8_t> file;
};

Frame first_frame(ByteView payload) {
  const ByteReader reader(payload, ByteOrder::little);
  if (payload.size() < 16) fail(Code::corrupt, "the WebP has no first frame");
  Frame frame;
  frame.x = static_cast<int>(*reader.u24(0) * 2);
  frame.y = static_cast<int>(*reader.u24(3) * 2);
  frame.width = static_cast<int>(*reader.u24(6) + 1);
  frame.height = static_cast<int>(*reader.u24(9) + 1);
  const ByteView chunks = payload.subspan(16);
  for_each_chunk(chunks, [&](const RiffChunk& chunk) {
    if (chunk.type == "ALPH") frame.alpha = true;
    if (chunk.type == "VP8L" && chunk.payload.size() >= 5) {
      frame.alpha = (chunk.payload[4] & 0x10) != 0;
    }
  });
  put(frame.file, "RIFF");
  put(frame.file, static_cast<std::uint32_t>(4 + 18 + chunks.size()), 4);
  put(frame.file, "WEBPVP8X");
  put(frame.file, 10, 4);
  put(frame.file, frame.alpha ? 0x10 : 0, 4);
  put(frame.file, static_cast<std::uint32_t>(frame.width - 1), 3);
  put(frame.file, static_cast<std::uint32_t>(frame.height - 1), 3);
  frame.file.insert(frame.file.end(), chunks.begin(), chunks.end());
  return frame;
}

// The first frame on a canvas that is transparent where it does not reach.
Plane decode_animation(const WebpInfo& info, PlaneBuffer& buffer) {
  const Frame frame = first_frame(info.frame);
  if (frame.width > info.width - frame.x || frame.height > info.height - frame.y) {
    fail(Code::corrupt, "the WebP's first frame is larger than its canvas");
  }
  const cv::Mat pixels = decode(frame.file);
  if (pixels.cols != frame.width || pixels.rows != frame.height || pixels.channels() < 3) {
    fail(Code::corrupt, "the WebP's first frame is damaged");
  }
  const bool covers = frame.width == info.width && frame.height == info.height;
  const Plane out = buffer.shape(info.width, info.height, covers ? pixels.channels() : 4);
  if (!covers) {
    for (int y = 0; y < out.height; ++y) {
      std::memset(out.row(y), 0, std::size_t{4} * static_cast<std::size_t>(out.width));
    }
  }
  Plane part = out;
  part.data = out.row(frame.y) + std::ptrdiff_t{out.channels} * frame.x;
  part.width = frame.width;
  part.height = frame.height;
  if (pixels.channels() == part.channels) {
    copy_pixels(pixels, part);
    return out;
  }
  cv::Mat opaque(pixels.rows, pixels.cols, CV_8UC4, cv::Scalar(0, 0, 0, 255));
  const std::array<int, 6> pairs{0, 0, 1, 1, 2, 2};
  cv::mixChannels(&pixels, 1, &opaque, 1, pairs.data(), 3);
  copy_pixels(opaque, part);
  return out;
}

// ---- BMP

constexpr std::uint32_t kRgb = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3;

// The masks of 16- and 32-bit pixels stand behind the first 40 bytes of the header.
void read_masks(const ByteReader& reader, std::uint32_t header, BmpInfo& info) {
  const auto red = reader.u32(54), green = reader.u32(58), blue = reader.u32(62);
  if (!red || !green || !blue) fail(Code::truncated, "the BMP ends inside its header");
  const auto are = [&](std::uint32_t r, std::uint32_t g, std::uint32_t b) {
    return *red == r && *green == g && *blue == b;
  };
  const bool known = info.bits == 32 ? are(0xff0000, 0xff00, 0xff)
                                     : are(0x7c00, 0x3e0, 0x1f) || are(0xf800, 0x7e0, 0x1f);
  if (!known) fail(Code::unsupported, "a BMP with unusual colour masks is not supported");
  info.green_bits = *green == 0x7e0 ? 6 : 5;
  info.alpha = info.bits == 32 && header >= 56 && reader.u32(66) == 0xff000000u;
}

void check_bmp_kind(std::uint32_t compression, const BmpInfo& info) {
  const bool runs =
      (compression == kRle8 && info.bits == 8) || (compression == kRle4 && info.bits == 4);
  const bool fields = compression == kBitFields && (info.bits == 16 || info.bits == 32);
  if (compression != kRgb && !runs && !fields) {
    fail(Code::unsupported, "a BMP of {} bits with compression {} is not supported", info.bits,
         compression);
  }
  static constexpr std::array kBits{1, 4, 8, 16, 24, 32};
  if (std::find(kBits.begin(), kBits.end(), info.bits) == kBits.end()) {
    fail(Code::corrupt, "a BMP of {} bits does not exist", info.bits);
  }
}

// A 5- or 6-bit value that OpenCV has only shifted to the left: repeats its upper bits below, so
// that white is 255.
std::uint8_t widen(std::uint8_t value, int bits) {
  return static_cast<std::uint8_t>(value | value >> bits);
}

void widen_channels(const Plane& out, int green_bits) {
  for (int y = 0; y < out.height; ++y) {
    std::uint8_t* pixel = out.row(y);
    for (int x = 0; x < out.width; ++x, pixel += 3) {
      pixel[0] = widen(pixel[0], 5);
      pixel[1] = widen(pixel[1], green_bits);
      pixel[2] = widen(pixel[2], 5);
    }
  }
}

}  // namespace

WebpInfo read_webp_info(const Bytes& data) {
  WebpInfo info;
  const ByteReader reader(data.view(), ByteOrder::little);
  const auto riff = reader.u32(4);
  if (!riff || data.size() < 20) fail(Code::truncated, "the WebP ends inside its header");
  if (*riff > data.size() - 8) fail(Code::truncated, "the WebP ends before its image does");
  if (*riff < 12) fail(Code::corrupt, "the WebP's header is damaged");
  const ByteView chunks = data.view().subspan(12, *riff - 4);
  const bool extended = as_text(chunks).starts_with("VP8X");
  const bool whole = for_each_chunk(
      chunks, [&](const RiffChunk& chunk) { take_chunk(data, chunk, extended, info); });
  if (!whole) fail(Code::corrupt, "the WebP's chunks do not fit together");
  if (info.width <= 0 || info.height <= 0) fail(Code::corrupt, "the WebP has no image");
  if (info.animated) info.warnings.emplace_back("animated: only the first image is used");
  if (data.size() - 8 > *riff + (*riff & 1)) {
    info.warnings.emplace_back("trailing bytes after the image");
  }
  return info;
}

Plane decode_webp(const Bytes& data, const WebpInfo& info, PlaneBuffer& buffer) {
  check_opencv_limits(info.width, info.height);
  if (info.animated) return decode_animation(info, buffer);
  const cv::Mat pixels = decode(data.view());
  if (pixels.cols != info.width || pixels.rows != info.height || pixels.channels() < 3) {
    fail(Code::corrupt, "the WebP is damaged");
  }
  const Plane out = buffer.shape(info.width, info.height, pixels.channels());
  copy_pixels(pixels, out);
  return out;
}

BmpInfo read_bmp_info(const Bytes& data) {
  const ByteReader reader(data.view(), ByteOrder::little);
  const auto offset = reader.u32(10), header = reader.u32(14);
  if (!offset || !header || !reader.bytes(14, *header)) {
    fail(Code::truncated, "the BMP ends inside its header");
  }
  BmpInfo info;
  std::int64_t width = 0, height = 0;
  std::uint32_t compression = kRgb;
  if (*header == 12) {
    width = *reader.u16(18);
    height = *reader.u16(20);
    info.bits = static_cast<int>(*reader.u16(24));
  } else if (*header >= 40) {
    width = static_cast<std::int32_t>(*reader.u32(18));
    height = static_cast<std::int32_t>(*reader.u32(22));
    info.bits = static_cast<int>(*reader.u16(28));
    compression = *reader.u32(30);
    if (*reader.u32(46) > 256) fail(Code::corrupt, "the BMP's palette is too large");
  } else {
    fail(Code::unsupported, "a BMP of OS/2 version 2 is not supported");
  }
  height = std::abs(height);  // negative: the rows run from the top down
  if (width <= 0 || height <= 0 || height > INT_MAX) {
    fail(Code::corrupt, "the BMP's size of {} x {} pixels is not possible", width, height);
  }
  info.width = static_cast<int>(width);
  info.height = static_cast<int>(height);
  check_bmp_kind(compression, info);
  if (compression == kBitFields) read_masks(reader, *header, info);
  if (*offset > data.size()) fail(Code::truncated, "the BMP ends before its image begins");
  const std::int64_t stride = (width * info.bits + 31) / 32 * 4;
  const bool runs = compression == kRle8 || compression == kRle4;
  if (!runs && stride / 4 * height <= kMaxPixels) {  // what is larger is never decoded
    info.full_size = *offset + static_cast<std::uint64_t>(stride * height);
  }
  return info;
}

Plane decode_bmp(const Bytes& data, const BmpInfo& info, bool allow_truncated,
                 PlaneBuffer& buffer) {
  check_opencv_limits(info.width, info.height);
  ByteView file = data.view();
  std::vector<std::uint8_t> padded;
  if (info.full_size > file.size()) {
    if (!allow_truncated) fail(Code::truncated, "the BMP ends before its image does");
    padded.assign(file.begin(), file.end());
    padded.resize(info.full_size);
    file = padded;
  }
  const cv::Mat pixels = decode(file);
  if (pixels.cols != info.width || pixels.rows != info.height) {
    fail(Code::corrupt, "the BMP is damaged");
  }
  const int channels = pixels.channels() == 1 ? 1 : info.alpha ? pixels.channels() : 3;
  const Plane out = buffer.shape(info.width, info.height, channels);
  copy_pixels(pixels, out);
  if (info.bits == 16) widen_channels(out, info.green_bits);
  return out;
}

}  // namespace prep::image
