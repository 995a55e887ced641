// libjpeg-turbo behind C++: its longjmps and messages become Errors, its memory is freed on every
// way out. Only lib/image's source files include this, so that jpeglib.h's names stay in them.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
// jpeglib.h needs FILE.
#include <cstdio>
//
#include <jpeglib.h>

#include <string>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/image/jpeg_info.h"

namespace prep::image {

// libjpeg's error handler: what cannot be recovered from comes back through guarded() as an Error.
struct LibjpegErrors {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is one to this
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

// Runs `call` and returns whether libjpeg came through it. A longjmp skips the frames of libjpeg
// and of `call`, which therefore must not hold anything with a destructor.
template <typename Call>
bool guarded(LibjpegErrors& errors, const Call& call) {
  if (setjmp(errors.back) != 0) return false;
  call();
  return true;
}

// One decompression. libjpeg's callbacks find this object through client_data.
class LibjpegDecoder {
 public:
  // careful: libjpeg-turbo's fast Huffman decoder is kept out, and with it what it overlooks.
  enum class Pace { fast, careful };

  LibjpegDecoder(const Bytes& data, bool allow_truncated, Pace pace = Pace::fast);
  LibjpegDecoder(const LibjpegDecoder&) = delete;
  ~LibjpegDecoder();

  jpeg_decompress_struct& cinfo() { return cinfo_; }
  // Whether bytes came where a marker should: they may be a harmless extra, or what was left over
  // when damaged data was misread.
  bool met_stray_bytes() const { return stray_bytes_; }
  // Whether add_warnings() would have something to say.
  bool has_warnings() const {
    return hit_marker_ || source_ended_ || resynced_ || stray_bytes_ || other_[0] != '\0';
  }

  // The header, which has to say what the caller based its limits on.
  void read_header(const JpegInfo& info);
  // Up to the first row of pixels, of the picture's size divided by `denominator`.
  void start(int denominator);
  // All coefficients; they live as long as this object, or until finish().
  jvirt_barray_ptr* read_coefficients();
  // After the last row. What is wrong behind the pixels is only worth a warning.
  void finish(const JpegInfo& info, std::vector<std::string>& warnings);
  // The warnings of finish(), after read_coefficients(), which has read everything.
  void add_warnings(std::vector<std::string>& warnings) const;

  // Runs `call` on libjpeg; see guarded() for what it may hold.
  template <typename Call>
  void run(const Call& call) {
    if (!guarded(errors_, call)) fail_decoding();
  }

 private:
  void check_scans();
  bool all_refined() const;
  [[noreturn]] void fail_decoding() const;
  bool may_miss_data() const;
  void take_input();
  static LibjpegDecoder& from(j_common_ptr cinfo);
  static void on_message(j_common_ptr cinfo, int level);
  static boolean on_empty_buffer(j_decompress_ptr cinfo);
  static void on_skip(j_decompress_ptr cinfo, long count);

  jpeg_decompress_struct cinfo_{};
  LibjpegErrors errors_{};
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

// Looks again at a file whose data did not end where it should. throws Error corrupt if a Huffman
// code is in no table.
void check_codes(const Bytes& data, const JpegInfo& info, bool allow_truncated);

// One compression into memory from malloc().
class LibjpegEncoder {
 public:
  explicit LibjpegEncoder(std::size_t first_guess);
  LibjpegEncoder(const LibjpegEncoder&) = delete;
  ~LibjpegEncoder();

  jpeg_compress_struct& cinfo() { return cinfo_; }
  // What was written.
  Bytes finish();

  // Runs `call` on libjpeg; see guarded() for what it may hold.
  template <typename Call>
  void run(const Call& call) {
    if (!guarded(errors_, call)) fail_encoding();
  }

 private:
  [[noreturn]] void fail_encoding() const;
  void grow(std::size_t capacity);
  static LibjpegEncoder& from(j_compress_ptr cinfo);
  static void on_start(j_compress_ptr cinfo);
  static boolean on_full(j_compress_ptr cinfo);
  static void on_end(j_compress_ptr cinfo);

  jpeg_compress_struct cinfo_{};
  LibjpegErrors errors_{};
  jpeg_destination_mgr destination_{};
  bool created_ = false;
  std::uint8_t* block_ = nullptr;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace prep::image
