#include "lib/measure/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/measure/markup.h"

namespace prep::measure {
namespace {

constexpr double kWidth = 720;  // of the drawing; the page scales it
constexpr double kText = 13;    // pixels
constexpr double kGlyph = 7;    // about as wide as a letter is
constexpr std::size_t kColours = 6;

// At most so many digits, and a unit of thousands: "12.5k", "0.031".
std::string number(double value, int digits = 4) {
  const double size = std::fabs(value);
  if (size >= 1e9) return fmt::format("{:.{}g}G", value / 1e9, digits);
  if (size >= 1e6) return fmt::format("{:.{}g}M", value / 1e6, digits);
  if (size >= 1e4) return fmt::format("{:.{}g}k", value / 1e3, digits);
  return fmt::format("{:.{}g}", value, std::max(digits, size >= 1e3 ? 4 : 0));
}

// For the ends of an axis, which stay inside the drawing.
constexpr int kAxisDigits = 3;

// Round numbers that divide [0, most] into about `parts`: steps of 1, 2 or 5 times a power of ten.
std::vector<double> ticks_up_to(double most, int parts) {
  if (!(most > 0)) return {0};
  const double raw = most / parts, power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double round : {1.0, 2.0, 5.0}) {
    if (round * power >= raw) {
      step = round * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (int i = 0; i * step <= most * (1 + 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

class Drawing {
 public:
  Drawing(std::string_view title, std::string_view description, double height) {
    out_ = fmt::format(
        "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" font-size=\"{:.0f}\" "
        "font-family=\"system-ui,sans-serif\"><title>{}</title><desc>{}</desc>\n",
        kWidth, height, kText, escape_markup(title), escape_markup(description));
  }
  void rectangle(double x, double y, double width, double height, std::string_view colour) {
    out_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--{})\"/>\n",
        x, y, std::max(width, 0.0), std::max(height, 0.0), colour);
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour) {
    out_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"var(--{})\"/>\n",
        x1, y1, x2, y2, colour);
  }
  void text(double x, double y, std::string_view words, std::string_view anchor,
            std::string_view colour = "ink") {
    out_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" fill=\"var(--{})\">{}</text>\n", x, y,
        anchor, colour, escape_markup(words));
  }
  void path(const std::vector<std::pair<double, double>>& points, std::string_view colour) {
    std::string at;
    for (const auto& [x, y] : points) at += fmt::format("{:.1f},{:.1f} ", x, y);
    out_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"var(--{})\" stroke-width=\"2\"/>\n", at,
        colour);
    for (const auto& [x, y] : points) {
      out_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"var(--{})\"/>\n", x,
                          y, colour);
    }
  }
  std::string finish() { return out_ + "</svg>\n"; }

 private:
  std::string out_;
};

// The frame of a plot with a vertical axis from zero.
struct Plot {
  double left = 70, right = kWidth - 20, top = 14, bottom = 250;
  double most = 1;
  double y(double value) const { return bottom - (bottom - top) * value / most; }
};

void draw_vertical_axis(Drawing& drawing, const Plot& plot) {
  for (const double tick : ticks_up_to(plot.most, 5)) {
    drawing.line(plot.left, plot.y(tick), plot.right, plot.y(tick), "line");
    drawing.text(plot.left - 8, plot.y(tick) + 4, number(tick), "end", "soft");
  }
}

std::string colour_of(std::size_t i) { return fmt::format("c{}", i % kColours); }

}  // namespace

std::string bar_chart(std::string_view title, std::string_view unit, const std::vector<Bar>& bars) {
  constexpr double kRow = 26, kBar = 16;
  double most = 0, widest = 0;
  std::string words;
  for (const Bar& bar : bars) {
    most = std::max({most, bar.value, bar.high});
    widest = std::max(widest, static_cast<double>(bar.label.size()) * kGlyph);
    words += fmt::format("{}: {} {}. ", bar.label, number(bar.value), unit);
  }
  const double left = std::min(widest + 12, kWidth / 2), right = kWidth - 110;
  const double scale = most > 0 ? (right - left) / most : 0;
  Drawing drawing(title, words, kRow * static_cast<double>(bars.size()) + 10);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kRow * static_cast<double>(i) + 6, middle = y + kBar / 2;
    drawing.text(left - 8, middle + 5, bar.label, "end");
    drawing.rectangle(left, y, bar.value * scale, kBar, "c0");
    double end = left + bar.value * scale;
    if (bar.high > bar.low) {
      drawing.line(left + bar.low * scale, middle, left + bar.high * scale, middle, "ink");
      for (const double limit : {bar.low, bar.high}) {
        drawing.line(left + limit * scale, middle - 4, left + limit * scale, middle + 4, "ink");
      }
      end = std::max(end, left + bar.high * scale);
    }
    drawing.text(end + 8, middle + 5, fmt::format("{} {}", number(bar.value), unit), "start",
                 "soft");
  }
  return drawing.finish();
}

Histogram make_histogram(const std::vector<double>& values, bool log_x, std::size_t most_bins) {
  Histogram histogram;
  histogram.log_x = log_x;
  std::vector<double> places;
  for (const double value : values) {
    if (!log_x) places.push_back(value);
    if (log_x && value > 0) places.push_back(std::log10(value));
  }
  if (places.empty()) return histogram;
  const auto [least, most] = std::minmax_element(places.begin(), places.end());
  double low = *least, high = *most;
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  // As many bins as a person can make use of: the square root of the number of values.
  const auto wanted = static_cast<std::size_t>(std::sqrt(static_cast<double>(places.size())));
  const std::size_t bins = std::clamp<std::size_t>(wanted, 5, std::max<std::size_t>(5, most_bins));
  histogram.counts.assign(bins, 0);
  for (const double place : places) {
    const auto bin =
        static_cast<std::size_t>((place - low) / (high - low) * static_cast<double>(bins));
    ++histogram.counts[std::min(bin, bins - 1)];
  }
  for (std::size_t i = 0; i <= bins; ++i) {
    const double edge = low + (high - low) * static_cast<double>(i) / static_cast<double>(bins);
    histogram.edges.push_back(log_x ? std::pow(10, edge) : edge);
  }
  return histogram;
}

std::string histogram_chart(std::string_view title, std::string_view x_label,
                            const Histogram& histogram) {
  if (histogram.counts.empty()) return "";
  Plot plot;
  plot.most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
  const std::size_t bins = histogram.counts.size();
  const std::size_t peak =
      static_cast<std::size_t>(std::max_element(histogram.counts.begin(), histogram.counts.end()) -
                               histogram.counts.begin());
  Drawing drawing(title,
                  fmt::format("{} from {} to {}; most between {} and {}", x_label,
                              number(histogram.edges.front()), number(histogram.edges.back()),
                              number(histogram.edges[peak]), number(histogram.edges[peak + 1])),
                  plot.bottom + 48);
  draw_vertical_axis(drawing, plot);
  const double width = (plot.right - plot.left) / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    const double top = plot.y(histogram.counts[i]);
    drawing.rectangle(plot.left + width * static_cast<double>(i) + 0.5, top, width - 1,
                      plot.bottom - top, "c0");
  }
  // The bins' own edges, a few of them: on a logarithmic axis, too, they are where the text says.
  constexpr std::size_t kLabels = 6;
  for (std::size_t k = 0; k <= kLabels; ++k) {
    const std::size_t edge = k * bins / kLabels;
    drawing.text(plot.left + width * static_cast<double>(edge), plot.bottom + 18,
                 number(histogram.edges[edge], kAxisDigits), k == kLabels ? "end" : "middle",
                 "soft");
  }
  drawing.text((plot.left + plot.right) / 2, plot.bottom + 40, x_label, "middle");
  return drawing.finish();
}

std::string line_chart(std::string_view title, std::string_view x_label, std::string_view y_label,
                       const std::vector<Line>& lines) {
  Plot plot;
  double least = INFINITY, most = -INFINITY;
  plot.most = 0;
  std::string words;
  for (const Line& line : lines) {
    words += line.label + ": ";
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      least = std::min(least, line.x[i]);
      most = std::max(most, line.x[i]);
      plot.most = std::max(plot.most, line.y[i]);
      words += fmt::format("{} at {}; ", number(line.y[i]), number(line.x[i]));
    }
  }
  if (!(most >= least)) return "";
  if (!(plot.most > 0)) plot.most = 1;
  const auto x_of = [&](double x) {
    const double share = most > least ? (x - least) / (most - least) : 0.5;
    return plot.left + 12 + (plot.right - plot.left - 24) * share;
  };
  constexpr double kLegendRow = 20;
  Drawing drawing(title, fmt::format("{} by {}. {}", y_label, x_label, words),
                  plot.bottom + 52 + kLegendRow * static_cast<double>(lines.size()));
  draw_vertical_axis(drawing, plot);
  std::vector<double> labelled;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::pair<double, double>> points;
    for (std::size_t k = 0; k < lines[i].x.size(); ++k) {
      points.emplace_back(x_of(lines[i].x[k]), plot.y(lines[i].y[k]));
      labelled.push_back(lines[i].x[k]);
    }
    drawing.path(points, colour_of(i));
    const double y = plot.bottom + 60 + kLegendRow * static_cast<double>(i);
    drawing.rectangle(plot.left, y - 10, 12, 12, colour_of(i));
    drawing.text(plot.left + 18, y, lines[i].label, "start");
  }
  std::sort(labelled.begin(), labelled.end());
  double last = -INFINITY;
  for (const double x : labelled) {
    if (x_of(x) - last < 40) continue;
    last = x_of(x);
    drawing.text(last, plot.bottom + 18, number(x), "middle", "soft");
  }
  drawing.text((plot.left + plot.right) / 2, plot.bottom + 40, x_label, "middle");
  return drawing.finish();
}

}  // namespace prep::measure
