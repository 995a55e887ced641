#include "lib/image/jpeg_coefficients.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

#include "lib/core/error.h"
#include "lib/image/libjpeg_codec-inl.h"

namespace prep::image {
namespace {

static_assert(sizeof(JBLOCK) == sizeof(DctBlock));

CoefficientPlane shape_plane(const jpeg_component_info& component, const JQUANT_TBL& table) {
  CoefficientPlane plane;
  plane.h = component.h_samp_factor;
  plane.v = component.v_samp_factor;
  plane.across = static_cast<int>(component.width_in_blocks);
  plane.down = static_cast<int>(component.height_in_blocks);
  std::copy_n(table.quantval, plane.steps.size(), plane.steps.begin());
  return plane;
}

// Whether the first scan, whose header was read, is a whole sequential image's, with all tables.
bool is_ordinary(const jpeg_decompress_struct& cinfo) {
  if (cinfo.progressive_mode || cinfo.arith_code || cinfo.data_precision != BITS_IN_JSAMPLE) {
    return false;
  }
  if (cinfo.Ss != 0 || cinfo.Se != DCTSIZE2 - 1 || cinfo.Ah != 0 || cinfo.Al != 0) return false;
  if (cinfo.comps_in_scan != cinfo.num_components) return false;
  const auto has = [](auto* const* tables, int number, int count) {
    return number >= 0 && number < count && tables[number];
  };
  for (int i = 0; i < cinfo.comps_in_scan; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    // libjpeg doesn't look at the numbers before it starts to decode.
    if (cinfo.cur_comp_info[i] != &component ||
        !has(cinfo.quant_tbl_ptrs, component.quant_tbl_no, NUM_QUANT_TBLS) ||
        !has(cinfo.dc_huff_tbl_ptrs, component.dc_tbl_no, NUM_HUFF_TBLS) ||
        !has(cinfo.ac_huff_tbl_ptrs, component.ac_tbl_no, NUM_HUFF_TBLS)) {
      return false;
    }
  }
  return true;
}

HuffmanTable table_of(const JHUFF_TBL& stored) {
  HuffmanTable table;
  std::copy_n(stored.bits + 1, table.count.size() - 1, table.count.begin() + 1);
  const std::size_t symbols =
      std::accumulate(table.count.begin(), table.count.end(), std::size_t{0});
  table.symbols.assign(stored.huffval,
                       stored.huffval + std::min(symbols, std::size(stored.huffval)));
  return table;
}

int divide_up(JDIMENSION size, int unit) { return (static_cast<int>(size) + unit - 1) / unit; }

// The scan of an ordinary file.
BaselineScan describe_scan(const jpeg_decompress_struct& cinfo, ByteView data) {
  BaselineScan scan;
  const bool interleaved = cinfo.comps_in_scan > 1;
  for (int i = 0; i < cinfo.comps_in_scan; ++i) {
    const jpeg_component_info& from = cinfo.comp_info[i];
    ScanComponent component;
    component.across = static_cast<int>(from.width_in_blocks);
    component.down = static_cast<int>(from.height_in_blocks);
    // The only component of a scan comes block by block, whatever its sampling factors.
    component.h = interleaved ? from.h_samp_factor : 1;
    component.v = interleaved ? from.v_samp_factor : 1;
    component.dc = table_of(*cinfo.dc_huff_tbl_ptrs[from.dc_tbl_no]);
    component.ac = table_of(*cinfo.ac_huff_tbl_ptrs[from.ac_tbl_no]);
    scan.components.push_back(std::move(component));
  }
  const ScanComponent& first = scan.components[0];
  scan.mcus_across =
      interleaved ? divide_up(cinfo.image_width, cinfo.max_h_samp_factor * DCTSIZE) : first.across;
  scan.mcus_down =
      interleaved ? divide_up(cinfo.image_height, cinfo.max_v_samp_factor * DCTSIZE) : first.down;
  scan.restart_interval = static_cast<int>(cinfo.restart_interval);
  scan.data = data;
  return scan;
}

JDIMENSION padded(int blocks, int factor) {
  return static_cast<JDIMENSION>((blocks + factor - 1) / factor * factor);
}

// Arrays in the encoder's memory, with the planes' blocks in them.
void fill_arrays(jpeg_compress_struct& cinfo, const Frame& frame,
                 const std::vector<CoefficientPlane>& planes, jvirt_barray_ptr* arrays) {
  auto* const common = reinterpret_cast<j_common_ptr>(&cinfo);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const FrameComponent& component = frame.components[i];
    arrays[i] = cinfo.mem->request_virt_barray(
        common, JPOOL_IMAGE, TRUE, padded(planes[i].across, component.h),
        padded(planes[i].down, component.v), static_cast<JDIMENSION>(component.v));
  }
  cinfo.mem->realize_virt_arrays(common);
  for (std::size_t i = 0; i < planes.size(); ++i) {
    for (int y = 0; y < planes[i].down; ++y) {
      JBLOCKARRAY row =
          cinfo.mem->access_virt_barray(common, arrays[i], static_cast<JDIMENSION>(y), 1, TRUE);
      std::memcpy(row[0], planes[i].rows[static_cast<std::size_t>(y)],
                  static_cast<std::size_t>(planes[i].across) * sizeof(DctBlock));
    }
  }
}

void describe(jpeg_compress_struct& cinfo, const Frame& frame) {
  cinfo.image_width = static_cast<JDIMENSION>(frame.width);
  cinfo.image_height = static_cast<JDIMENSION>(frame.height);
  cinfo.input_components = static_cast<int>(frame.components.size());
  cinfo.in_color_space = cinfo.input_components == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
  jpeg_set_defaults(&cinfo);
  for (std::size_t i = 0; i < frame.components.size(); ++i) {
    const FrameComponent& component = frame.components[i];
    unsigned steps[64];
    std::copy(component.quant.begin(), component.quant.end(), steps);
    jpeg_add_quant_table(&cinfo, static_cast<int>(i), steps, 100, TRUE);
    cinfo.comp_info[i].quant_tbl_no = static_cast<int>(i);
    cinfo.comp_info[i].h_samp_factor = component.h;
    cinfo.comp_info[i].v_samp_factor = component.v;
  }
  jpeg_simple_progression(&cinfo);
}

}  // namespace

JpegCoefficients::JpegCoefficients(const Bytes& data, const JpegInfo& info,
                                   BaselineDecoder* decoder, std::vector<std::string>& warnings)
    : libjpeg_(std::make_unique<LibjpegDecoder>(data, false)) {
  libjpeg_->read_header(info);
  ordinary_ = decoder && decode_ordinary(data, info, *decoder);
  if (!ordinary_) decode_any(data, info, warnings);
}

// False where the file is out of the ordinary; then libjpeg can go on from behind the header.
bool JpegCoefficients::decode_ordinary(const Bytes& data, const JpegInfo& info,
                                       BaselineDecoder& decoder) {
  const jpeg_decompress_struct& cinfo = libjpeg_->cinfo();
  if (!info.ends || libjpeg_->has_warnings() || !is_ordinary(cinfo)) return false;
  const std::uint8_t* const begin = cinfo.src->next_input_byte;
  const std::uint8_t* const end = data.data() + info.end_offset;
  if (begin > end || !decoder.decode(describe_scan(cinfo, {begin, end}))) return false;
  for (int i = 0; i < cinfo.num_components; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    CoefficientPlane plane = shape_plane(component, *cinfo.quant_tbl_ptrs[component.quant_tbl_no]);
    for (int y = 0; y < plane.down; ++y) {
      plane.rows.push_back(decoder.row(static_cast<std::size_t>(i), y));
    }
    planes_.push_back(std::move(plane));
  }
  return true;
}

void JpegCoefficients::decode_any(const Bytes& data, const JpegInfo& info,
                                  std::vector<std::string>& warnings) {
  jvirt_barray_ptr* const arrays = libjpeg_->read_coefficients();
  if (libjpeg_->met_stray_bytes()) check_codes(data, info, false);
  libjpeg_->add_warnings(warnings);
  jpeg_decompress_struct& cinfo = libjpeg_->cinfo();
  for (int i = 0; i < cinfo.num_components; ++i) {
    const jpeg_component_info& component = cinfo.comp_info[i];
    if (!component.quant_table) fail(Code::corrupt, "a component without a quantization table");
    planes_.push_back(shape_plane(component, *component.quant_table));
    planes_.back().rows.resize(component.height_in_blocks);
  }
  libjpeg_->run([&] {
    for (std::size_t i = 0; i < planes_.size(); ++i) {
      for (int y = 0; y < planes_[i].down; ++y) {
        planes_[i].rows[static_cast<std::size_t>(y)] =
            *cinfo.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&cinfo), arrays[i],
                                           static_cast<JDIMENSION>(y), 1, FALSE);
      }
    }
  });
}

JpegCoefficients::~JpegCoefficients() = default;

Bytes write_progressive(const Frame& frame, const std::vector<CoefficientPlane>& planes,
                        ByteView metadata) {
  LibjpegEncoder encoder(0);
  jpeg_compress_struct& cinfo = encoder.cinfo();
  jvirt_barray_ptr arrays[3];
  encoder.run([&] {
    describe(cinfo, frame);
    fill_arrays(cinfo, frame, planes, arrays);
    jpeg_write_coefficients(&cinfo, arrays);
  });
  return with_metadata(encoder.finish(), metadata);
}

Bytes with_metadata(const Bytes& jpeg, ByteView metadata) {
  constexpr std::size_t kSoi = 2, kJfif = 18;
  const ByteView from = jpeg.view();
  std::vector<std::uint8_t> joined(from.begin(), from.begin() + kSoi);
  joined.insert(joined.end(), metadata.begin(), metadata.end());
  joined.insert(joined.end(), from.begin() + kSoi + kJfif, from.end());
  return Bytes::take(std::move(joined));
}

}  // namespace prep::image
