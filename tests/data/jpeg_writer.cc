#include "tests/data/jpeg_writer.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace prep::testdata {
namespace {

struct Compressor {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  unsigned char* data = nullptr;
  unsigned long size = 0;

  // libjpeg's own error handler ends the program with a message, which suits a generator.
  Compressor() {
    info.err = jpeg_std_error(&errors);
    errors.emit_message = [](j_common_ptr, int) {};  // it cautions where we mean it
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &data, &size);
  }
  ~Compressor() {
    jpeg_destroy_compress(&info);
    std::free(data);
  }
};

J_COLOR_SPACE input_space(int channels) {
  return channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
}

// Tables with one entry beyond 8 bits, at the highest frequency, where no picture of ours has
// anything to lose.
void set_wide_tables(jpeg_compress_struct& info) {
  unsigned int table[DCTSIZE2];
  for (int i = 0; i < DCTSIZE2; ++i) table[i] = 4;
  table[DCTSIZE2 - 1] = 1000;
  jpeg_add_quant_table(&info, 0, table, 100, FALSE);
  jpeg_add_quant_table(&info, 1, table, 100, FALSE);
}

void set_coding(jpeg_compress_struct& info, const JpegOptions& options) {
  if (options.progressive) jpeg_simple_progression(&info);
  if (!options.scans.empty()) {
    info.scan_info = options.scans.data();
    info.num_scans = static_cast<int>(options.scans.size());
  }
  info.arith_code = options.arithmetic ? TRUE : FALSE;
  info.restart_in_rows = options.restart_rows;
}

void set_parameters(jpeg_compress_struct& info, const JpegOptions& options) {
  jpeg_set_defaults(&info);
  // libjpeg's default for CMYK input is CMYK, for RGB it is YCbCr.
  if (options.space != JCS_UNKNOWN) jpeg_set_colorspace(&info, options.space);
  jpeg_set_quality(&info, options.quality, TRUE);
  if (options.wide_tables) set_wide_tables(info);
  for (std::size_t i = 0; i < options.sampling.size(); ++i) {
    info.comp_info[i].h_samp_factor = options.sampling[i].first;
    info.comp_info[i].v_samp_factor = options.sampling[i].second;
  }
  for (std::size_t i = 0; i < options.ids.size(); ++i) {
    info.comp_info[i].component_id = options.ids[i];
  }
  if (!options.jfif) info.write_JFIF_header = FALSE;
  if (!options.adobe) info.write_Adobe_marker = FALSE;
  set_coding(info, options);
}

void add_ac_scans(std::vector<jpeg_scan_info>& scans, int count, int high, int low) {
  for (int k = 1; k < DCTSIZE2; ++k) {
    for (int component = 0; component < 3; ++component) {
      if (static_cast<int>(scans.size()) == count) return;
      scans.push_back({1, {component}, k, k, high, low});
    }
  }
}

int byte_at(std::string_view data, std::size_t at) { return static_cast<unsigned char>(data[at]); }

int length_at(std::string_view jpeg, std::size_t segment) {
  return byte_at(jpeg, segment + 2) << 8 | byte_at(jpeg, segment + 3);
}

template <typename Wanted>
std::size_t find_segment_if(std::string_view jpeg, Wanted wanted) {
  for (std::size_t at = 2; at + 4 <= jpeg.size(); at += 2 + length_at(jpeg, at)) {
    const int code = byte_at(jpeg, at + 1);
    if (wanted(code)) return at;
    if (code == 0xDA) break;
  }
  throw std::logic_error("the JPEG has no such segment");
}

std::size_t find_frame(std::string_view jpeg) {
  // C4 and CC are tables, C8 is reserved.
  return find_segment_if(jpeg, [](int code) {
    return code >= 0xC0 && code <= 0xCF && code != 0xC4 && code != 0xC8 && code != 0xCC;
  });
}

}  // namespace

std::string encode_jpeg(const Picture& picture, const JpegOptions& options) {
  Compressor compressor;
  jpeg_compress_struct& info = compressor.info;
  info.image_width = picture.width;
  info.image_height = picture.height;
  info.input_components = picture.channels;
  info.in_color_space = input_space(picture.channels);
  set_parameters(info, options);
  jpeg_start_compress(&info, TRUE);
  for (const JpegMarker& marker : options.markers) {
    jpeg_write_marker(&info, marker.code, reinterpret_cast<const JOCTET*>(marker.payload.data()),
                      static_cast<unsigned>(marker.payload.size()));
  }
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<JSAMPROW>(picture.at(0, static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return {reinterpret_cast<const char*>(compressor.data), compressor.size};
}

std::vector<jpeg_scan_info> many_scans(int count) {
  std::vector<jpeg_scan_info> scans = {{3, {0, 1, 2}, 0, 0, 0, 0}};
  add_ac_scans(scans, count, 0, 1);
  add_ac_scans(scans, count, 1, 0);
  return scans;
}

std::size_t find_segment(std::string_view jpeg, int code) {
  return find_segment_if(jpeg, [code](int found) { return found == code; });
}

std::size_t scan_start(std::string_view jpeg) {
  const std::size_t sos = find_segment(jpeg, 0xDA);
  return sos + 2 + length_at(jpeg, sos);
}

std::string with_segment(std::string_view jpeg, int code, std::string_view payload) {
  const std::size_t length = payload.size() + 2;
  std::string result(jpeg.substr(0, 2));
  result += '\xff';
  result += static_cast<char>(code);
  result += static_cast<char>(length >> 8);
  result += static_cast<char>(length & 0xff);
  result += payload;
  result += jpeg.substr(2);
  return result;
}

std::string with_frame_code(std::string jpeg, int code) {
  jpeg[find_frame(jpeg) + 1] = static_cast<char>(code);
  return jpeg;
}

std::string with_precision(std::string jpeg, int bits) {
  jpeg[find_frame(jpeg) + 4] = static_cast<char>(bits);
  return jpeg;
}

std::string with_size(std::string jpeg, int width, int height) {
  const std::size_t frame = find_frame(jpeg);
  jpeg[frame + 5] = static_cast<char>(height >> 8);
  jpeg[frame + 6] = static_cast<char>(height & 0xff);
  jpeg[frame + 7] = static_cast<char>(width >> 8);
  jpeg[frame + 8] = static_cast<char>(width & 0xff);
  return jpeg;
}

}  // namespace prep::testdata
