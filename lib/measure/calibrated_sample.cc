#include "lib/measure/calibrated_sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>

namespace prep::measure {
namespace {

constexpr std::size_t kReplicates = 1000;
constexpr std::size_t kUnitsForEach = 10;
// Of the mean diagonal element: makes what is known twice over harmless.
constexpr double kRidge = 1e-9;
// Weights that differ by more from those of a plain sample would rest the estimate on few units.
constexpr double kMostChange = 8;

using Matrix = std::vector<double>;  // square, row by row

// Solves a * x = b for a symmetric, positive definite `a` (Cholesky); nullopt where it is not.
std::optional<std::vector<double>> solve(Matrix a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      for (std::size_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    const double pivot = a[j * n + j];
    if (!(pivot > 0)) return std::nullopt;
    for (std::size_t i = j; i < n; ++i) a[i * n + j] /= std::sqrt(pivot);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return b;
}

// Rows and totals in units in which all columns are about as large, without those columns of which
// the sample holds too little.
class Calibration {
 public:
  Calibration(const std::vector<std::vector<double>>& rows, std::span<const double> totals,
              std::uint64_t population)
      : expansion_(static_cast<double>(population) / static_cast<double>(rows.size())) {
    const std::size_t most = std::max<std::size_t>(1, rows.size() / kUnitsForEach);
    for (std::size_t column = 0; column < totals.size() && used_.size() < most; ++column) {
      const auto filled = static_cast<std::size_t>(std::count_if(
          rows.begin(), rows.end(), [&](const auto& row) { return row[column] != 0; }));
      if (column == 0 || filled >= kUnitsForEach) used_.push_back(column);
    }
    for (const std::size_t column : used_) {
      double squares = 0;
      for (const auto& row : rows) squares += row[column] * row[column];
      const double scale = std::sqrt(squares / static_cast<double>(rows.size()));
      totals_.push_back(totals[column] / scale);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        rows_.resize(rows.size());
        rows_[i].push_back(rows[i][column] / scale);
      }
    }
  }

  // The weights of the units when the i-th was drawn counts[i] times.
  std::vector<double> weights(const std::vector<std::uint32_t>& counts) const {
    for (std::size_t columns = used_.size(); columns > 1; --columns) {
      auto weights = try_weights(counts, columns);
      if (weights) return *weights;
    }
    return ratio_weights(counts);
  }

 private:
  // nullopt where the first `columns` would give a unit far too much weight, or one below zero.
  std::optional<std::vector<double>> try_weights(const std::vector<std::uint32_t>& counts,
                                                 std::size_t columns) const {
    Matrix matrix(columns * columns, 0);
    std::vector<double> missing(totals_.begin(), totals_.begin() + static_cast<long>(columns));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (counts[i] == 0) continue;
      const std::vector<double>& x = rows_[i];
      const double design = expansion_ * counts[i], weight = design / x[0];
      for (std::size_t j = 0; j < columns; ++j) {
        missing[j] -= design * x[j];
        for (std::size_t k = 0; k <= j; ++k) matrix[j * columns + k] += weight * x[j] * x[k];
      }
    }
    double trace = 0;
    for (std::size_t j = 0; j < columns; ++j) trace += matrix[j * columns + j];
    for (std::size_t j = 0; j < columns; ++j) {
      matrix[j * columns + j] += kRidge * trace / static_cast<double>(columns);
      for (std::size_t k = 0; k < j; ++k) matrix[k * columns + j] = matrix[j * columns + k];
    }
    const auto factors = solve(std::move(matrix), std::move(missing));
    if (!factors) return std::nullopt;
    std::vector<double> weights(rows_.size(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (counts[i] == 0) continue;
      const double change =
          1 +
          std::inner_product(factors->begin(), factors->end(), rows_[i].begin(), 0.0) / rows_[i][0];
      if (!(change > 1 / kMostChange && change < kMostChange)) return std::nullopt;
      weights[i] = expansion_ * counts[i] * change;
    }
    return weights;
  }

  std::vector<double> ratio_weights(const std::vector<std::uint32_t>& counts) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) sum += counts[i] * rows_[i][0];
    std::vector<double> weights(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) weights[i] = counts[i] * totals_[0] / sum;
    return weights;
  }

  const double expansion_;  // units of the population for one of the sample
  std::vector<std::size_t> used_;
  std::vector<std::vector<double>> rows_;
  std::vector<double> totals_;
};

template <typename T>
double weighted_sum(const std::vector<T>& weights, std::span<const double> values) {
  return std::inner_product(weights.begin(), weights.end(), values.begin(), 0.0);
}

}  // namespace

CalibratedSample::CalibratedSample(const std::vector<std::vector<double>>& rows,
                                   std::span<const double> totals, std::uint64_t population,
                                   std::uint64_t seed)
    : size_(rows.size()), population_(population) {
  if (size_ >= population_) {
    weights_.assign(size_, 1);
    return;
  }
  const Calibration calibration(rows, totals, population);
  weights_ = calibration.weights(std::vector<std::uint32_t>(size_, 1));
  if (size_ == 1) return;
  std::mt19937_64 random(seed);
  for (std::size_t r = 0; r < kReplicates; ++r) {
    std::vector<std::uint32_t> counts(size_, 0);
    for (std::size_t i = 0; i < size_; ++i) ++counts[draw_below(random, size_)];
    const std::vector<double> weights = calibration.weights(counts);
    replicates_.emplace_back(weights.begin(), weights.end());
  }
}

Interval CalibratedSample::total(std::span<const double> values) const {
  const double value = weighted_sum(weights_, values);
  if (size_ >= population_) return {value, value, value};
  if (replicates_.empty()) return open_interval(value);
  std::vector<double> totals;
  for (const Weights& weights : replicates_) totals.push_back(weighted_sum(weights, values));
  return bootstrap_interval(value, std::move(totals), size_, population_);
}

Interval CalibratedSample::ratio(std::span<const double> values,
                                 std::span<const double> others) const {
  const double value = weighted_sum(weights_, values) / weighted_sum(weights_, others);
  if (size_ >= population_) return {value, value, value};
  if (replicates_.empty()) return open_interval(value);
  std::vector<double> ratios;
  for (const Weights& weights : replicates_) {
    const double below = weighted_sum(weights, others);
    if (below == 0) return open_interval(value);
    ratios.push_back(weighted_sum(weights, values) / below);
  }
  return bootstrap_interval(value, std::move(ratios), size_, population_);
}

}  // namespace prep::measure
