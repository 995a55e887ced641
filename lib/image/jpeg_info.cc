#include "lib/image/jpeg_info.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lib/core/error.h"
#include "lib/image/exif.h"
#include "lib/image/quant_tables.h"

namespace prep::image {
namespace {

// Marker codes, T.81 table B.1: the byte after FF.
enum Marker : int {
  kTem = 0x01,
  kSof0 = 0xC0,
  kDht = 0xC4,
  kJpg = 0xC8,
  kDac = 0xCC,
  kSof15 = 0xCF,
  kRst0 = 0xD0,
  kRst7 = 0xD7,
  kSoi = 0xD8,
  kEoi = 0xD9,
  kSos = 0xDA,
  kDqt = 0xDB,
  kDnl = 0xDC,
  kDri = 0xDD,
  kDhp = 0xDE,
  kExp = 0xDF,
  kApp0 = 0xE0,
  kApp1 = 0xE1,
  kApp2 = 0xE2,
  kApp14 = 0xEE,
  kApp15 = 0xEF,
  kCom = 0xFE,
};

bool is_frame_header(int marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

bool stands_alone(int marker) {
  return marker == kTem || (marker >= kRst0 && marker <= kRst7) || marker == kSoi || marker == kEoi;
}

std::uint16_t big16(ByteView data, std::size_t at) {
  return static_cast<std::uint16_t>(data[at] << 8 | data[at + 1]);
}

bool starts_with(ByteView data, std::string_view text) {
  return as_text(data).substr(0, text.size()) == text;
}

struct IccChunk {
  int number = 0, count = 0;
  ByteView data;
};

// ICC.1 annex B.4: chunks numbered from 1, each says how many there are. Their order in the file
// does not matter. Returns nothing where they do not make a whole.
std::vector<std::uint8_t> join_icc(const std::vector<IccChunk>& chunks) {
  const std::size_t count = chunks.size();
  std::vector<const IccChunk*> in_order(count, nullptr);
  std::size_t size = 0;
  for (const IccChunk& chunk : chunks) {
    if (chunk.number < 1 || static_cast<std::size_t>(chunk.number) > count) return {};
    if (static_cast<std::size_t>(chunk.count) != count || in_order[chunk.number - 1u]) return {};
    in_order[chunk.number - 1u] = &chunk;
    size += chunk.data.size();
  }
  std::vector<std::uint8_t> profile;
  profile.reserve(size);
  for (const IccChunk* chunk : in_order) {
    profile.insert(profile.end(), chunk->data.begin(), chunk->data.end());
  }
  return profile;
}

class Walker {
 public:
  Walker(const Bytes& data, int max_scans)
      : bytes_(data), data_(data.view()), max_scans_(max_scans) {}

  JpegInfo walk(bool header_only) {
    if (!is_jpeg(data_)) fail(Code::corrupt, "not a JPEG: it does not start with FF D8 FF");
    at_ = 2;
    read_header();
    const bool one_scan = !info_.progressive && scan_components_ == info_.components.size();
    if (!header_only || !one_scan) read_scans();
    return std::move(info_);
  }

 private:
  // Everything up to and with the first SOS, which has to be sound.
  void read_header() {
    for (;;) {
      const int marker = next_marker();
      if (marker < 0) fail(Code::truncated, "the file ends before the image data");
      if (marker == kSoi) fail(Code::corrupt, "a second start-of-image marker in the header");
      if (marker == kEoi) fail(Code::corrupt, "the image ends before its data");
      if (stands_alone(marker)) continue;
      const auto segment = next_segment();
      if (!segment) fail(Code::truncated, "the file ends within its header");
      read_header_segment(marker, *segment);
      if (marker == kSos) break;
    }
    if (junk_ > 0) warn("{} bytes between the header's segments belong to none", junk_);
    finish_icc();
    info_.color = color_model();
  }

  void read_header_segment(int marker, ByteView segment) {
    if (is_frame_header(marker)) return read_frame(marker, segment);
    if ((marker >= kApp0 && marker <= kApp15) || marker == kCom) {
      info_.metadata.push_back({marker, segment});
    }
    switch (marker) {
      case kDhp:
      case kExp:
        fail(Code::unsupported, "a hierarchical JPEG");
      case kDqt:
        return read_quant_tables(segment);
      case kDri:
        if (segment.size() != 2) fail(Code::corrupt, "a restart interval of the wrong length");
        info_.restarts = big16(segment, 0) != 0;
        return;
      case kSos:
        return read_scan_header(segment);
      case kApp0:
        info_.jfif |= segment.size() >= 14 && starts_with(segment, std::string_view("JFIF\0", 5));
        return;
      case kApp1:
        return read_exif(segment);
      case kApp2:
        return read_icc_chunk(segment);
      case kApp14:
        if (segment.size() >= 12 && starts_with(segment, "Adobe")) {
          info_.adobe_transform = segment[11];
        }
        return;
      case kDht:
      case kDac:
      case kDnl:
      case kCom:
        return;
      default:
        if (marker >= kApp0 && marker <= kApp15) return;
        fail(Code::corrupt, "an unknown marker, FF {:02X}, in the header", marker);
    }
  }

  // The scans and what stands between them, up to the end of the image. From here on damage is the
  // decoder's to judge; the walk goes as far as it can.
  void read_scans() {
    for (;;) {
      skip_entropy_coded();
      const int marker = next_marker();
      if (marker < 0 || marker == kSoi) break;
      if (marker == kEoi) {
        info_.ends = true;
        break;
      }
      if (stands_alone(marker)) continue;
      const auto segment = next_segment();
      if (!segment) break;
      if (marker == kSos) count_scan();
    }
    info_.end_offset = info_.ends ? at_ : data_.size();
    if (info_.ends && at_ < data_.size()) {
      warn("{} bytes after the end of the image", data_.size() - at_);
    }
  }

  // The code of the next marker, and the position behind it; -1 at the end of the data.
  int next_marker() {
    while (at_ < data_.size()) {
      const std::size_t ff = find_ff(at_);
      junk_ += ff - at_;
      at_ = ff;
      while (at_ < data_.size() && data_[at_] == 0xFF) ++at_;  // any number of FFs may precede
      if (at_ == data_.size()) break;
      const int code = data_[at_++];
      if (code != 0) return code;
      junk_ += 2;
    }
    return -1;
  }

  std::size_t find_ff(std::size_t from) const {
    const void* found = std::memchr(data_.data() + from, 0xFF, data_.size() - from);
    return found ? static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data_.data())
                 : data_.size();
  }

  // To the next marker that is none of a scan's own (stuffed FF 00, restarts) nor a reserved code,
  // which only damage can have put there.
  void skip_entropy_coded() {
    while ((at_ = find_ff(at_)) + 1 < data_.size()) {
      const int code = data_[at_ + 1];
      const bool stuffed = code < kSof0 || (code >= kRst0 && code <= kRst7) ||
                           (code > kApp15 && code != kCom && code != 0xFF);
      if (!stuffed && code != 0xFF) return;
      at_ += code == 0xFF ? 1 : 2;
    }
    at_ = data_.size();
  }

  // The payload of the segment whose length stands here; nullopt if it does not fit in the data.
  std::optional<ByteView> next_segment() {
    if (data_.size() - at_ < 2) return std::nullopt;
    const std::size_t length = big16(data_, at_);
    if (length < 2) {
      if (info_.scans > 0) return std::nullopt;
      fail(Code::corrupt, "a segment of length {} in the header", length);
    }
    if (length > data_.size() - at_) return std::nullopt;
    const ByteView payload = data_.subspan(at_ + 2, length - 2);
    at_ += length;
    return payload;
  }

  void read_frame(int marker, ByteView segment) {
    if (!info_.components.empty()) fail(Code::corrupt, "two frame headers");
    const int process = marker & 3;  // 0 baseline, 1 extended, 2 progressive, 3 lossless
    if ((marker & 4) != 0) fail(Code::unsupported, "a hierarchical JPEG");
    info_.arithmetic = (marker & 8) != 0;
    info_.progressive = process == 2;
    info_.lossless = process == 3;
    if (segment.size() < 6 || segment[5] == 0 ||
        segment.size() != 6 + 3 * std::size_t{segment[5]}) {
      fail(Code::corrupt, "a frame header of the wrong length");
    }
    info_.precision = segment[0];
    info_.height = big16(segment, 1);
    info_.width = big16(segment, 3);
    if (info_.width == 0) fail(Code::corrupt, "an image without width");
    if (info_.height == 0) {
      fail(Code::unsupported, "the height is left to a DNL marker after the image data");
    }
    for (std::size_t at = 6; at < segment.size(); at += 3) {
      read_component(segment.subspan(at, 3));
    }
  }

  void read_component(ByteView bytes) {
    JpegComponent component;
    component.id = bytes[0];
    component.h = bytes[1] >> 4;
    component.v = bytes[1] & 15;
    component.quant_table = bytes[2];
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4) {
      fail(Code::corrupt, "sampling factors {}x{}", component.h, component.v);
    }
    if (component.quant_table > 3) {
      fail(Code::corrupt, "quantization table number {}", component.quant_table);
    }
    info_.components.push_back(component);
  }

  void read_quant_tables(ByteView segment) {
    for (std::size_t at = 0; at < segment.size();) {
      const std::size_t bytes = segment[at] >> 4 ? 2 : 1;
      const std::size_t number = segment[at] & 15;
      ++at;
      if (number > 3 || segment.size() - at < 64 * bytes) {
        fail(Code::corrupt, "a malformed quantization table");
      }
      for (std::size_t i = 0; i < 64; ++i, at += bytes) {
        info_.quant[number][i] = bytes == 2 ? big16(segment, at) : segment[at];
      }
    }
  }

  void read_scan_header(ByteView segment) {
    if (info_.components.empty()) fail(Code::corrupt, "image data before the frame header");
    scan_components_ = segment.empty() ? 0 : segment[0];
    if (scan_components_ < 1 || scan_components_ > 4 ||
        segment.size() != 4 + 2 * scan_components_) {
      fail(Code::corrupt, "a scan header of the wrong length");
    }
    count_scan();
  }

  void count_scan() {
    if (++info_.scans > max_scans_) {
      fail(Code::limit, "more than {} scans, each of which costs a pass over the image",
           max_scans_);
    }
  }

  // Some writers put the header twice, others put nothing after it.
  void read_exif(ByteView segment) {
    constexpr std::string_view kHeader("Exif\0\0", 6);
    if (!starts_with(segment, kHeader) || !info_.exif.empty()) return;
    while (starts_with(segment, kHeader)) segment = segment.subspan(kHeader.size());
    const auto offset = static_cast<std::size_t>(segment.data() - data_.data());
    info_.exif = bytes_.slice(offset, segment.size());
    info_.orientation = exif_orientation(segment);
  }

  void read_icc_chunk(ByteView segment) {
    constexpr std::string_view kHeader("ICC_PROFILE\0", 12);
    if (segment.size() < kHeader.size() + 2 || !starts_with(segment, kHeader)) return;
    if (icc_.size() > 255) return;  // too many already to be numbered in a byte
    icc_.push_back({segment[12], segment[13], segment.subspan(14)});
  }

  void finish_icc() {
    if (icc_.empty()) return;
    info_.icc = join_icc(icc_);
    if (info_.icc.empty()) warn("the parts of the ICC profile do not fit together; ignored");
  }

  JpegColor color_model() const {
    const auto& c = info_.components;
    if (c.size() == 1) return JpegColor::grey;
    if (c.size() == 4) {
      if (!info_.adobe_transform || *info_.adobe_transform == 0) return JpegColor::cmyk;
      return JpegColor::ycck;
    }
    if (c.size() != 3) return JpegColor::unknown;
    if (info_.jfif) return JpegColor::ycc;
    if (info_.adobe_transform) return *info_.adobe_transform == 0 ? JpegColor::rgb : JpegColor::ycc;
    return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B' ? JpegColor::rgb : JpegColor::ycc;
  }

  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) {
    info_.warnings.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const Bytes& bytes_;
  ByteView data_;
  int max_scans_;
  std::size_t at_ = 0;
  std::size_t junk_ = 0;             // bytes where a marker should have been
  std::size_t scan_components_ = 0;  // of the first scan
  std::vector<IccChunk> icc_;
  JpegInfo info_;
};

}  // namespace

bool is_jpeg(ByteView data) {
  return data.size() >= 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
}

JpegInfo read_jpeg_info(const Bytes& data, int max_scans, bool header_only) {
  return Walker(data, max_scans).walk(header_only);
}

int estimate_quality(const JpegInfo& info) {
  const int number = info.components.empty() ? 0 : info.components[0].quant_table;
  const auto& table = info.quant[static_cast<std::size_t>(number)];
  // Baseline tables are clamped to bytes, others to 15 bits.
  const int largest = *std::max_element(table.begin(), table.end()) > 255 ? 32767 : 255;
  int best = 100;
  long least = -1;
  for (int quality = 100; quality >= 1; --quality) {
    const QuantTable standard = standard_quant_table(StandardTable::luma, quality, largest);
    long distance = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
      distance += std::labs(long{table[i]} - standard[kZigzag[i]]);
    }
    if (least < 0 || distance < least) {
      least = distance;
      best = quality;
    }
  }
  return best;
}

}  // namespace prep::image
