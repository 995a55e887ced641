#include "lib/image/planar_jpeg.h"

#include <algorithm>
#include <cstring>

#include "lib/core/error.h"
#include "lib/image/libjpeg_codec-inl.h"

namespace prep::image {
namespace {

constexpr int kMaxBlockRows = 4;  // block rows of a component in one row of MCUs, T.81 B.2.2
constexpr int kMaxRows = kMaxBlockRows * DCTSIZE;

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

// What this build of libjpeg cannot do, said before it says so in its own words.
void check_supported(const JpegInfo& info) {
  if (info.lossless) fail(Code::unsupported, "a lossless JPEG; only DCT-based ones are decoded");
  if (info.precision != 8) {
    fail(Code::unsupported, "a JPEG of {} bits a sample; only 8 are decoded", info.precision);
  }
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

void set_parameters(jpeg_compress_struct& cinfo, const EncodeOptions& options) {
  cinfo.dct_method = JDCT_ISLOW;
  cinfo.optimize_coding = options.optimize ? TRUE : FALSE;
  jpeg_set_quality(&cinfo, options.quality, TRUE);
  for (std::size_t i = 0; i < options.steps.size(); ++i) {
    unsigned steps[DCTSIZE2];
    std::copy(options.steps[i].begin(), options.steps[i].end(), steps);
    jpeg_add_quant_table(&cinfo, static_cast<int>(i), steps, 100, TRUE);
    cinfo.comp_info[i].quant_tbl_no = static_cast<int>(i);
  }
  if (options.progressive) jpeg_simple_progression(&cinfo);
}

std::vector<JOCTET> exif_segment(const Bytes& exif) {
  if (exif.empty()) return {};
  constexpr JOCTET kHeader[6] = {'E', 'x', 'i', 'f', 0, 0};
  if (exif.size() > 65533 - sizeof kHeader) {
    fail(Code::limit, "{} bytes of EXIF do not fit in a JPEG's segment", exif.size());
  }
  std::vector<JOCTET> segment(kHeader, kHeader + sizeof kHeader);
  segment.insert(segment.end(), exif.data(), exif.data() + exif.size());
  return segment;
}

// With the markers that follow JFIF's.
void start(LibjpegEncoder& encoder, const EncodeOptions& options) {
  const std::vector<JOCTET> exif = exif_segment(options.exif);
  jpeg_compress_struct& cinfo = encoder.cinfo();
  encoder.run([&] {
    jpeg_start_compress(&cinfo, TRUE);
    if (!exif.empty()) {
      jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
    }
    if (!options.icc.empty()) {
      jpeg_write_icc_profile(&cinfo, options.icc.data(), static_cast<unsigned>(options.icc.size()));
    }
  });
}

std::size_t guess_size(int width, int height) {
  return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) / 2;
}

// Luma's sampling factors; chroma's are 1.
struct LumaFactors {
  int h = 1, v = 1;
};

void set_sampling(jpeg_compress_struct& cinfo, const LumaFactors& luma) {
  for (int i = 0; i < cinfo.num_components; ++i) {
    cinfo.comp_info[i].h_samp_factor = i == 0 ? luma.h : 1;
    cinfo.comp_info[i].v_samp_factor = i == 0 ? luma.v : 1;
  }
}

LumaFactors factors_of(Subsampling subsampling, int channels) {
  const int factor = subsampling == Subsampling::s420 && channels == 3 ? 2 : 1;
  return {factor, factor};
}

int luma_factor(int luma_size, int chroma_size) {
  if (chroma_size == luma_size) return 1;
  if (chroma_size == (luma_size + 1) / 2) return 2;
  fail(Code::internal, "JPEG encoder: chroma of {} samples for {} of luma", chroma_size, luma_size);
}

LumaFactors factors_of(const Planes& planes) {
  if (planes.count == 1) return {};
  const Plane& luma = planes.plane[0];
  const Plane& cb = planes.plane[1];
  const Plane& cr = planes.plane[2];
  if (cb.width != cr.width || cb.height != cr.height) {
    fail(Code::internal, "JPEG encoder: chroma planes of different sizes");
  }
  return {luma_factor(luma.width, cb.width), luma_factor(luma.height, cb.height)};
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
  LibjpegDecoder decoder(data, options.allow_truncated);
  decoder.read_header(info);
  jpeg_decompress_struct& cinfo = decoder.cinfo();
  if (!is_planar(info) ||
      (cinfo.jpeg_color_space != JCS_GRAYSCALE && cinfo.jpeg_color_space != JCS_YCbCr)) {
    fail(Code::internal, "decode_planes: not a planar JPEG");
  }
  cinfo.raw_data_out = TRUE;
  cinfo.out_color_space = cinfo.jpeg_color_space;
  decoder.start(options.denominator);
  const Planes planes = shape_planes(cinfo, scratch);
  decoder.run([&] { read_planes(cinfo, planes); });
  decoder.finish(info, warnings);
  if (decoder.met_stray_bytes()) check_codes(data, info, options.allow_truncated);
  return planes;
}

Plane decode_interleaved(const Bytes& data, const JpegInfo& info, const DecodeOptions& options,
                         PlaneBuffer& out, std::vector<std::string>& warnings) {
  check_supported(info);
  LibjpegDecoder decoder(data, options.allow_truncated);
  decoder.read_header(info);
  jpeg_decompress_struct& cinfo = decoder.cinfo();
  cinfo.out_color_space = interleaved_color(cinfo);
  decoder.start(options.denominator);
  const Plane pixels = out.shape(static_cast<int>(cinfo.output_width),
                                 static_cast<int>(cinfo.output_height), cinfo.output_components);
  decoder.run([&] { read_pixels(cinfo, pixels); });
  decoder.finish(info, warnings);
  if (decoder.met_stray_bytes()) check_codes(data, info, options.allow_truncated);
  return pixels;
}

Bytes encode_planes(const Planes& planes, const EncodeOptions& options) {
  const Plane& luma = planes.plane[0];
  LibjpegEncoder encoder(guess_size(luma.width, luma.height));
  jpeg_compress_struct& cinfo = encoder.cinfo();
  const LumaFactors factors = factors_of(planes);
  cinfo.image_width = static_cast<JDIMENSION>(luma.width);
  cinfo.image_height = static_cast<JDIMENSION>(luma.height);
  cinfo.input_components = planes.count;
  cinfo.in_color_space = planes.count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  encoder.run([&] {
    jpeg_set_defaults(&cinfo);
    set_parameters(cinfo, options);
    set_sampling(cinfo, factors);
    cinfo.raw_data_in = TRUE;
  });
  for (int i = 0; i < planes.count; ++i) pad_rows(planes.plane[static_cast<std::size_t>(i)]);
  start(encoder, options);
  encoder.run([&] { write_planes(cinfo, planes); });
  return encoder.finish();
}

Bytes encode_interleaved(const ConstPlane& pixels, Subsampling subsampling,
                         const EncodeOptions& options) {
  LibjpegEncoder encoder(guess_size(pixels.width, pixels.height));
  jpeg_compress_struct& cinfo = encoder.cinfo();
  cinfo.image_width = static_cast<JDIMENSION>(pixels.width);
  cinfo.image_height = static_cast<JDIMENSION>(pixels.height);
  cinfo.input_components = pixels.channels;
  cinfo.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  encoder.run([&] {
    jpeg_set_defaults(&cinfo);
    set_parameters(cinfo, options);
    set_sampling(cinfo, factors_of(subsampling, pixels.channels));
  });
  start(encoder, options);
  encoder.run([&] { write_pixels(cinfo, pixels); });
  return encoder.finish();
}

}  // namespace prep::image
