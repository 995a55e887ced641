#include "tools/inspect_counts.h"

#include <algorithm>
#include <cmath>

namespace prep {
namespace {

constexpr int kBinsOfDoubling = 16;

double edge_of(int bin) { return std::exp2(static_cast<double>(bin) / kBinsOfDoubling); }

int floor_divide(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

void LogCounts::add(double value) {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  ++count_;
  if (value > 0) {
    ++bins_[static_cast<int>(std::floor(std::log2(value) * kBinsOfDoubling))];
  } else {
    ++zeros_;
  }
}

double LogCounts::quantile(double p) const {
  const double wanted = p * static_cast<double>(count_);
  auto passed = static_cast<double>(zeros_);
  if (count_ == 0 || wanted < passed) return 0;
  for (const auto& [bin, count] : bins_) {
    passed += static_cast<double>(count);
    if (wanted < passed) {
      return std::clamp(edge_of(bin) * std::exp2(0.5 / kBinsOfDoubling), min_, max_);
    }
  }
  return max_;
}

measure::Histogram LogCounts::histogram(std::size_t most_bins) const {
  measure::Histogram histogram;
  histogram.log_x = true;
  if (bins_.empty()) return histogram;
  const int first = bins_.begin()->first, last = bins_.rbegin()->first;
  // As many bins as there is data for: the square root of the number of values.
  const auto wanted = static_cast<std::size_t>(std::sqrt(static_cast<double>(count_)));
  const auto most = static_cast<int>(std::clamp<std::size_t>(wanted, 5, most_bins));
  int width = 1;
  while ((last - first) / width + 1 > most) width *= 2;
  const int begin = floor_divide(first, width), end = floor_divide(last, width);
  histogram.counts.assign(static_cast<std::size_t>(end - begin + 1), 0);
  for (const auto& [bin, count] : bins_) {
    histogram.counts[static_cast<std::size_t>(floor_divide(bin, width) - begin)] +=
        static_cast<double>(count);
  }
  for (int i = begin; i <= end + 1; ++i) histogram.edges.push_back(edge_of(i * width));
  return histogram;
}

void NameCounts::add(std::string_view name, std::uint64_t bytes, std::string_view example) {
  auto place = entries_.find(name);
  if (place == entries_.end() && entries_.size() < most_) {
    place = entries_.emplace(std::string(name), Entry{0, 0, std::string(example)}).first;
  }
  Entry& entry = place == entries_.end() ? others_ : place->second;
  ++entry.count;
  entry.bytes += bytes;
}

std::vector<std::pair<std::string, NameCounts::Entry>> NameCounts::by_count() const {
  std::vector<std::pair<std::string, Entry>> sorted(entries_.begin(), entries_.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
  return sorted;
}

}  // namespace prep
