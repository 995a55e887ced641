#include "pictures.h"

#include <jpeglib.h>
#include <lcms2.h>
#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace prep::test {

void append(Buffer& out, const Buffer& more) { out.insert(out.end(), more.begin(), more.end()); }

namespace {

void append_text(Buffer& out, const std::string& text) {
  out.insert(out.end(), text.begin(), text.end());
}

void put(Buffer& out, std::uint64_t value, int count, bool big_endian) {
  for (int i = 0; i < count; ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian ? count - 1 - i : i)));
  }
}

std::uint32_t big(ByteView data, std::size_t at) {
  return std::uint32_t(data[at]) << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3];
}

}  // namespace

Image draw(int width, int height, int channels, const std::function<int(int, int, int)>& f) {
  Image image(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        image.at(x, y, c) = static_cast<std::uint8_t>(std::clamp(f(x, y, c), 0, 255));
      }
    }
  }
  return image;
}

Image solid(int width, int height, const std::vector<int>& color) {
  return draw(width, height, int(color.size()), [&](int, int, int c) { return color[c]; });
}

Image stored_as(const Image& up, int orientation) {
  const bool turned = orientation >= 5;
  const int w = turned ? up.height : up.width, h = turned ? up.width : up.height;
  // The upright place of the stored pixel (x, y), case by case from TIFF 6.0's table of what the
  // 0th row and the 0th column are.
  return draw(w, h, up.channels, [&](int x, int y, int c) {
    switch (orientation) {
      case 2:
        return up.at(w - 1 - x, y, c);  // row: top, column: right
      case 3:
        return up.at(w - 1 - x, h - 1 - y, c);  // bottom, right
      case 4:
        return up.at(x, h - 1 - y, c);  // bottom, left
      case 5:
        return up.at(y, x, c);  // row: left, column: top
      case 6:
        return up.at(h - 1 - y, x, c);  // right, top
      case 7:
        return up.at(h - 1 - y, w - 1 - x, c);  // right, bottom
      case 8:
        return up.at(y, w - 1 - x, c);  // left, bottom
      default:
        return up.at(x, y, c);
    }
  });
}

double mean_difference(const Image& a, const Image& b) {
  if (a.samples.size() != b.samples.size() || a.width != b.width) return 1e9;
  double sum = 0;
  for (std::size_t i = 0; i < a.samples.size(); ++i) sum += std::abs(a.samples[i] - b.samples[i]);
  return sum / double(a.samples.size());
}

int max_difference(const Image& a, const Image& b) {
  if (a.samples.size() != b.samples.size() || a.width != b.width) return 1 << 30;
  int most = 0;
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    most = std::max(most, std::abs(a.samples[i] - b.samples[i]));
  }
  return most;
}

// ---- JPEG

namespace {

void throw_message(j_common_ptr info) {
  char message[JMSG_LENGTH_MAX];
  info->err->format_message(info, message);
  throw std::runtime_error(message);
}

void write_metadata(jpeg_compress_struct& jpeg, const JpegSpec& spec) {
  if (spec.orientation > 0) {
    Buffer payload{'E', 'x', 'i', 'f', 0, 0};
    append(payload, exif_with(spec.orientation));
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, payload.data(), unsigned(payload.size()));
  }
  if (!spec.icc.empty()) jpeg_write_icc_profile(&jpeg, spec.icc.data(), unsigned(spec.icc.size()));
}

void set_color(jpeg_compress_struct& jpeg, const JpegSpec& spec) {
  using Color = JpegSpec::Color;
  if (spec.color == Color::standard) return;
  jpeg_set_colorspace(&jpeg, spec.color == Color::rgb    ? JCS_RGB
                             : spec.color == Color::cmyk ? JCS_CMYK
                                                         : JCS_YCCK);
  jpeg.write_Adobe_marker = spec.adobe;
}

}  // namespace

Buffer make_jpeg(const Image& image, const JpegSpec& spec) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_message;
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = unsigned(image.width);
  jpeg.image_height = unsigned(image.height);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 1   ? JCS_GRAYSCALE
                        : image.channels == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  set_color(jpeg, spec);
  jpeg_set_quality(&jpeg, spec.quality, TRUE);
  for (std::size_t i = 0; i < spec.sampling.size(); ++i) {
    jpeg.comp_info[i].h_samp_factor = spec.sampling[i].first;
    jpeg.comp_info[i].v_samp_factor = spec.sampling[i].second;
  }
  if (spec.progressive) jpeg_simple_progression(&jpeg);
  jpeg.restart_interval = unsigned(spec.restart_interval);
  jpeg_start_compress(&jpeg, TRUE);
  write_metadata(jpeg, spec);
  for (int y = 0; y < image.height; ++y) {
    auto* row = const_cast<std::uint8_t*>(image.samples.data()) +
                std::size_t(y) * image.width * image.channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  Buffer out(memory, memory + size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return out;
}

Image read_jpeg(ByteView data) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_message;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, data.data(), data.size());
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.num_components == 4) jpeg.out_color_space = JCS_CMYK;
  jpeg_start_decompress(&jpeg);
  Image image(int(jpeg.output_width), int(jpeg.output_height), jpeg.output_components);
  while (jpeg.output_scanline < jpeg.output_height) {
    auto* row = &image.at(0, int(jpeg.output_scanline));
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  const bool sound = errors.num_warnings == 0;
  jpeg_destroy_decompress(&jpeg);
  if (!sound) throw std::runtime_error("a JPEG with warnings");
  return image;
}

JpegFacts jpeg_facts(ByteView data) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = throw_message;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, data.data(), data.size());
  jpeg_save_markers(&jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_save_markers(&jpeg, JPEG_APP0 + 2, 0xffff);
  jpeg_read_header(&jpeg, TRUE);
  JpegFacts facts;
  facts.components = jpeg.num_components;
  for (int i = 0; i < jpeg.num_components; ++i) {
    facts.sampling.emplace_back(jpeg.comp_info[i].h_samp_factor, jpeg.comp_info[i].v_samp_factor);
  }
  JOCTET* icc = nullptr;
  unsigned icc_size = 0;
  if (jpeg_read_icc_profile(&jpeg, &icc, &icc_size)) facts.icc.assign(icc, icc + icc_size);
  std::free(icc);
  for (auto* marker = jpeg.marker_list; marker; marker = marker->next) {
    const Buffer payload(marker->data, marker->data + marker->data_length);
    if (marker->marker != JPEG_APP0 + 1 || payload.size() < 6 + 26) continue;
    for (int o = 1; o <= 8; ++o) {  // the block is one that exif_with() makes
      if (Buffer(payload.begin() + 6, payload.end()) == exif_with(o)) facts.orientation = o;
    }
  }
  jpeg_destroy_decompress(&jpeg);
  return facts;
}

Buffer exif_with(int orientation, bool big_endian) {
  Buffer out;
  append_text(out, std::string(big_endian ? "MM" : "II"));
  put(out, 42, 2, big_endian);
  put(out, 8, 4, big_endian);
  put(out, 1, 2, big_endian);       // entries
  put(out, 0x0112, 2, big_endian);  // tag
  put(out, 3, 2, big_endian);       // SHORT
  put(out, 1, 4, big_endian);       // one of them
  put(out, std::uint64_t(orientation), 2, big_endian);
  put(out, 0, 2, big_endian);
  put(out, 0, 4, big_endian);  // no next directory
  return out;
}

// ---- PNG

Buffer png_chunk(const std::string& type, const Buffer& payload) {
  Buffer out;
  put(out, payload.size(), 4, true);
  append_text(out, type);
  append(out, payload);
  const auto crc = crc32(0, out.data() + 4, unsigned(out.size() - 4));
  put(out, crc, 4, true);
  return out;
}

namespace {

int png_channels(int color_type) {
  return color_type == 2 ? 3 : color_type == 4 ? 2 : color_type == 6 ? 4 : 1;
}

// The rows of the picture made of every step-th pixel from (x0, y0) on; filter 0.
void put_rows(const PngSpec& spec, const std::function<int(int, int, int)>& sample, int x0, int y0,
              int dx, int dy, Buffer& out) {
  if (x0 >= spec.width) return;
  for (int y = y0; y < spec.height; y += dy) {
    out.push_back(0);
    unsigned pending = 0;
    int bits = 0;
    for (int x = x0; x < spec.width; x += dx) {
      for (int c = 0; c < png_channels(spec.color_type); ++c) {
        const int value = sample(x, y, c);
        if (spec.bit_depth >= 8) {
          put(out, unsigned(value), spec.bit_depth / 8, true);
          continue;
        }
        pending = pending << spec.bit_depth | unsigned(value);
        bits += spec.bit_depth;
        if (bits == 8) {
          out.push_back(std::uint8_t(pending));
          pending = 0;
          bits = 0;
        }
      }
    }
    if (bits > 0) out.push_back(std::uint8_t(pending << (8 - bits)));
  }
}

}  // namespace

Buffer make_png(const PngSpec& spec, const std::function<int(int, int, int)>& sample) {
  Buffer rows;
  if (spec.interlaced) {
    static constexpr int kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                          {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    for (const auto& p : kPasses) put_rows(spec, sample, p[0], p[1], p[2], p[3], rows);
  } else {
    put_rows(spec, sample, 0, 0, 1, 1, rows);
  }
  Buffer packed(compressBound(rows.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, rows.data(), rows.size());
  packed.resize(size);
  Buffer header;
  put(header, unsigned(spec.width), 4, true);
  put(header, unsigned(spec.height), 4, true);
  append(header, Buffer{std::uint8_t(spec.bit_depth), std::uint8_t(spec.color_type), 0, 0,
                        std::uint8_t(spec.interlaced)});
  Buffer out{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  append(out, png_chunk("IHDR", header));
  for (const Buffer& chunk : spec.before_pixels) append(out, chunk);
  append(out, png_chunk("IDAT", packed));
  if (spec.end) append(out, png_chunk("IEND", {}));
  return out;
}

Buffer make_png(const Image& image, std::vector<Buffer> before_pixels) {
  static constexpr int kTypes[] = {0, 0, 4, 2, 6};
  const PngSpec spec{
      image.width, image.height, 8, kTypes[image.channels], false, std::move(before_pixels), true};
  return make_png(spec, [&](int x, int y, int c) { return image.at(x, y, c); });
}

namespace {

int paeth(int a, int b, int c) {
  const int p = a + b - c, pa = std::abs(p - a), pb = std::abs(p - b), pc = std::abs(p - c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

void unfilter(Buffer& rows, std::size_t row_bytes, std::size_t pixel_bytes) {
  const std::size_t stride = row_bytes + 1;
  for (std::size_t y = 0; y * stride < rows.size(); ++y) {
    std::uint8_t* row = &rows[y * stride];
    for (std::size_t i = 1; i <= row_bytes; ++i) {
      const int a = i > pixel_bytes ? row[i - pixel_bytes] : 0;
      const int b = y > 0 ? row[i - stride] : 0;
      const int c = y > 0 && i > pixel_bytes ? row[i - stride - pixel_bytes] : 0;
      const int predictors[] = {0, a, b, (a + b) / 2, paeth(a, b, c)};
      row[i] = std::uint8_t(row[i] + predictors[row[0]]);
    }
  }
}

}  // namespace

PngFacts read_png(ByteView data) {
  PngFacts facts;
  Buffer packed;
  for (std::size_t at = 8; at + 12 <= data.size();) {
    const std::size_t size = big(data, at);
    const std::string type(data.begin() + at + 4, data.begin() + at + 8);
    const Buffer payload(data.begin() + at + 8, data.begin() + at + 8 + size);
    facts.chunk_types.push_back(type);
    if (type == "IHDR") {
      facts.width = int(big(payload, 0));
      facts.height = int(big(payload, 4));
      facts.bit_depth = payload[8];
      facts.color_type = payload[9];
    }
    if (type == "PLTE") facts.palette = payload;
    if (type == "tRNS") facts.transparency = payload;
    if (type == "IDAT") append(packed, payload);
    at += 12 + size;
  }
  const int channels = png_channels(facts.color_type);
  const std::size_t row_bytes = (std::size_t(facts.width) * channels * facts.bit_depth + 7) / 8;
  Buffer rows((row_bytes + 1) * facts.height);
  uLongf size = rows.size();
  if (uncompress(rows.data(), &size, packed.data(), packed.size()) != Z_OK || size != rows.size()) {
    throw std::runtime_error("a damaged PNG");
  }
  unfilter(rows, row_bytes, std::max<std::size_t>(1, std::size_t(channels) * facts.bit_depth / 8));
  for (int y = 0; y < facts.height; ++y) {
    const std::uint8_t* row = &rows[std::size_t(y) * (row_bytes + 1) + 1];
    for (int i = 0; i < facts.width * channels; ++i) {
      const int bit = i * facts.bit_depth;
      facts.samples.push_back(facts.bit_depth == 16
                                  ? row[2 * i] << 8 | row[2 * i + 1]
                                  : row[bit / 8] >> (8 - facts.bit_depth - bit % 8) &
                                        ((1 << facts.bit_depth) - 1));
    }
  }
  return facts;
}

Image PngFacts::image() const {
  Image out(width, height, png_channels(color_type));
  std::transform(samples.begin(), samples.end(), out.samples.begin(),
                 [](int v) { return std::uint8_t(v); });
  return out;
}

// ---- TIFF

namespace {

// A directory and the data that its entries point to, behind the 8 bytes of the header.
class TiffBuilder {
 public:
  explicit TiffBuilder(bool big_endian) : big_(big_endian) {}

  std::uint32_t add_data(const Buffer& data) {
    const auto at = std::uint32_t(8 + data_.size());
    append(data_, data);
    if (data_.size() % 2) data_.push_back(0);
    return at;
  }
  void tag(int number, int type, const std::vector<std::uint32_t>& values) {
    const int size = type == 3 ? 2 : type == 7 ? 1 : 4;
    Buffer packed;
    for (const std::uint32_t v : values) put(packed, v, size, big_);
    put(entries_, unsigned(number), 2, big_);
    put(entries_, unsigned(type), 2, big_);
    put(entries_, values.size(), 4, big_);
    if (packed.size() > 4) {
      put(entries_, add_data(packed), 4, big_);
    } else {
      packed.resize(4);
      append(entries_, packed);
    }
    ++count_;
  }
  Buffer finish(int next) const {
    Buffer out;
    append_text(out, std::string(big_ ? "MM" : "II"));
    put(out, 42, 2, big_);
    put(out, 8 + data_.size(), 4, big_);
    append(out, data_);
    put(out, count_, 2, big_);
    append(out, entries_);
    put(out, unsigned(next), 4, big_);
    return out;
  }

 private:
  bool big_;
  Buffer data_, entries_;
  unsigned count_ = 0;
};

// The samples of a block of w x h pixels; what lies outside the picture is 0.
Buffer tiff_block(const TiffSpec& spec, const std::function<int(int, int, int)>& sample, int x0,
                  int y0, int w, int h) {
  Buffer out;
  for (int y = y0; y < y0 + h; ++y) {
    for (int x = x0; x < x0 + w; ++x) {
      for (int c = 0; c < spec.samples; ++c) {
        const bool inside = x < spec.width && y < spec.height;
        put(out, inside ? unsigned(sample(x, y, c)) : 0, spec.bits / 8, spec.big_endian);
      }
    }
  }
  return out;
}

}  // namespace

Buffer make_tiff(const TiffSpec& spec, const std::function<int(int, int, int)>& sample) {
  TiffBuilder tiff(spec.big_endian);
  std::vector<std::uint32_t> offsets, sizes;
  const int w = spec.tile ? spec.tile : spec.width, h = spec.tile ? spec.tile : 8;
  for (int y = 0; y < spec.height; y += h) {
    for (int x = 0; x < spec.width; x += w) {
      const int rows = spec.tile ? h : std::min(h, spec.height - y);
      const Buffer block = tiff_block(spec, sample, x, y, w, rows);
      offsets.push_back(tiff.add_data(block));
      sizes.push_back(std::uint32_t(block.size()));
    }
  }
  constexpr int kShort = 3, kLong = 4, kUndefined = 7;
  tiff.tag(256, kLong, {std::uint32_t(spec.width)});
  tiff.tag(257, kLong, {std::uint32_t(spec.height)});
  tiff.tag(258, kShort, std::vector<std::uint32_t>(spec.samples, spec.bits));
  tiff.tag(259, kShort, {1});
  tiff.tag(262, kShort, {std::uint32_t(spec.photometric)});
  if (!spec.tile) tiff.tag(273, kLong, offsets);
  if (spec.orientation) tiff.tag(274, kShort, {std::uint32_t(spec.orientation)});
  tiff.tag(277, kShort, {std::uint32_t(spec.samples)});
  if (!spec.tile) tiff.tag(278, kLong, {8});
  if (!spec.tile) tiff.tag(279, kLong, sizes);
  if (!spec.palette.empty()) tiff.tag(320, kShort, {spec.palette.begin(), spec.palette.end()});
  if (spec.tile) {
    tiff.tag(322, kLong, {std::uint32_t(w)});
    tiff.tag(323, kLong, {std::uint32_t(h)});
    tiff.tag(324, kLong, offsets);
    tiff.tag(325, kLong, sizes);
  }
  if (spec.extra_sample >= 0) tiff.tag(338, kShort, {std::uint32_t(spec.extra_sample)});
  tiff.tag(339, kShort, std::vector<std::uint32_t>(spec.samples, spec.sample_format));
  if (!spec.icc.empty()) tiff.tag(34675, kUndefined, {spec.icc.begin(), spec.icc.end()});
  return tiff.finish(spec.next_directory);
}

// ---- BMP

Buffer make_bmp(const BmpSpec& spec, const std::function<std::uint32_t(int, int)>& pixel) {
  Buffer rows;
  for (int i = 0; i < spec.height; ++i) {
    const int y = spec.top_down ? i : spec.height - 1 - i;
    Buffer row;
    unsigned pending = 0;
    for (int x = 0; x < spec.width; ++x) {
      if (spec.bits >= 8) {
        put(row, pixel(x, y), spec.bits / 8, false);
        continue;
      }
      pending = pending << spec.bits | pixel(x, y);
      if ((x + 1) * spec.bits % 8 == 0) row.push_back(std::uint8_t(pending));
    }
    row.resize((row.size() + 3) / 4 * 4);
    append(rows, row);
  }
  return make_bmp(spec, rows);
}

namespace {

Buffer bmp_core_header(const BmpSpec& spec) {
  Buffer header;
  put(header, 12, 4, false);
  put(header, unsigned(spec.width), 2, false);
  put(header, unsigned(spec.height), 2, false);
  put(header, 1, 2, false);
  put(header, unsigned(spec.bits), 2, false);
  return header;
}

Buffer bmp_info_header(const BmpSpec& spec, std::size_t size) {
  Buffer header;
  put(header, unsigned(spec.header), 4, false);
  put(header, unsigned(spec.width), 4, false);
  put(header, unsigned(spec.top_down ? -spec.height : spec.height), 4, false);
  put(header, 1, 2, false);
  put(header, unsigned(spec.bits), 2, false);
  put(header, unsigned(spec.compression), 4, false);
  put(header, size, 4, false);
  header.resize(32);
  put(header, spec.palette.size() / 4, 4, false);
  header.resize(40);
  for (const std::uint32_t mask : spec.masks) put(header, mask, 4, false);
  if (header.size() < std::size_t(spec.header)) header.resize(std::size_t(spec.header));
  return header;
}

}  // namespace

Buffer make_bmp(const BmpSpec& spec, const Buffer& rows) {
  Buffer header = spec.header == 12 ? bmp_core_header(spec) : bmp_info_header(spec, rows.size());
  append(header, spec.palette);
  Buffer out{'B', 'M'};
  put(out, 14 + header.size() + rows.size(), 4, false);
  put(out, 0, 4, false);
  put(out, 14 + header.size(), 4, false);
  append(out, header);
  append(out, rows);
  return out;
}

// ---- GIF

namespace {

// Codes of growing width, the lowest bit first.
class CodeWriter {
 public:
  void put(int code, int bits) {
    pending_ |= std::uint32_t(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, pending_ >>= 8) {
      bytes_.push_back(std::uint8_t(pending_));
    }
  }
  Buffer finish() {
    if (count_ > 0) bytes_.push_back(std::uint8_t(pending_));
    return bytes_;
  }

 private:
  std::uint32_t pending_ = 0;
  int count_ = 0;
  Buffer bytes_;
};

// LZW as GIF has it: codes of `bits` + 1 to 12 bits; a full table is cleared.
Buffer gif_codes(const Buffer& indices, int bits) {
  const int clear = 1 << bits;
  CodeWriter out;
  std::map<std::pair<int, int>, int> table;  // (prefix's code, index)
  int next = clear + 2, width = bits + 1, prefix = indices[0];
  out.put(clear, width);
  for (std::size_t i = 1; i < indices.size(); ++i) {
    const auto [entry, added] = table.try_emplace({prefix, indices[i]}, next);
    if (!added) {
      prefix = entry->second;
      continue;
    }
    out.put(prefix, width);
    prefix = indices[i];
    if (next++ == 1 << width) ++width;
    if (next == 4096) {
      out.put(clear, 12);
      table.clear();
      next = clear + 2;
      width = bits + 1;
    }
  }
  out.put(prefix, width);
  if (next == 1 << width) ++width;
  out.put(clear + 1, std::min(width, 12));
  return out.finish();
}

std::vector<int> gif_rows(const GifSpec& spec, int height) {
  std::vector<int> rows;
  for (int pass = 0; pass < (spec.interlaced ? 4 : 1); ++pass) {
    const int step = !spec.interlaced ? 1 : pass == 0 ? 8 : 16 >> pass;
    for (int y = pass == 0 ? 0 : step / 2; y < height; y += step) rows.push_back(y);
  }
  return rows;
}

int log2_of(std::size_t entries) {
  int bits = 1;
  while (std::size_t{1} << bits < entries) ++bits;
  return bits;
}

Buffer gif_image(const GifSpec& spec, const std::function<int(int, int)>& index) {
  const int width = spec.image_width ? spec.image_width : spec.width;
  const int height = spec.image_height ? spec.image_height : spec.height;
  const int palette_bits = log2_of(spec.palette.size() / 3), bits = std::max(palette_bits, 2);
  Buffer out;
  if (spec.transparent >= 0)
    append(out, {'!', 0xf9, 4, 1, 0, 0, std::uint8_t(spec.transparent), 0});
  out.push_back(',');
  for (const int field : {spec.left, spec.top, width, height}) put(out, unsigned(field), 2, false);
  out.push_back(std::uint8_t((spec.interlaced ? 0x40 : 0) |
                             (spec.local_palette ? 0x80 | (palette_bits - 1) : 0)));
  if (spec.local_palette) append(out, spec.palette);
  Buffer indices;
  for (const int y : gif_rows(spec, height)) {
    for (int x = 0; x < width; ++x) indices.push_back(std::uint8_t(index(x, y)));
  }
  const Buffer codes = gif_codes(indices, bits);
  out.push_back(std::uint8_t(bits));
  for (std::size_t at = 0; at < codes.size(); at += 255) {
    const std::size_t size = std::min<std::size_t>(255, codes.size() - at);
    out.push_back(std::uint8_t(size));
    out.insert(out.end(), codes.begin() + std::ptrdiff_t(at),
               codes.begin() + std::ptrdiff_t(at + size));
  }
  out.push_back(0);
  return out;
}

}  // namespace

Buffer make_gif(const GifSpec& spec, const std::function<int(int, int)>& index) {
  Buffer out;
  append_text(out, "GIF89a");
  put(out, unsigned(spec.width), 2, false);
  put(out, unsigned(spec.height), 2, false);
  const int palette_bits = log2_of(spec.palette.size() / 3);
  append(out, {std::uint8_t(spec.local_palette ? 0 : 0x80 | (palette_bits - 1)), 0, 0});
  if (!spec.local_palette) append(out, spec.palette);
  for (int i = 0; i < spec.images; ++i) append(out, gif_image(spec, index));
  if (spec.end) out.push_back(';');
  return out;
}

// ---- WebP

namespace {

Buffer take_webp(std::uint8_t* data, std::size_t size) {
  if (!data) throw std::runtime_error("libwebp cannot encode");
  Buffer out(data, data + size);
  WebPFree(data);
  return out;
}

}  // namespace

Buffer make_webp(const Image& image) {
  const auto encode = image.channels == 4 ? WebPEncodeLosslessRGBA : WebPEncodeLosslessRGB;
  std::uint8_t* data = nullptr;
  const std::size_t size =
      encode(image.samples.data(), image.width, image.height, image.width * image.channels, &data);
  return take_webp(data, size);
}

Buffer make_lossy_webp(const Image& image, int quality) {
  const auto encode = image.channels == 4 ? WebPEncodeRGBA : WebPEncodeRGB;
  std::uint8_t* data = nullptr;
  const std::size_t size = encode(image.samples.data(), image.width, image.height,
                                  image.width * image.channels, float(quality), &data);
  return take_webp(data, size);
}

Buffer webp_chunks(const Buffer& webp) { return {webp.begin() + 12, webp.end()}; }

Buffer riff_chunk(const std::string& type, const Buffer& payload) {
  Buffer out;
  append_text(out, type);
  put(out, payload.size(), 4, false);
  append(out, payload);
  if (payload.size() % 2) out.push_back(0);
  return out;
}

Buffer make_riff(const Buffer& chunks) {
  Buffer payload{'W', 'E', 'B', 'P'};
  append(payload, chunks);
  return riff_chunk("RIFF", payload);
}

// ---- Profiles

namespace {

Buffer save_profile(cmsHPROFILE profile) {
  cmsUInt32Number size = 0;
  cmsSaveProfileToMem(profile, nullptr, &size);
  Buffer out(size);
  cmsSaveProfileToMem(profile, out.data(), &size);
  cmsCloseProfile(profile);
  return out;
}

cmsToneCurve* make_curve(double gamma) {
  if (gamma > 0) return cmsBuildGamma(nullptr, gamma);
  const cmsFloat64Number parameters[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  return cmsBuildParametricToneCurve(nullptr, 4, parameters);
}

}  // namespace

Buffer rgb_profile(const std::vector<double>& p, double gamma) {
  const cmsCIExyY white{0.3127, 0.3290, 1};
  const cmsCIExyYTRIPLE primaries{{p[0], p[1], 1}, {p[2], p[3], 1}, {p[4], p[5], 1}};
  cmsToneCurve* curve = make_curve(gamma);
  cmsToneCurve* curves[] = {curve, curve, curve};
  const Buffer out = save_profile(cmsCreateRGBProfile(&white, &primaries, curves));
  cmsFreeToneCurve(curve);
  return out;
}

Buffer grey_profile(double gamma) {
  cmsToneCurve* curve = make_curve(gamma);
  const Buffer out = save_profile(cmsCreateGrayProfile(cmsD50_xyY(), curve));
  cmsFreeToneCurve(curve);
  return out;
}

}  // namespace prep::test
