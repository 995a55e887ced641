// Plots as inline SVG: colours from the page (so that they follow light and dark), each with a
// title and a description in words for those who cannot see it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prep::measure {

struct Bar {
  std::string label;
  double value = 0;
  double low = 0, high = 0;
};  // low == high: no whisker
// Horizontal bars from zero, one a label, values written beside them.
std::string bar_chart(std::string_view title, std::string_view unit, const std::vector<Bar>& bars);

// Counts over equal or logarithmic bins, axis with round numbers.
struct Histogram {
  std::vector<double> edges;
  std::vector<double> counts;
  bool log_x = false;
};
Histogram make_histogram(const std::vector<double>& values, bool log_x, std::size_t most_bins = 40);
std::string histogram_chart(std::string_view title, std::string_view x_label,
                            const Histogram& histogram);

// Lines over a common x (threads, samples), with markers and a legend.
struct Line {
  std::string label;
  std::vector<double> x, y;
};
std::string line_chart(std::string_view title, std::string_view x_label, std::string_view y_label,
                       const std::vector<Line>& lines);

}  // namespace prep::measure
