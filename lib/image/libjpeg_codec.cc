#include <algorithm>
#include <cstdlib>

#include "lib/core/error.h"
#include "lib/image/libjpeg_codec-inl.h"

// jerror.h needs what jpeglib.h configures.
#include <jerror.h>

namespace prep::image {
namespace {

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

[[noreturn]] void jump_back(j_common_ptr cinfo) {
  auto* errors = reinterpret_cast<LibjpegErrors*>(cinfo->err);
  cinfo->err->format_message(cinfo, errors->message);
  std::longjmp(errors->back, 1);
}

void ignore_output(j_common_ptr) {}
void ignore_message(j_common_ptr, int) {}

void set_up(LibjpegErrors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = jump_back;
  errors.base.output_message = ignore_output;
  errors.base.emit_message = ignore_message;
}

// libjpeg-turbo's fast Huffman decoder takes a code that is in no table as zero, without a word;
// with less than 512 bytes before it (jdhuff.c, BUFSIZE) it goes the way that reports one.
constexpr std::size_t kCarefulBytes = 256;

}  // namespace

// ---- Decoder

LibjpegDecoder::LibjpegDecoder(const Bytes& data, bool allow_truncated, Pace pace)
    : allow_truncated_(allow_truncated), rest_(data.view()), pace_(pace) {
  set_up(errors_);
  errors_.base.emit_message = on_message;
  cinfo_.err = &errors_.base;
  run([this] {
    jpeg_create_decompress(&cinfo_);
    created_ = true;
  });
  // libjpeg takes a limit from the environment, and this build has nothing to swap out to.
  cinfo_.mem->max_memory_to_use = 0;
  cinfo_.client_data = this;
  take_input();
  source_.init_source = [](j_decompress_ptr) {};
  source_.fill_input_buffer = on_empty_buffer;
  source_.skip_input_data = on_skip;
  source_.resync_to_restart = jpeg_resync_to_restart;
  source_.term_source = [](j_decompress_ptr) {};
  cinfo_.src = &source_;
}

LibjpegDecoder::~LibjpegDecoder() {
  if (created_) jpeg_destroy_decompress(&cinfo_);
}

void LibjpegDecoder::read_header(const JpegInfo& info) {
  run([this] { jpeg_read_header(&cinfo_, TRUE); });
  const bool same = cinfo_.image_width == static_cast<JDIMENSION>(info.width) &&
                    cinfo_.image_height == static_cast<JDIMENSION>(info.height) &&
                    cinfo_.num_components == static_cast<int>(info.components.size());
  if (!same) fail(Code::corrupt, "the header can be read in two ways");
}

void LibjpegDecoder::start(int denominator) {
  cinfo_.scale_num = 1;
  cinfo_.scale_denom = static_cast<unsigned>(denominator);
  cinfo_.dct_method = JDCT_ISLOW;
  run([this] { jpeg_start_decompress(&cinfo_); });
  check_scans();
}

jvirt_barray_ptr* LibjpegDecoder::read_coefficients() {
  jvirt_barray_ptr* arrays = nullptr;
  run([&] { arrays = jpeg_read_coefficients(&cinfo_); });
  check_scans();
  return arrays;
}

void LibjpegDecoder::finish(const JpegInfo& info, std::vector<std::string>& warnings) {
  const bool sound = guarded(errors_, [this] { jpeg_finish_decompress(&cinfo_); });
  if (!sound && !hit_marker_ && !source_ended_) {
    warnings.push_back(fmt::format("after the image data: {}", errors_.message));
  } else if (!hit_marker_ && !source_ended_ && source_.bytes_in_buffer > 0 &&
             info.end_offset == 0) {
    warnings.push_back(fmt::format("{} bytes after the end of the image", source_.bytes_in_buffer));
  }
  add_warnings(warnings);
}

void LibjpegDecoder::add_warnings(std::vector<std::string>& warnings) const {
  if (hit_marker_) {
    warnings.push_back(source_ended_ ? "truncated: the missing rest of the image is grey"
                                     : "image data lost at a damaged restart marker");
  } else if (source_ended_) {
    warnings.emplace_back("the end marker is missing");
  }
  if (resynced_ && !hit_marker_) warnings.emplace_back("a damaged restart marker");
  if (stray_bytes_) warnings.emplace_back("bytes before a marker that are not image data");
  if (other_[0] != '\0') warnings.emplace_back(other_);
}

// Files with several scans are read to their end before the first row comes out.
void LibjpegDecoder::check_scans() {
  const bool several = jpeg_has_multiple_scans(&cinfo_);
  for (int i = 0; i < cinfo_.num_components; ++i) {
    if (!cinfo_.comp_info[i].quant_table && several) {
      fail(source_ended_ ? Code::truncated : Code::corrupt, "no scan has component {}", i + 1);
    }
  }
  if (source_ended_ && !allow_truncated_ && several && !all_refined()) {
    fail(Code::truncated, "the file ends before the last scan");
  }
}

// Whether a progressive file's scans brought every bit of every coefficient.
bool LibjpegDecoder::all_refined() const {
  if (!cinfo_.progressive_mode || !cinfo_.coef_bits) return false;
  for (int i = 0; i < cinfo_.num_components; ++i) {
    const int* bits = cinfo_.coef_bits[i];
    if (!std::all_of(bits, bits + DCTSIZE2, [](int missing) { return missing == 0; })) {
      return false;
    }
  }
  return true;
}

void LibjpegDecoder::fail_decoding() const {
  if (source_ended_) fail(Code::truncated, "the file ends within the image data");
  const int message = errors_.base.msg_code;
  if (message == JWRN_HIT_MARKER) {
    const bool at_end = cinfo_.unread_marker == JPEG_EOI;
    fail(at_end ? Code::truncated : Code::corrupt, "image data is missing before marker FF {:02X}",
         cinfo_.unread_marker);
  }
  fail(code_of(message), "{}", errors_.message);
}

LibjpegDecoder& LibjpegDecoder::from(j_common_ptr cinfo) {
  return *static_cast<LibjpegDecoder*>(cinfo->client_data);
}

// libjpeg goes on after a "warning" (level -1) with whatever pixels come out.
void LibjpegDecoder::on_message(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  LibjpegDecoder& self = from(cinfo);
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

// Whether data missing here is accounted for: by the end of the file, or by a lost restart marker,
// after which libjpeg leaves an interval empty and goes on with the next.
bool LibjpegDecoder::may_miss_data() const {
  const bool early_end = source_ended_ || cinfo_.unread_marker == JPEG_EOI;
  return early_end ? allow_truncated_ : resynced_;
}

void LibjpegDecoder::take_input() {
  const std::size_t size =
      pace_ == Pace::fast ? rest_.size() : std::min(rest_.size(), kCarefulBytes);
  source_.next_input_byte = rest_.data();
  source_.bytes_in_buffer = size;
  rest_ = rest_.subspan(size);
}

// Behind the end of the data libjpeg finds an end marker, as often as it looks.
boolean LibjpegDecoder::on_empty_buffer(j_decompress_ptr cinfo) {
  static constexpr JOCTET kEnd[2] = {0xFF, JPEG_EOI};
  LibjpegDecoder& self = from(reinterpret_cast<j_common_ptr>(cinfo));
  if (!self.rest_.empty()) {
    self.take_input();
    return TRUE;
  }
  self.source_ended_ = true;
  self.source_.next_input_byte = kEnd;
  self.source_.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void LibjpegDecoder::on_skip(j_decompress_ptr cinfo, long count) {
  jpeg_source_mgr& source = *cinfo->src;
  const LibjpegDecoder& self = from(reinterpret_cast<j_common_ptr>(cinfo));
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

void check_codes(const Bytes& data, const JpegInfo& info, bool allow_truncated) {
  if (info.arithmetic || info.progressive) return;  // their decoders report every bad code
  LibjpegDecoder decoder(data, allow_truncated, LibjpegDecoder::Pace::careful);
  decoder.read_header(info);
  decoder.run([&] { jpeg_read_coefficients(&decoder.cinfo()); });
}

// ---- Encoder

LibjpegEncoder::LibjpegEncoder(std::size_t first_guess)
    : capacity_(std::max<std::size_t>(first_guess, 4096)) {
  set_up(errors_);
  cinfo_.err = &errors_.base;
  run([this] {
    jpeg_create_compress(&cinfo_);
    created_ = true;
  });
  cinfo_.mem->max_memory_to_use = 0;  // as for the decoder
  cinfo_.client_data = this;
  destination_.init_destination = on_start;
  destination_.empty_output_buffer = on_full;
  destination_.term_destination = on_end;
  cinfo_.dest = &destination_;
}

LibjpegEncoder::~LibjpegEncoder() {
  if (created_) jpeg_destroy_compress(&cinfo_);
  std::free(block_);
}

Bytes LibjpegEncoder::finish() {
  run([this] { jpeg_finish_compress(&cinfo_); });
  // What the guess was too large by would be held until the sample is written.
  if (void* exact = std::realloc(block_, size_)) block_ = static_cast<std::uint8_t*>(exact);
  std::uint8_t* const block = block_;
  block_ = nullptr;
  return Bytes::take_malloc(block, size_);
}

void LibjpegEncoder::fail_encoding() const {
  const Code code = code_of(errors_.base.msg_code);
  // Unlike a decoder's input, what an encoder is given is of our own making.
  fail(code == Code::corrupt ? Code::internal : code, "JPEG encoder: {}", errors_.message);
}

LibjpegEncoder& LibjpegEncoder::from(j_compress_ptr cinfo) {
  return *static_cast<LibjpegEncoder*>(cinfo->client_data);
}

void LibjpegEncoder::grow(std::size_t capacity) {
  auto* larger = static_cast<std::uint8_t*>(std::realloc(block_, capacity));
  if (!larger) ERREXIT1(&cinfo_, JERR_OUT_OF_MEMORY, 0);
  destination_.next_output_byte = larger + size_;
  destination_.free_in_buffer = capacity - size_;
  block_ = larger;
  capacity_ = capacity;
}

void LibjpegEncoder::on_start(j_compress_ptr cinfo) {
  LibjpegEncoder& self = from(cinfo);
  self.grow(self.capacity_);
}

boolean LibjpegEncoder::on_full(j_compress_ptr cinfo) {
  LibjpegEncoder& self = from(cinfo);
  self.size_ = self.capacity_;
  self.grow(self.capacity_ * 2);
  return TRUE;
}

void LibjpegEncoder::on_end(j_compress_ptr cinfo) {
  LibjpegEncoder& self = from(cinfo);
  self.size_ = self.capacity_ - self.destination_.free_in_buffer;
}

}  // namespace prep::image
