#include "lib/image/jpeg_coefficients.h"

#include <algorithm>
#include <cstring>

#include "lib/core/error.h"
#include "lib/image/libjpeg_codec-inl.h"

namespace prep::image {
namespace {

static_assert(sizeof(JBLOCK) == sizeof(DctBlock));

// The steps as they were when the component's first scan began.
QuantTable steps_of(const jpeg_component_info& component) {
  if (!component.quant_table) fail(Code::corrupt, "a component without a quantization table");
  QuantTable steps{};
  std::copy_n(component.quant_table->quantval, steps.size(), steps.begin());
  return steps;
}

CoefficientPlane shape_plane(const jpeg_component_info& component) {
  CoefficientPlane plane;
  plane.h = component.h_samp_factor;
  plane.v = component.v_samp_factor;
  plane.across = static_cast<int>(component.width_in_blocks);
  plane.down = static_cast<int>(component.height_in_blocks);
  plane.steps = steps_of(component);
  plane.rows.resize(static_cast<std::size_t>(plane.down));
  return plane;
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
                                   std::vector<std::string>& warnings)
    : decoder_(std::make_unique<LibjpegDecoder>(data, false)) {
  decoder_->read_header(info);
  jvirt_barray_ptr* const arrays = decoder_->read_coefficients();
  if (decoder_->met_stray_bytes()) check_codes(data, info, false);
  decoder_->add_warnings(warnings);
  jpeg_decompress_struct& cinfo = decoder_->cinfo();
  for (int i = 0; i < cinfo.num_components; ++i) {
    planes_.push_back(shape_plane(cinfo.comp_info[i]));
  }
  decoder_->run([&] {
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
