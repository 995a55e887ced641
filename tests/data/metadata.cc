#include "tests/data/metadata.h"

#include <lcms2.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

#include "tests/data/byte_string.h"

namespace prep::testdata {
namespace {

using namespace std::string_literals;

class TiffWriter {
 public:
  explicit TiffWriter(ByteOrder order)
      : order_(order), data_(order == ByteOrder::little ? "II" : "MM") {
    number(42, 2);
    number(8, 4);  // IFD0 follows at once
  }
  void number(std::uint32_t value, int bytes) {
    data_ += order_ == ByteOrder::little ? little_endian(value, bytes) : big_endian(value, bytes);
  }
  void short_entry(int tag, int value) {
    number(tag, 2);
    number(3, 2);
    number(1, 4);
    number(value, 2);
    number(0, 2);
  }
  void long_entry(int tag, std::uint32_t value) {
    number(tag, 2);
    number(4, 2);
    number(1, 4);
    number(value, 4);
  }
  void bytes(std::string_view bytes) { data_ += bytes; }
  std::string take() { return std::move(data_); }

 private:
  ByteOrder order_;
  std::string data_;
};

struct CloseProfile {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};
using Profile = std::unique_ptr<void, CloseProfile>;

std::string saved(const Profile& profile) {
  cmsUInt32Number size = 0;
  if (!profile || !cmsSaveProfileToMem(profile.get(), nullptr, &size)) {
    throw std::runtime_error("lcms2 cannot make the profile");
  }
  std::string bytes(size, '\0');
  cmsSaveProfileToMem(profile.get(), bytes.data(), &size);
  // The header's date of creation and the library's signature would differ from day to day.
  std::fill_n(bytes.begin() + 24, 12, '\0');
  return bytes;
}

std::string rgb_profile(const cmsCIExyYTRIPLE& primaries, cmsToneCurve* curve) {
  const cmsCIExyY d65 = {0.3127, 0.3290, 1.0};
  cmsToneCurve* const curves[3] = {curve, curve, curve};
  const Profile profile(cmsCreateRGBProfile(&d65, &primaries, curves));
  cmsFreeToneCurve(curve);
  return saved(profile);
}

// Ink to CIELAB for a device that is plain in everything but that its first two inks are swapped.
cmsInt32Number swapped_inks(const cmsUInt16Number in[], cmsUInt16Number out[], void* rgb_to_lab) {
  cmsUInt16Number rgb[3];
  for (int i = 0; i < 3; ++i) {
    const cmsUInt32Number ink = in[i == 0 ? 1 : i == 1 ? 0 : 2];
    rgb[i] = static_cast<cmsUInt16Number>((65535u - ink) * (65535u - in[3]) / 65535u);
  }
  cmsDoTransform(rgb_to_lab, rgb, out, 1);
  return TRUE;
}

void write_swapped_table(cmsHPROFILE profile) {
  const Profile srgb(cmsCreate_sRGBProfile()), lab(cmsCreateLab2Profile(nullptr));
  const cmsHTRANSFORM to_lab = cmsCreateTransform(srgb.get(), TYPE_RGB_16, lab.get(), TYPE_LabV2_16,
                                                  INTENT_RELATIVE_COLORIMETRIC, 0);
  cmsPipeline* const pipeline = cmsPipelineAlloc(nullptr, 4, 3);
  cmsStage* const table = cmsStageAllocCLut16bit(nullptr, 5, 4, 3, nullptr);
  cmsStageSampleCLut16bit(table, swapped_inks, to_lab, 0);
  cmsPipelineInsertStage(pipeline, cmsAT_END, table);
  for (cmsTagSignature tag : {cmsSigAToB0Tag, cmsSigAToB1Tag}) {
    cmsWriteTag(profile, tag, pipeline);
  }
  cmsPipelineFree(pipeline);
  cmsDeleteTransform(to_lab);
}

}  // namespace

std::string exif_tiff(int orientation, ByteOrder order) {
  TiffWriter tiff(order);
  tiff.number(1, 2);
  tiff.short_entry(0x0112, orientation);
  tiff.number(0, 4);  // no further directory
  return tiff.take();
}

std::string exif_tiff_with_thumbnail(int orientation, std::string_view jpeg) {
  TiffWriter tiff(ByteOrder::little);
  tiff.number(1, 2);
  tiff.short_entry(0x0112, orientation);
  tiff.number(8 + 2 + 12 + 4, 4);  // IFD1 follows at once
  tiff.number(4, 2);
  tiff.short_entry(0x0103, 6);  // JPEG
  tiff.short_entry(0x0112, 3);  // of the thumbnail: must not be taken for the picture's
  tiff.long_entry(0x0201, 26 + 2 + 4 * 12 + 4);
  tiff.long_entry(0x0202, static_cast<std::uint32_t>(jpeg.size()));
  tiff.number(0, 4);
  tiff.bytes(jpeg);
  return tiff.take();
}

std::string exif_payload(std::string_view tiff) { return "Exif\0\0"s + std::string(tiff); }

std::string srgb_profile() { return saved(Profile(cmsCreate_sRGBProfile())); }

std::string adobe_rgb_profile() {
  const cmsCIExyYTRIPLE primaries = {{0.64, 0.33, 1}, {0.21, 0.71, 1}, {0.15, 0.06, 1}};
  return rgb_profile(primaries, cmsBuildGamma(nullptr, 563.0 / 256));
}

std::string display_p3_profile() {
  const cmsCIExyYTRIPLE primaries = {{0.680, 0.320, 1}, {0.265, 0.690, 1}, {0.150, 0.060, 1}};
  const double srgb_curve[5] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  return rgb_profile(primaries, cmsBuildParametricToneCurve(nullptr, 4, srgb_curve));
}

std::string grey_profile(double gamma) {
  cmsToneCurve* const curve = cmsBuildGamma(nullptr, gamma);
  const Profile profile(cmsCreateGrayProfile(cmsD50_xyY(), curve));
  cmsFreeToneCurve(curve);
  return saved(profile);
}

std::string swapped_cmyk_profile() {
  const Profile profile(cmsCreateProfilePlaceholder(nullptr));
  if (!profile) throw std::bad_alloc();
  cmsSetProfileVersion(profile.get(), 2.1);
  cmsSetDeviceClass(profile.get(), cmsSigOutputClass);
  cmsSetColorSpace(profile.get(), cmsSigCmykData);
  cmsSetPCS(profile.get(), cmsSigLabData);
  cmsWriteTag(profile.get(), cmsSigMediaWhitePointTag, cmsD50_XYZ());
  write_swapped_table(profile.get());
  return saved(profile);
}

std::string icc_payload(std::string_view profile, int number, int count) {
  std::string payload = "ICC_PROFILE\0"s;
  payload += static_cast<char>(number);
  payload += static_cast<char>(count);
  return payload.append(profile);
}

Corners to_srgb(const std::string& bytes, const Corners& corners) {
  const Profile source(
      cmsOpenProfileFromMem(bytes.data(), static_cast<cmsUInt32Number>(bytes.size())));
  const Profile srgb(cmsCreate_sRGBProfile());
  const bool cmyk = source && cmsGetColorSpace(source.get()) == cmsSigCmykData;
  const cmsHTRANSFORM transform = cmsCreateTransform(
      source.get(), cmyk ? TYPE_CMYK_8 : TYPE_RGB_8, srgb.get(), TYPE_RGB_8,
      INTENT_RELATIVE_COLORIMETRIC, cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE);
  if (transform == nullptr) throw std::runtime_error("lcms2 cannot use the profile");
  Corners result{};
  for (std::size_t i = 0; i < corners.size(); ++i) {
    cmsDoTransform(transform, corners[i].data(), result[i].data(), 1);
  }
  cmsDeleteTransform(transform);
  return result;
}

}  // namespace prep::testdata
