#include "lib/image/planar_jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "lib/core/error.h"

// jpeglib.h needs FILE, and jerror.h what jpeglib.h configures.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace prep::image {
namespace {

constexpr int kMaxBlockRows = 4;  // block rows of a component in one row of MCUs, T.81 B.2.2
constexpr int kMaxRows = kMaxBlockRows * DCTSIZE;

// Which kind of Error a message of libjpeg is, when it is one it cannot go on from.
Code code_of(int message) {
  switch (message) {
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_MCU_SIZE:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
      return Code::unsupported;
    case JERR_IMAGE_TOO_BIG:
    case JERR_OUT_OF_MEMORY:
    case JERR_WIDTH_OVERFLOW:
      return Code::limit;
    default:
      return Code::corrupt;
  }
}

// libjpeg's error handler: what cannot be recovered from comes back through guarded() as an Error.
struct ErrorHandler {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is one to this
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_back(j_common_ptr cinfo) {
  auto* handler = reinterpret_cast<ErrorHandler*>(cinfo->err);
  cinfo->err->format_message(cinfo, handler->message);
  std::longjmp(handler->back, 1);
}

void ignore_output(j_common_ptr) {}
void ignore_message(j_common_ptr, int) {}

void set_up(ErrorHandler& handler) {
  jpeg_std_error(&handler.base);
  handler.base.error_exit = jump_back;
  handler.base.output_message = ignore_output;
  handler.base.emit_message = ignore_message;
}

// Runs `call` and returns whether libjpeg came through it. A longjmp skips the frames of libjpeg
// and of `call`, which therefore must not hold anything with a destructor.
template <typename Call>
bool guarded(ErrorHandler& handler, const Call& call) {
  if (setjmp(handler.back) != 0) return false;
  call();
  return true;
}

// A component's size of DCT blocks after scaling; libjpeg's name for it depends on its ABI.
int scaled_block(const jpeg_component_info& component) {
#if JPEG_LIB_VERSION >= 70
  return component.DCT_v_scaled_size;
#else
  return component.DCT_scaled_size;
#endif
}

int smallest_scaled_block(const jpeg_decompress_struct& cinfo) {
#if JPEG_LIB_VERSION >= 70
  return cinfo.min_DCT_v_scaled_size;
#else
  return cinfo.min_DCT_scaled_size;
#endif
}

// libjpeg-turbo's fast Huffman decoder takes a code that is in no table as zero, without a word;
// with less than 512 bytes before it (jdhuff.c, BUFSIZE) it goes the way that reports one.
constexpr std::size_t kCarefulBytes = 256;

enum class Pace { fast, careful };

// One decompression. libjpeg's callbacks find this object through client_data.
class Decoder {
 public:
  Decoder(const Bytes& data, bool allow_truncated, Pace pace = Pace::fast)
      : allow_truncated_(allow_truncated), rest_(data.view()), pace_(pace) {
    set_up(handler_);
    handler_.base.emit_message = on_message;
    cinfo_.err = &handler_.base;
    run([this] {
      jpeg_create_decompress(&cinfo_);
      created_ = true;
    });
    cinfo_.client_data = this;
    take_input();
    source_.init_source = [](j_decompress_ptr) {};
    source_.fill_input_buffer = on_empty_buffer;
    source_.skip_input_data = on_skip;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = [](j_decompress_ptr) {};
    cinfo_.src = &source_;
  }
  Decoder(const Decoder&) = delete;
  ~Decoder() {
    if (created_) jpeg_destroy_decompress(&cinfo_);
  }

  jpeg_decompress_struct& cinfo() { return cinfo_; }
  // Whether bytes came where a marker should: they may be a harmless extra, or what was left over
  // when damaged data was misread.
  bool met_stray_bytes() const { return stray_bytes_; }

  // The header, which has to say what the caller based its limits on.
  void read_header(const JpegInfo& info) {
    run([this] { jpeg_read_header(&cinfo_, TRUE); });
    const bool same = cinfo_.image_width == static_cast<JDIMENSION>(info.width) &&
                      cinfo_.image_height == static_cast<JDIMENSION>(info.height) &&
                      cinfo_.num_components == static_cast<int>(info.components.size());
    if (!same) fail(Code::corrupt, "the header can be read in two ways");
  }

  void start(const DecodeOptions& options) {
    cinfo_.scale_num = 1;
    cinfo_.scale_denom = static_cast<unsigned>(options.denominator);
    cinfo_.dct_method = JDCT_ISLOW;
    run([this] { jpeg_start_decompress(&cinfo_); });
    check_scans();
  }

  // Runs `call` on libjpeg; see guarded() for what it may hold.
  template <typename Call>
  void run(const Call& call) {
    if (!guarded(handler_, call)) fail_decoding();
  }

  // After the last row. What is wrong behind the pixels is only worth a warning.
  void finish(const JpegInfo& info, std::vector<std::string>& warnings) {
    const bool sound = guarded(handler_, [this] { jpeg_finish_decompress(&cinfo_); });
    if (hit_marker_) {
      warnings.push_back(source_ended_ ? "truncated: the missing rest of the image is grey"
                                       : "image data lost at a damaged restart marker");
    } else if (source_ended_) {
      warnings.emplace_back("the end marker is missing");
    } else if (!sound) {
      warnings.push_back(fmt::format("after the image data: {}", handler_.message));
    } else if (source_.bytes_in_buffer > 0 && info.end_offset == 0) {
      warnings.push_back(
          fmt::format("{} bytes after the end of the image", source_.bytes_in_buffer));
    }
    if (resynced_ && !hit_marker_) warnings.emplace_back("a damaged restart marker");
    if (stray_bytes_) warnings.emplace_back("bytes before a marker that are not image data");
    if (other_[0] != '\0') warnings.emplace_back(other_);
  }

 private:
  // Files with several scans are read to their end before the first row comes out.
  void check_scans() {
    for (int i = 0; i < cinfo_.num_components; ++i) {
      if (!cinfo_.comp_info[i].quant_table && jpeg_has_multiple_scans(&cinfo_)) {
        fail(source_ended_ ? Code::truncated : Code::corrupt, "no scan has component {}", i + 1);
      }
    }
    if (source_ended_ && !allow_truncated_ && jpeg_has_multiple_scans(&cinfo_) && !all_refined()) {
      fail(Code::truncated, "the file ends before the last scan");
    }
  }

  // Whether a progressive file's scans brought every bit of every coefficient.
  bool all_refined() const {
    if (!cinfo_.progressive_mode || !cinfo_.coef_bits) return false;
    for (int i = 0; i < cinfo_.num_components; ++i) {
      const int* bits = cinfo_.coef_bits[i];
      if (!std::all_of(bits, bits + DCTSIZE2, [](int missing) { return missing == 0; })) {
        return false;
      }
    }
    return true;
  }

  [[noreturn]] void fail_decoding() const {
    if (source_ended_) fail(Code::truncated, "the file ends within the image data");
    const int message = handler_.base.msg_code;
    if (message == JWRN_HIT_MARKER) {
      const bool at_end = cinfo_.unread_marker == JPEG_EOI;
      fail(at_end ? Code::truncated : Code::corrupt,
           "image data is missing before marker FF {:02X}", cinfo_.unread_marker);
    }
    fail(code_of(message), "{}", handler_.message);
  }

  static Decoder& from(j_common_ptr cinfo) { return *static_cast<Decoder*>(cinfo->client_data); }

  // libjpeg goes on after a "warning" (level -1) with whatever pixels come out.
  static void on_message(j_common_ptr cinfo, int level) {
    if (level >= 0) return;
    Decoder& self = from(cinfo);
    switch (cinfo->err->msg_code) {
      case JWRN_HIT_MARKER:
        if (!self.may_miss_data()) jump_back(cinfo);
        self.hit_marker_ = true;
        return;
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
        if (!self.may_miss_data()) jump_back(cinfo);
        return;
      case JWRN_MUST_RESYNC:
        self.resynced_ = true;
        return;
      case JWRN_EXTRANEOUS_DATA:
        self.stray_bytes_ = true;
        return;
      default:
        cinfo->err->format_message(cinfo, self.other_);
    }
  }

  // Whether data missing here is accounted for: by the end of the file, or by a lost restart
  // marker, after which libjpeg leaves an interval empty and goes on with the next.
  bool may_miss_data() const {
    const bool early_end = source_ended_ || cinfo_.unread_marker == JPEG_EOI;
    return early_end ? allow_truncated_ : resynced_;
  }

  void take_input() {
    const std::size_t size =
        pace_ == Pace::fast ? rest_.size() : std::min(rest_.size(), kCarefulBytes);
    source_.next_input_byte = rest_.data();
    source_.bytes_in_buffer = size;
    rest_ = rest_.subspan(size);
  }

  // Behind the end of the data libjpeg finds an end marker, as often as it looks.
  static boolean on_empty_buffer(j_decompress_ptr cinfo) {
    static constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};
    Decoder& self = from(reinterpret_cast<j_common_ptr>(cinfo));
    if (!self.rest_.empty()) {
      self.take_input();
      return TRUE;
    }
    self.source_ended_ = true;
    self.source_.next_input_byte = kEnd;
    self.source_.bytes_in_buffer = sizeof kEnd;
    return TRUE;
  }

  static void on_skip(j_decompress_ptr cinfo, long count) {
    jpeg_source_mgr& source = *cinfo->src;
    const Decoder& self = from(reinterpret_cast<j_common_ptr>(cinfo));
    if (count <= 0) return;
    auto left = static_cast<std::size_t>(count);
    while (left > source.bytes_in_buffer) {
      left -= source.bytes_in_buffer;
      on_empty_buffer(cinfo);
      if (self.source_ended_) return;
    }
    source.next_input_byte += left;
    source.bytes_in_buffer -= left;
  }

  jpeg_decompress_struct cinfo_{};
  ErrorHandler handler_{};
  jpeg_source_mgr source_{};
  bool created_ = false;
  bool allow_truncated_;
  ByteView rest_;  // of the data, that libjpeg has not been given yet
  Pace pace_;
  bool source_ended_ = false;  // libjpeg asked for more than there is
  bool hit_marker_ = false;
  bool resynced_ = false;
  bool stray_bytes_ = false;
  char other_[JMSG_LENGTH_MAX] = "";
};

// What this build of libjpeg cannot do, said before it says so in its own words.
void check_supported(const JpegInfo& info) {
  if (info.lossless) fail(Code::unsupported, "a lossless JPEG; only DCT-based ones are decoded");
  if (info.precision != 8) {
    fail(Code::unsupported, "a JPEG of {} bits a sample; only 8 are decoded", info.precision);
  }
}

// Looks again at a file whose data did not end where it should. throws Error corrupt if a Huffman
// code is in no table.
void check_codes(const Bytes& data, const JpegInfo& info, const DecodeOptions& options) {
  if (info.arithmetic || info.progressive) return;  // their decoders report every bad code
  Decoder decoder(data, options.allow_truncated, Pace::careful);
  decoder.read_header(info);
  decoder.run([&] { jpeg_read_coefficients(&decoder.cinfo()); });
}

int round_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

// Planes for all the blocks of each component, but with the sizes of the real content.
Planes shape_planes(const jpeg_decompress_struct& cinfo, PlanarScratch& scratch) {
  Planes planes;
  planes.count = cinfo.num_components;
  planes.image_width = static_cast<int>(cinfo.image_width);
  planes.image_height = static_cast<int>(cinfo.image_height);
  for (std::size_t i = 0; i < static_cast<std::size_t>(planes.count); ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    const int block = scaled_block(component);
    const int rows = static_cast<int>(cinfo.total_iMCU_rows) * component.v_samp_factor * block;
    Plane& plane = planes.plane[i];
    plane = scratch.planes[i].shape(static_cast<int>(component.width_in_blocks) * block, rows);
    plane.width = static_cast<int>(component.downsampled_width);
    plane.height = static_cast<int>(component.downsampled_height);
    const double scale = static_cast<double>(DCTSIZE) / block;
    planes.step_x[i] = scale * cinfo.max_h_samp_factor / component.h_samp_factor;
    planes.step_y[i] = scale * cinfo.max_v_samp_factor / component.v_samp_factor;
  }
  return planes;
}

void read_planes(jpeg_decompress_struct& cinfo, const Planes& planes) {
  JSAMPROW rows[3][kMaxRows];
  JSAMPARRAY components[3] = {rows[0], rows[1], rows[2]};
  const auto lines =
      static_cast<JDIMENSION>(cinfo.max_v_samp_factor * smallest_scaled_block(cinfo));
  for (int mcu_row = 0; cinfo.output_scanline < cinfo.output_height; ++mcu_row) {
    for (int i = 0; i < planes.count; ++i) {
      const jpeg_component_info& component = cinfo.comp_info[i];
      const int count = component.v_samp_factor * scaled_block(component);
      for (int y = 0; y < count; ++y) rows[i][y] = planes.plane[i].row(mcu_row * count + y);
    }
    jpeg_read_raw_data(&cinfo, components, lines);
  }
}

J_COLOR_SPACE interleaved_color(const jpeg_decompress_struct& cinfo) {
  switch (cinfo.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return JCS_GRAYSCALE;
    case JCS_YCbCr:
    case JCS_RGB:
      return JCS_RGB;
    case JCS_CMYK:
    case JCS_YCCK:
      return JCS_CMYK;
    default:
      fail(Code::unsupported, "a JPEG of {} components without a known colour model",
           cinfo.num_components);
  }
}

void read_pixels(jpeg_decompress_struct& cinfo, const Plane& pixels) {
  while (cinfo.output_scanline < cinfo.output_height) {
    JSAMPROW rows[kMaxRows];
    const int first = static_cast<int>(cinfo.output_scanline);
    const int count = std::min(kMaxRows, pixels.height - first);
    for (int y = 0; y < count; ++y) rows[y] = pixels.row(first + y);
    jpeg_read_scanlines(&cinfo, rows, static_cast<JDIMENSION>(count));
  }
}

// One compression into memory from malloc(). Same rules as Decoder.
class Encoder {
 public:
  explicit Encoder(std::size_t first_guess) : capacity_(std::max<std::size_t>(first_guess, 4096)) {
    set_up(handler_);
    cinfo_.err = &handler_.base;
    run([this] {
      jpeg_create_compress(&cinfo_);
      created_ = true;
    });
    cinfo_.client_data = this;
    destination_.init_destination = on_start;
    destination_.empty_output_buffer = on_full;
    destination_.term_destination = on_end;
    cinfo_.dest = &destination_;
  }
  Encoder(const Encoder&) = delete;
  ~Encoder() {
    if (created_) jpeg_destroy_compress(&cinfo_);
    std::free(block_);
  }

  jpeg_compress_struct& cinfo() { return cinfo_; }

  template <typename Call>
  void run(const Call& call) {
    if (guarded(handler_, call)) return;
    const Code code = code_of(handler_.base.msg_code);
    // Unlike a decoder's input, what an encoder is given is of our own making.
    fail(code == Code::corrupt ? Code::internal : code, "JPEG encoder: {}", handler_.message);
  }

  void set_parameters(const EncodeOptions& options) {
    cinfo_.dct_method = JDCT_ISLOW;
    cinfo_.optimize_coding = options.optimize ? TRUE : FALSE;
    jpeg_set_quality(&cinfo_, options.quality, TRUE);
    if (options.progressive) jpeg_simple_progression(&cinfo_);
  }

  // With the markers that follow JFIF's.
  void start(const EncodeOptions& options) {
    const std::vector<JOCTET> exif = exif_segment(options.exif);
    run([&] {
      jpeg_start_compress(&cinfo_, TRUE);
      if (!exif.empty()) {
        jpeg_write_marker(&cinfo_, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
      }
      if (!options.icc.empty()) {
        jpeg_write_icc_profile(&cinfo_, options.icc.data(),
                               static_cast<unsigned>(options.icc.size()));
      }
    });
  }

  Bytes finish() {
    run([this] { jpeg_finish_compress(&cinfo_); });
    // What the guess was too large by would be held until the sample is written.
    if (void* exact = std::realloc(block_, size_)) block_ = static_cast<std::uint8_t*>(exact);
    std::uint8_t* const block = block_;
    block_ = nullptr;
    return Bytes::take_malloc(block, size_);
  }

 private:
  static std::vector<JOCTET> exif_segment(const Bytes& exif) {
    if (exif.empty()) return {};
    constexpr JOCTET kHeader[6] = {'E', 'x', 'i', 'f', 0, 0};
    if (exif.size() > 65533 - sizeof kHeader) {
      fail(Code::limit, "{} bytes of EXIF do not fit in a JPEG's segment", exif.size());
    }
    std::vector<JOCTET> segment(kHeader, kHeader + sizeof kHeader);
    segment.insert(segment.end(), exif.data(), exif.data() + exif.size());
    return segment;
  }

  static Encoder& from(j_compress_ptr cinfo) { return *static_cast<Encoder*>(cinfo->client_data); }

  void grow(std::size_t capacity) {
    auto* larger = static_cast<std::uint8_t*>(std::realloc(block_, capacity));
    if (!larger) ERREXIT1(&cinfo_, JERR_OUT_OF_MEMORY, 0);
    destination_.next_output_byte = larger + size_;
    destination_.free_in_buffer = capacity - size_;
    block_ = larger;
    capacity_ = capacity;
  }

  static void on_start(j_compress_ptr cinfo) {
    Encoder& self = from(cinfo);
    self.grow(self.capacity_);
  }
  static boolean on_full(j_compress_ptr cinfo) {
    Encoder& self = from(cinfo);
    self.size_ = self.capacity_;
    self.grow(self.capacity_ * 2);
    return TRUE;
  }
  static void on_end(j_compress_ptr cinfo) {
    Encoder& self = from(cinfo);
    self.size_ = self.capacity_ - self.destination_.free_in_buffer;
  }

  jpeg_compress_struct cinfo_{};
  ErrorHandler handler_{};
  jpeg_destination_mgr destination_{};
  bool created_ = false;
  std::uint8_t* block_ = nullptr;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

std::size_t guess_size(int width, int height) {
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) / 2;
}

void set_sampling(jpeg_compress_struct& cinfo, Subsampling subsampling) {
  const int luma = subsampling == Subsampling::s420 && cinfo.num_components == 3 ? 2 : 1;
  for (int i = 0; i < cinfo.num_components; ++i) {
    cinfo.comp_info[i].h_samp_factor = i == 0 ? luma : 1;
    cinfo.comp_info[i].v_samp_factor = i == 0 ? luma : 1;
  }
}

bool same_size(const Plane& plane, int width, int height) {
  return plane.width == width && plane.height == height;
}

Subsampling subsampling_of(const Planes& planes) {
  const Plane& luma = planes.plane[0];
  const auto both_chroma = [&](int width, int height) {
    return same_size(planes.plane[1], width, height) && same_size(planes.plane[2], width, height);
  };
  if (planes.count == 1 || both_chroma(luma.width, luma.height)) return Subsampling::s444;
  if (both_chroma((luma.width + 1) / 2, (luma.height + 1) / 2)) return Subsampling::s420;
  fail(Code::internal, "JPEG encoder: chroma planes of neither 4:4:4 nor 4:2:0");
}

// Repeats each row's last sample to the end of its last block.
void pad_rows(const Plane& plane) {
  const int padding = round_up(plane.width, DCTSIZE) - plane.width;
  if (padding == 0) return;
  for (int y = 0; y < plane.height; ++y) {
    std::uint8_t* const end = plane.row(y) + plane.width;
    std::memset(end, end[-1], static_cast<std::size_t>(padding));
  }
}

// Below the last row that row is repeated.
void write_planes(jpeg_compress_struct& cinfo, const Planes& planes) {
  JSAMPROW rows[3][kMaxRows];
  JSAMPARRAY components[3] = {rows[0], rows[1], rows[2]};
  const auto lines = static_cast<JDIMENSION>(cinfo.max_v_samp_factor * DCTSIZE);
  for (int mcu_row = 0; cinfo.next_scanline < cinfo.image_height; ++mcu_row) {
    for (int i = 0; i < planes.count; ++i) {
      const Plane& plane = planes.plane[i];
      const int count = cinfo.comp_info[i].v_samp_factor * DCTSIZE;
      for (int y = 0; y < count; ++y) {
        rows[i][y] = plane.row(std::min(mcu_row * count + y, plane.height - 1));
      }
    }
    jpeg_write_raw_data(&cinfo, components, lines);
  }
}

void write_pixels(jpeg_compress_struct& cinfo, const ConstPlane& pixels) {
  while (cinfo.next_scanline < cinfo.image_height) {
    // libjpeg's interface lacks a const; it does not write here.
    JSAMPROW row = const_cast<JSAMPROW>(pixels.row(static_cast<int>(cinfo.next_scanline)));
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
}

}  // namespace

bool is_planar(const JpegInfo& info) {
  if (info.precision != 8 || info.lossless) return false;
  if (info.color == JpegColor::grey) return info.components.size() == 1;
  if (info.color != JpegColor::ycc || info.components.size() != 3) return false;
  const auto once_or_twice = [](int luma, int chroma) {
    return luma == chroma || luma == 2 * chroma;
  };
  const JpegComponent& luma = info.components[0];
  return std::all_of(info.components.begin() + 1, info.components.end(), [&](const auto& chroma) {
    return once_or_twice(luma.h, chroma.h) && once_or_twice(luma.v, chroma.v);
  });
}

Planes decode_planes(const Bytes& data, const JpegInfo& info, const DecodeOptions& options,
                     PlanarScratch& scratch, std::vector<std::string>& warnings) {
  check_supported(info);
  Decoder decoder(data, options.allow_truncated);
  decoder.read_header(info);
  jpeg_decompress_struct& cinfo = decoder.cinfo();
  if (!is_planar(info) ||
      (cinfo.jpeg_color_space != JCS_GRAYSCALE && cinfo.jpeg_color_space != JCS_YCbCr)) {
    fail(Code::internal, "decode_planes: not a planar JPEG");
  }
  cinfo.raw_data_out = TRUE;
  cinfo.out_color_space = cinfo.jpeg_color_space;
  decoder.start(options);
  const Planes planes = shape_planes(cinfo, scratch);
  decoder.run([&] { read_planes(cinfo, planes); });
  decoder.finish(info, warnings);
  if (decoder.met_stray_bytes()) check_codes(data, info, options);
  return planes;
}

Plane decode_interleaved(const Bytes& data, const JpegInfo& info, const DecodeOptions& options,
                         PlaneBuffer& out, std::vector<std::string>& warnings) {
  check_supported(info);
  Decoder decoder(data, options.allow_truncated);
  decoder.read_header(info);
  jpeg_decompress_struct& cinfo = decoder.cinfo();
  cinfo.out_color_space = interleaved_color(cinfo);
  decoder.start(options);
  const Plane pixels = out.shape(static_cast<int>(cinfo.output_width),
                                 static_cast<int>(cinfo.output_height), cinfo.output_components);
  decoder.run([&] { read_pixels(cinfo, pixels); });
  decoder.finish(info, warnings);
  if (decoder.met_stray_bytes()) check_codes(data, info, options);
  return pixels;
}

Bytes encode_planes(const Planes& planes, const EncodeOptions& options) {
  const Plane& luma = planes.plane[0];
  Encoder encoder(guess_size(luma.width, luma.height));
  jpeg_compress_struct& cinfo = encoder.cinfo();
  const Subsampling subsampling = subsampling_of(planes);
  cinfo.image_width = static_cast<JDIMENSION>(luma.width);
  cinfo.image_height = static_cast<JDIMENSION>(luma.height);
  cinfo.input_components = planes.count;
  cinfo.in_color_space = planes.count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  encoder.run([&] {
    jpeg_set_defaults(&cinfo);
    encoder.set_parameters(options);
    set_sampling(cinfo, subsampling);
    cinfo.raw_data_in = TRUE;
  });
  for (int i = 0; i < planes.count; ++i) pad_rows(planes.plane[static_cast<std::size_t>(i)]);
  encoder.start(options);
  encoder.run([&] { write_planes(cinfo, planes); });
  return encoder.finish();
}

Bytes encode_interleaved(const ConstPlane& pixels, Subsampling subsampling,
                         const EncodeOptions& options) {
  Encoder encoder(guess_size(pixels.width, pixels.height));
  jpeg_compress_struct& cinfo = encoder.cinfo();
  cinfo.image_width = static_cast<JDIMENSION>(pixels.width);
  cinfo.image_height = static_cast<JDIMENSION>(pixels.height);
  cinfo.input_components = pixels.channels;
  cinfo.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  encoder.run([&] {
    jpeg_set_defaults(&cinfo);
    encoder.set_parameters(options);
    set_sampling(cinfo, subsampling);
  });
  encoder.start(options);
  encoder.run([&] { write_pixels(cinfo, pixels); });
  return encoder.finish();
}

}  // namespace prep::image
