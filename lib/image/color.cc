#include "lib/image/color.h"

#include <lcms2.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <new>

#include "lib/core/error.h"

namespace prep::image {
namespace {

// A data set has a handful of profiles; a CMYK transform takes a few megabytes.
constexpr std::size_t kCachedProfiles = 8;

struct CloseProfile {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};
using ProfilePtr = std::unique_ptr<void, CloseProfile>;
struct DeleteTransform {
  void operator()(void* transform) const { cmsDeleteTransform(transform); }
};
using TransformPtr = std::unique_ptr<void, DeleteTransform>;
struct FreeCurve {
  void operator()(cmsToneCurve* curve) const { cmsFreeToneCurve(curve); }
};

std::string_view model_name(ColorModel model) {
  return model == ColorModel::grey ? "grey" : model == ColorModel::rgb ? "RGB" : "CMYK";
}

std::string_view space_name(cmsColorSpaceSignature space) {
  switch (space) {
    case cmsSigGrayData:
      return "grey";
    case cmsSigRgbData:
      return "RGB";
    case cmsSigCmykData:
      return "CMYK";
    case cmsSigLabData:
      return "Lab";
    default:
      return "another colour space";
  }
}

cmsColorSpaceSignature space_of(ColorModel model) {
  return model == ColorModel::grey  ? cmsSigGrayData
         : model == ColorModel::rgb ? cmsSigRgbData
                                    : cmsSigCmykData;
}

cmsUInt32Number input_format(ColorModel model, bool alpha) {
  const cmsUInt32Number extra = EXTRA_SH(alpha ? 1u : 0u);
  return model == ColorModel::grey  ? TYPE_GRAY_8 | extra
         : model == ColorModel::rgb ? TYPE_RGB_8 | extra
                                    : TYPE_CMYK_8_REV;
}

cmsUInt32Number output_format(ColorModel model, bool alpha) {
  return model == ColorModel::cmyk ? TYPE_RGB_8 : input_format(model, alpha);
}

// sRGB, or for grey pixels a grey profile with sRGB's white and curve (IEC 61966-2-1).
ProfilePtr make_srgb(cmsContext context, ColorModel model) {
  if (model != ColorModel::grey) return ProfilePtr(cmsCreate_sRGBProfileTHR(context));
  const cmsFloat64Number parameters[] = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  const std::unique_ptr<cmsToneCurve, FreeCurve> curve(
      cmsBuildParametricToneCurve(context, 4, parameters));
  return ProfilePtr(curve ? cmsCreateGrayProfileTHR(context, cmsD50_xyY(), curve.get()) : nullptr);
}

bool is_input_class(cmsProfileClassSignature device_class) {
  return device_class == cmsSigDisplayClass || device_class == cmsSigInputClass ||
         device_class == cmsSigOutputClass || device_class == cmsSigColorSpaceClass;
}

// Whether the transform moves none of a grid of colours by more than the tolerance.
bool is_identity(cmsHTRANSFORM transform, ColorModel model) {
  std::vector<std::uint8_t> in;
  for (int v = 0; v < 256; ++v) in.insert(in.end(), model == ColorModel::grey ? 1 : 3, v);
  if (model == ColorModel::rgb) {
    for (int i = 0; i < 9 * 9 * 9; ++i) {
      for (int level : {i % 9, i / 9 % 9, i / 81}) {
        in.push_back(static_cast<std::uint8_t>(std::min(level * 32, 255)));
      }
    }
  }
  std::vector<std::uint8_t> out(in.size());
  const auto channels = static_cast<std::size_t>(color_channels(model));
  cmsDoTransform(transform, in.data(), out.data(),
                 static_cast<cmsUInt32Number>(in.size() / channels));
  return std::equal(in.begin(), in.end(), out.begin(),
                    [](int a, int b) { return std::abs(a - b) <= kSrgbTolerance; });
}

std::uint8_t multiply(unsigned a, unsigned b) {  // a * b / 255, rounded
  const unsigned t = a * b + 128;
  return static_cast<std::uint8_t>(((t >> 8) + t) >> 8);
}

}  // namespace

// lcms' own context, so that its messages about broken profiles go nowhere.
class ColorConverter::Context {
 public:
  Context() : context_(cmsCreateContext(nullptr, nullptr)) {
    if (!context_) throw std::bad_alloc();
    cmsSetLogErrorHandlerTHR(context_, [](cmsContext, cmsUInt32Number, const char*) {});
  }
  ~Context() { cmsDeleteContext(context_); }
  Context(const Context&) = delete;
  cmsContext get() const { return context_; }

 private:
  cmsContext context_;
};

struct ColorConverter::Entry {
  std::vector<std::uint8_t> icc;
  std::size_t hash = 0;
  ColorModel model = ColorModel::rgb;
  ProfileVerdict verdict = ProfileVerdict::unusable;
  std::string why;
  std::array<TransformPtr, 2> transform;  // [1]: pixels with alpha

  void load(cmsContext context);
  void apply(bool alpha, const ConstPlane& in, const Plane& out) const;
};

void ColorConverter::Entry::load(cmsContext context) {
  const ProfilePtr profile(
      cmsOpenProfileFromMemTHR(context, icc.data(), static_cast<cmsUInt32Number>(icc.size())));
  why = "the colour profile is broken";
  if (!profile) return;
  const cmsColorSpaceSignature space = cmsGetColorSpace(profile.get());
  if (space != space_of(model)) {
    why = fmt::format("the colour profile is for {}, the pixels are {}", space_name(space),
                      model_name(model));
    return;
  }
  if (!is_input_class(cmsGetDeviceClass(profile.get()))) {
    why = "the colour profile is not one of a device";
    return;
  }
  const ProfilePtr srgb = make_srgb(context, model);
  // lcms' shortcut for grey, a table, is off by 2 levels in the shadows.
  const cmsUInt32Number flags =
      cmsFLAGS_BLACKPOINTCOMPENSATION | (model == ColorModel::grey ? cmsFLAGS_NOOPTIMIZE : 0u);
  for (const bool alpha : {false, true}) {
    if (alpha && model == ColorModel::cmyk) continue;
    transform[alpha].reset(cmsCreateTransformTHR(context, profile.get(), input_format(model, alpha),
                                                 srgb.get(), output_format(model, alpha),
                                                 INTENT_RELATIVE_COLORIMETRIC, flags));
    if (!transform[alpha]) return;
  }
  why.clear();
  verdict = model != ColorModel::cmyk && is_identity(transform[0].get(), model)
                ? ProfileVerdict::srgb
                : ProfileVerdict::convert;
}

void ColorConverter::Entry::apply(bool alpha, const ConstPlane& in, const Plane& out) const {
  if (!transform[alpha]) fail(Code::internal, "a colour profile was used that is unusable");
  for (int y = 0; y < in.height; ++y) {
    cmsDoTransform(transform[alpha].get(), in.row(y), out.row(y),
                   static_cast<cmsUInt32Number>(in.width));
  }
}

ColorConverter::ColorConverter() : context_(std::make_unique<Context>()) {}
ColorConverter::~ColorConverter() = default;

ColorConverter::Entry& ColorConverter::find(ByteView icc, ColorModel model) {
  const std::size_t hash = std::hash<std::string_view>{}(as_text(icc));
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->hash == hash && entry->model == model && as_text(entry->icc) == as_text(icc);
  });
  if (found != entries_.end()) {
    std::rotate(entries_.begin(), found, found + 1);
    return *entries_.front();
  }
  if (entries_.size() == kCachedProfiles) entries_.pop_back();
  auto entry = std::make_unique<Entry>();
  entry->icc.assign(icc.begin(), icc.end());
  entry->hash = hash;
  entry->model = model;
  entry->load(context_->get());
  return **entries_.insert(entries_.begin(), std::move(entry));
}

ProfileVerdict ColorConverter::examine(ByteView icc, ColorModel model, std::string* why) {
  if (icc.empty()) return ProfileVerdict::none;
  const Entry& entry = find(icc, model);
  if (why) *why = entry.why;
  return entry.verdict;
}

void ColorConverter::to_srgb(ByteView icc, ColorModel model, const Plane& pixels) {
  find(icc, model).apply(pixels.channels > color_channels(model), as_const(pixels), pixels);
}

void ColorConverter::cmyk_to_srgb(ByteView icc, const ConstPlane& cmyk, const Plane& rgb) {
  find(icc, ColorModel::cmyk).apply(false, cmyk, rgb);
}

void cmyk_to_rgb(const ConstPlane& cmyk, const Plane& rgb) {
  for (int y = 0; y < cmyk.height; ++y) {
    const std::uint8_t* in = cmyk.row(y);
    std::uint8_t* out = rgb.row(y);
    for (int x = 0; x < cmyk.width; ++x, in += 4, out += 3) {
      for (int i = 0; i < 3; ++i) out[i] = multiply(in[i], in[3]);
    }
  }
}

void ycc_to_rgb(const ConstPlane& luma, const ConstPlane& cb, const ConstPlane& cr,
                const Plane& rgb) {
  // ITU-T T.871, in 16-bit fixed point; the half rounds.
  constexpr int kHalf = 1 << 15, kRedCr = 91881, kGreenCb = 22554, kGreenCr = 46802,
                kBlueCb = 116130;
  const auto clamp = [](int v) { return static_cast<std::uint8_t>(std::clamp(v, 0, 255)); };
  for (int y = 0; y < rgb.height; ++y) {
    const std::uint8_t *l = luma.row(y), *b = cb.row(y), *r = cr.row(y);
    std::uint8_t* out = rgb.row(y);
    for (int x = 0; x < rgb.width; ++x, out += 3) {
      const int blue = b[x] - 128, red = r[x] - 128;
      out[0] = clamp(l[x] + ((kRedCr * red + kHalf) >> 16));
      out[1] = clamp(l[x] + ((kHalf - kGreenCb * blue - kGreenCr * red) >> 16));
      out[2] = clamp(l[x] + ((kBlueCb * blue + kHalf) >> 16));
    }
  }
}

Plane compose(const ConstPlane& pixels, const std::array<std::uint8_t, 3>& background,
              PlaneBuffer& buffer) {
  const bool grey = pixels.channels == 2;
  const bool grey_out = grey && background[0] == background[1] && background[1] == background[2];
  const Plane out = buffer.shape(pixels.width, pixels.height, grey_out ? 1 : 3);
  for (int y = 0; y < pixels.height; ++y) {
    const std::uint8_t* in = pixels.row(y);
    std::uint8_t* to = out.row(y);
    for (int x = 0; x < pixels.width; ++x, in += pixels.channels) {
      const unsigned alpha = in[pixels.channels - 1];
      for (int i = 0; i < out.channels; ++i) {
        const unsigned sum = in[grey ? 0 : i] * alpha + background[i] * (255 - alpha);
        *to++ = static_cast<std::uint8_t>((sum + 127) / 255);
      }
    }
  }
  return out;
}

}  // namespace prep::image
