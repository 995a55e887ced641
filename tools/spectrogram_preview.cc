#include "tools/spectrogram_preview.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <vector>

#include "lib/image/png_codec.h"
#include "lib/signal/log_scale.h"

namespace prep {
namespace {

using signal::LogScale;
using signal::Overview;
using signal::Spectrogram;
using signal::SpectrogramSettings;

constexpr int kWidth = 1000;                       // pixels, about, of the time axis
constexpr int kHeight = 1440;                      // about, of all channels
constexpr int kLeastPanel = 22, kMostPanel = 160;  // of a channel
constexpr int kGap = 3;                            // between channels
constexpr int kTop = 34, kBottom = 44;             // margins
constexpr int kNumberWidth = 36, kLabelGap = 6;    // of a frequency; before the panel
constexpr std::size_t kLongestName = 24, kLongestTitle = 100;
constexpr int kBarWidth = 16, kBarGap = 18;
constexpr double kFontScale = 0.42;
constexpr int kFont = cv::FONT_HERSHEY_SIMPLEX;
// What few values reach would take the colours from the others.
constexpr double kLowQuantile = 0.02, kHighQuantile = 0.998;

const cv::Scalar kInk(40, 40, 40), kPaper(255, 255, 255), kNothing(200, 200, 200);

struct Size {
  int width = 0, height = 0;
};

Size text_size(const std::string& text) {
  int baseline = 0;
  const cv::Size size = cv::getTextSize(text, kFont, kFontScale, 1, &baseline);
  return {size.width, size.height};
}

// The font has ASCII only.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += byte < 0x20 || byte == 0x7f ? '?' : c;
    } else if (byte >= 0xc0) {
      out += '?';  // for a character of several bytes, once
    }
  }
  return out;
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// A step of 1, 2 or 5 times a power of ten that makes at most `most` of a span.
double tick_step(double span, int most) {
  const double least = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> ticks(double low, double high, int most) {
  std::vector<double> places;
  if (!(high > low)) return {low};
  const double step = tick_step(high - low, most);
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    places.push_back(i * step);
  }
  return places;
}

// Seconds as "12.5", from two minutes on as "1:23" or "4:05:00".
std::string clock_text(double seconds, double span) {
  if (span < 120) return fmt::format("{:.6g}", seconds);
  const auto whole = static_cast<long long>(std::llround(seconds));
  const long long s = whole % 60, m = whole / 60 % 60, h = whole / 3600;
  return h > 0 ? fmt::format("{}:{:02}:{:02}", h, m, s) : fmt::format("{}:{:02}", m, s);
}

// Ticks of a time axis: from minutes on, whole ones.
std::vector<double> time_ticks(double first, double last, int most) {
  if (last - first < 120) return ticks(first, last, most);
  constexpr std::array kSteps{30.0,   60.0,   120.0,  300.0,   600.0,   1200.0,
                              1800.0, 3600.0, 7200.0, 14400.0, 21600.0, 43200.0};
  double step = 86'400;
  for (const double candidate : kSteps) {
    if ((last - first) / candidate <= most) {
      step = candidate;
      break;
    }
  }
  std::vector<double> places;
  for (double i = std::ceil(first / step); i * step <= last; ++i) places.push_back(i * step);
  return places;
}

// --- values --------------------------------------------------------------------------------------

bool needs_decibels(const SpectrogramSettings& settings) {
  return !settings.hms && settings.log == LogScale::none &&
         settings.normalize == signal::Normalize::none;
}

std::string value_name(const Spectrogram& spectrogram, const SpectrogramSettings& settings) {
  if (settings.normalize != signal::Normalize::none) return "deviations";
  if (settings.hms) return "(dB + 40) / 40";
  if (settings.log == LogScale::natural) return "natural log";
  const bool is_power = settings.stft.mode == signal::Mode::psd;
  const bool density = settings.stft.scaling == signal::Scaling::density;
  const bool volts = !spectrogram.units.empty() && spectrogram.units[0] == "\xc2\xb5V";
  if (!volts || !is_power || settings.stft.scaling == signal::Scaling::none) return "dB";
  return density ? "dB (uV^2/Hz)" : "dB (uV^2)";
}

// For the eye, powers are in decibels whatever the array has.
std::vector<float> visible_values(const Overview& overview, const SpectrogramSettings& settings) {
  std::vector<float> values = overview.values;
  if (!needs_decibels(settings)) return values;
  if (settings.stft.mode == signal::Mode::magnitude) {
    for (float& value : values) value *= value;
  }
  signal::to_decibels<float>(values, signal::Decibels{1, signal::kLeastPower, -1e9});
  return values;
}

struct Scale {
  float low = 0, high = 1;
  int color(float value) const {
    const float share = (value - low) / (high - low);
    return static_cast<int>(std::lround(std::clamp(share, 0.0f, 1.0f) * 255));
  }
};

Scale scale_of(const std::vector<float>& values) {
  std::vector<float> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](float value) { return std::isfinite(value); });
  if (finite.empty()) return {};
  const auto quantile = [&](double share) {
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(finite.size() - 1));
    std::nth_element(finite.begin(), finite.begin() + at, finite.end());
    return finite[static_cast<std::size_t>(at)];
  };
  Scale scale{quantile(kLowQuantile), quantile(kHighQuantile)};
  if (!(scale.high > scale.low)) scale.high = scale.low + 1;
  return scale;
}

// --- drawing -------------------------------------------------------------------------------------

class Painter {
 public:
  Painter(const Spectrogram& spectrogram, const SpectrogramSettings& settings)
      : spectrogram_(spectrogram),
        overview_(*spectrogram.overview),
        values_(visible_values(overview_, settings)),
        scale_(scale_of(values_)),
        value_name_(value_name(spectrogram, settings)),
        has_bands_(!settings.bands.empty()) {
    measure();
    const int least = 120;  // for the scale
    canvas_.create(kTop + std::max(height_, least) + kBottom, left_ + width_ + right_, CV_8UC3);
    canvas_.setTo(kPaper);
    make_colors();
  }

  Bytes paint(const std::string& title) {
    text(shortened(plain(title), kLongestTitle) + left_out(), left_, 20);
    for (std::size_t c = 0; c < overview_.channels; ++c) paint_channel(c);
    paint_times();
    paint_scale();
    cv::cvtColor(canvas_, canvas_, cv::COLOR_BGR2RGB);
    const image::ConstPlane plane{canvas_.data, canvas_.cols, canvas_.rows,
                                  static_cast<std::ptrdiff_t>(canvas_.step[0]), 3};
    return image::encode_png(plane, {});
  }

 private:
  void measure() {
    const auto channels = static_cast<int>(overview_.channels);
    const auto rows = static_cast<int>(overview_.rows);
    const auto columns = static_cast<int>(overview_.columns);
    across_ = std::max(1, kWidth / columns);
    down_ = std::max(1, std::clamp(kHeight / channels, kLeastPanel, kMostPanel) / rows);
    width_ = across_ * columns;
    panel_ = down_ * rows;
    int names = 0, rows_wide = kNumberWidth;
    for (std::size_t c = 0; c < overview_.channels; ++c) {
      names = std::max(names, text_size(channel_name(c)).width);
    }
    for (std::size_t r = 0; shows_bands() && r < overview_.rows; ++r) {
      rows_wide = std::max(rows_wide, text_size(band(r)).width);
    }
    left_ = 8 + names + 12 + rows_wide + kLabelGap;
    right_ = std::max(right_, kBarGap + text_size(value_name_).width + 8);
    height_ = channels * (panel_ + kGap) - kGap;
  }

  std::string channel_name(std::size_t channel) const {
    return shortened(plain(spectrogram_.channels[channel]), kLongestName);
  }

  std::string left_out() const {
    const std::size_t all = spectrogram_.channels.size();
    if (overview_.channels == all) return "";
    return fmt::format(" (the first {} of {} channels)", overview_.channels, all);
  }

  void make_colors() {
    cv::Mat ramp(1, 256, CV_8UC1);
    for (int i = 0; i < 256; ++i) ramp.at<std::uint8_t>(0, i) = static_cast<std::uint8_t>(i);
    cv::applyColorMap(ramp, colors_, cv::COLORMAP_INFERNO);
  }

  void text(const std::string& words, int x, int y) {
    cv::putText(canvas_, words, {x, y}, kFont, kFontScale, kInk, 1, cv::LINE_AA);
  }

  int panel_top(std::size_t channel) const {
    return kTop + static_cast<int>(channel) * (panel_ + kGap);
  }

  void paint_channel(std::size_t channel) {
    const int top = panel_top(channel);
    for (std::size_t r = 0; r < overview_.rows; ++r) {
      for (std::size_t x = 0; x < overview_.columns; ++x) {
        const float value = values_[(channel * overview_.rows + r) * overview_.columns + x];
        const cv::Rect place(left_ + static_cast<int>(x) * across_,
                             top + panel_ - (static_cast<int>(r) + 1) * down_, across_, down_);
        if (std::isnan(value)) {
          canvas_(place).setTo(kNothing);
        } else {
          canvas_(place).setTo(cv::Scalar(colors_.at<cv::Vec3b>(0, scale_.color(value))));
        }
      }
    }
    const std::string name = channel_name(channel);
    text(name, 8, top + panel_ / 2 + text_size(name).height / 2);
    paint_frequencies(top);
  }

  // Whether rows are bands, and each is high enough for its name.
  bool shows_bands() const {
    return has_bands_ && spectrogram_.axis.rows() == overview_.rows &&
           down_ >= text_size("0").height + 4;
  }
  std::string band(std::size_t row) const { return plain(spectrogram_.axis.bank->rows[row].name); }

  void label(const std::string& words, int y) {
    text(words, left_ - kLabelGap - text_size(words).width, y);
  }

  void paint_frequencies(int top) {
    if (!shows_bands()) return paint_axis(top);
    for (std::size_t r = 0; r < overview_.rows; ++r) {
      const int middle = top + panel_ - static_cast<int>(r) * down_ - down_ / 2;
      label(band(r), middle + text_size("0").height / 2);
    }
  }

  // The ends of the axis; between them, in a panel that is high enough, what lies there.
  void paint_axis(int top) {
    const std::vector<double>& centres = spectrogram_.axis.centres;
    const int line = text_size("0").height;
    const auto label = [&](double hz, int y) { this->label(fmt::format("{:.4g}", hz), y); };
    label(centres.back(), top + line + (panel_ < 3 * line ? 0 : 1));
    if (panel_ >= 3 * line) label(centres.front(), top + panel_ - 1);
    if (panel_ >= 7 * line) label(centres[centres.size() / 2], top + panel_ / 2 + line / 2);
  }

  void paint_times() {
    const double span = static_cast<double>(spectrogram_.shape.times) * spectrogram_.time_step;
    const double first = spectrogram_.first_time - spectrogram_.time_step / 2;
    const int bottom = kTop + height_;
    for (const double time : time_ticks(first, first + span, 10)) {
      const int x = left_ + static_cast<int>(std::lround((time - first) / span * width_));
      cv::line(canvas_, {x, bottom}, {x, bottom + 4}, kInk);
      const std::string words = clock_text(time, span);
      text(words, x - text_size(words).width / 2, bottom + 18);
    }
    const std::string words = span < 120 ? "seconds" : "hours:minutes:seconds";
    text(words, left_ + (width_ - text_size(words).width) / 2, bottom + 36);
    if (!shows_bands()) label("Hz", kTop - 8);
  }

  void paint_scale() {
    const int x = left_ + width_ + kBarGap, length = std::min(std::max(height_, 120), 400);
    for (int y = 0; y < length; ++y) {
      const int color = 255 - y * 255 / std::max(1, length - 1);
      canvas_(cv::Rect(x, kTop + y, kBarWidth, 1))
          .setTo(cv::Scalar(colors_.at<cv::Vec3b>(0, color)));
    }
    for (const double value : ticks(scale_.low, scale_.high, 6)) {
      const double share = (value - scale_.low) / (scale_.high - scale_.low);
      const int y = kTop + static_cast<int>(std::lround((1 - share) * (length - 1)));
      cv::line(canvas_, {x + kBarWidth, y}, {x + kBarWidth + 4, y}, kInk);
      text(fmt::format("{:.4g}", value), x + kBarWidth + 8, y + text_size("0").height / 2);
    }
    text(value_name_, x, kTop - 8);
  }

  const Spectrogram& spectrogram_;
  const Overview& overview_;
  const std::vector<float> values_;
  const Scale scale_;
  const std::string value_name_;
  const bool has_bands_;
  int across_ = 1, down_ = 1;                                        // pixels a value
  int width_ = 0, panel_ = 0, height_ = 0, left_ = 0, right_ = 100;  // of all channels; margins
  cv::Mat canvas_, colors_;
};

}  // namespace

Bytes draw_preview(const Spectrogram& spectrogram, const SpectrogramSettings& settings,
                   const std::string& title) {
  cv::setNumThreads(0);  // threads are the frame's affair
  return Painter(spectrogram, settings).paint(title);
}

}  // namespace prep
