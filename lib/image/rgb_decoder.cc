#include "lib/image/rgb_decoder.h"

#include <algorithm>
#include <vector>

#include "lib/core/error.h"
#include "lib/image/libjpeg_codec-inl.h"

// jerror.h needs what jpeglib.h configures.
#include <jerror.h>

namespace prep::image {
namespace {

[[noreturn]] void jump_back(j_common_ptr cinfo) {
  auto* errors = reinterpret_cast<LibjpegErrors*>(cinfo->err);
  cinfo->err->format_message(cinfo, errors->message);
  std::longjmp(errors->back, 1);
}

bool is_loss(int message) {
  return message == JWRN_HIT_MARKER || message == JWRN_HUFF_BAD_CODE ||
         message == JWRN_ARITH_BAD_CODE || message == JWRN_JPEG_EOF;
}

// What libjpeg calls for its warnings has nothing but this to leave word in.
struct Errors {
  LibjpegErrors base;  // first, so that libjpeg's pointer to its handler is one to this
  bool lost_data = false;
};

// Of several warnings the first is told.
void keep_warning(j_common_ptr cinfo, int level) {
  if (level >= 0) return;
  auto* errors = reinterpret_cast<Errors*>(cinfo->err);
  if (is_loss(cinfo->err->msg_code)) errors->lost_data = true;
  if (cinfo->err->num_warnings++ == 0) cinfo->err->format_message(cinfo, errors->base.message);
}

unsigned denominator_for(const jpeg_decompress_struct& cinfo, int least_side) {
  const JDIMENSION side = std::min(cinfo.image_width, cinfo.image_height);
  unsigned denominator = 8;
  // Scaled sizes are rounded up.
  while (denominator > 1 &&
         (side + denominator - 1) / denominator < static_cast<JDIMENSION>(least_side)) {
    denominator /= 2;
  }
  return denominator;
}

}  // namespace

class RgbDecoder::State {
 public:
  explicit State(int least_side) : least_side_(least_side) {
    jpeg_std_error(&errors_.base.base);
    errors_.base.base.error_exit = jump_back;
    errors_.base.base.emit_message = keep_warning;
    cinfo_.err = &errors_.base.base;
    run([this] {
      jpeg_create_decompress(&cinfo_);
      created_ = true;
    });
    // libjpeg takes a limit from the environment, and this build has nothing to swap out to.
    cinfo_.mem->max_memory_to_use = 0;
  }
  State(const State&) = delete;
  ~State() {
    if (created_) jpeg_destroy_decompress(&cinfo_);
  }

  Plane decode(ByteView data) {
    errors_.base.base.num_warnings = 0;
    errors_.lost_data = false;
    run([&] { start(data); });
    const Plane pixels = buffer_.shape(static_cast<int>(cinfo_.output_width),
                                       static_cast<int>(cinfo_.output_height));
    rows_.resize(cinfo_.output_height);
    for (int y = 0; y < pixels.height; ++y) rows_[static_cast<std::size_t>(y)] = pixels.row(y);
    run([this] { read_rows(); });
    warning_ = errors_.base.base.num_warnings > 0 ? errors_.base.message : "";
    return pixels;
  }

  const std::string& warning() const { return warning_; }
  bool lost_data() const { return errors_.lost_data; }

 private:
  void start(ByteView data) {
    jpeg_mem_src(&cinfo_, data.data(), data.size());
    jpeg_read_header(&cinfo_, TRUE);
    cinfo_.out_color_space = JCS_RGB;
    cinfo_.dct_method = JDCT_ISLOW;
    cinfo_.scale_num = 1;
    cinfo_.scale_denom = least_side_ > 0 ? denominator_for(cinfo_, least_side_) : 1;
    jpeg_start_decompress(&cinfo_);
  }

  void read_rows() {
    while (cinfo_.output_scanline < cinfo_.output_height) {
      jpeg_read_scanlines(&cinfo_, rows_.data() + cinfo_.output_scanline,
                          cinfo_.output_height - cinfo_.output_scanline);
    }
    jpeg_finish_decompress(&cinfo_);
  }

  template <typename Call>
  void run(const Call& call) {
    if (guarded(errors_.base, call)) return;
    if (created_) jpeg_abort_decompress(&cinfo_);
    const bool other_colors = errors_.base.base.msg_code == JERR_CONVERSION_NOTIMPL;
    fail(other_colors ? Code::unsupported : Code::corrupt, "{}", errors_.base.message);
  }

  const int least_side_;
  jpeg_decompress_struct cinfo_{};
  Errors errors_{};
  bool created_ = false;
  TightRgbBuffer buffer_;
  std::vector<JSAMPROW> rows_;
  std::string warning_;
};

Plane TightRgbBuffer::shape(int width, int height) {
  const std::size_t size = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
  if (size > capacity_) {
    memory_ = std::make_unique_for_overwrite<std::uint8_t[]>(size);
    capacity_ = size;
  }
  return {memory_.get(), width, height, std::ptrdiff_t{width} * 3, 3};
}

RgbDecoder::RgbDecoder(int least_side) : state_(std::make_unique<State>(least_side)) {}
RgbDecoder::RgbDecoder(RgbDecoder&&) noexcept = default;
RgbDecoder& RgbDecoder::operator=(RgbDecoder&&) noexcept = default;
RgbDecoder::~RgbDecoder() = default;

Plane RgbDecoder::decode(ByteView data) { return state_->decode(data); }
const std::string& RgbDecoder::warning() const { return state_->warning(); }
bool RgbDecoder::lost_data() const { return state_->lost_data(); }

std::string libjpeg_version() {
#define PREP_TEXT_OF(x) #x
#define PREP_TEXT(x) PREP_TEXT_OF(x)
#ifdef LIBJPEG_TURBO_VERSION
  return "libjpeg-turbo " PREP_TEXT(LIBJPEG_TURBO_VERSION);
#else
  return "libjpeg " PREP_TEXT(JPEG_LIB_VERSION);
#endif
#undef PREP_TEXT
#undef PREP_TEXT_OF
}

}  // namespace prep::image
