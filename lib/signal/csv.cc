#include "lib/signal/csv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/signal/array_recording.h"
#include "lib/signal/channels.h"
#include "lib/signal/csv_table.h"
#include "lib/signal/field_text.h"
#include "lib/signal/random_access.h"
#include "lib/signal/segments.h"
#include "lib/signal/units.h"

namespace prep::signal {
namespace {

constexpr std::size_t kMaxNumbers = std::size_t{1} << 27;
constexpr std::size_t kMaxColumns = 65'536;
// No signal rises all the time for this long.
constexpr std::size_t kRowsToTellTime = 32;
constexpr double kGapInRows = 0.75;

// --- what it looks like --------------------------------------------------------------------------

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f : c == '\t' || c == '\n' || c == '\r';
  });
}

bool all_numbers(const std::vector<std::string_view>& cells, char delimiter) {
  return std::all_of(cells.begin(), cells.end(), [&](std::string_view cell) {
    return parse_cell(cell, delimiter).has_value();
  });
}

// The complete lines of a head, at most so many, without comments before the table.
std::vector<std::string_view> lines_of(std::string_view head, bool whole, std::size_t most) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < head.size() && lines.size() < most;) {
    const std::size_t end = head.find('\n', at);
    if (end == std::string_view::npos && !whole) break;
    std::string_view line = head.substr(at, end - at);
    at = std::min(end, head.size() - 1) + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!lines.empty() || !is_csv_comment(line)) lines.push_back(line);
  }
  while (!lines.empty() && trim(lines.back()).empty()) lines.pop_back();
  return lines;
}

// --- the table -----------------------------------------------------------------------------------

struct Table {
  std::vector<std::string> names;  // of all columns; empty without a row of names
  std::size_t columns = 0;
  std::vector<double> numbers;  // row by row, without the time column
  std::optional<std::size_t> time_column;
  double time_scale = 1;  // seconds; 0: it counts rows
  std::vector<double> times;
  double quantum = 1;  // of the times as they are written, in their unit

  std::size_t channels() const { return columns - (time_column ? 1 : 0); }
};

// Seconds in one unit of a time column of that name; 0 for one that counts rows; nullopt if it is
// no such name.
std::optional<double> time_scale_of(std::string_view name) {
  std::string plain;
  for (const char c : lower_case(name)) {
    if (std::string_view(" _-()[].").find(c) == std::string_view::npos) plain += c;
  }
  static constexpr std::pair<std::string_view, double> kNames[] = {{"time", 1},
                                                                   {"t", 1},
                                                                   {"times", 1},
                                                                   {"seconds", 1},
                                                                   {"sec", 1},
                                                                   {"secs", 1},
                                                                   {"s", 1},
                                                                   {"ts", 1},
                                                                   {"timesec", 1},
                                                                   {"timeseconds", 1},
                                                                   {"timestamp", 1},
                                                                   {"timestamps", 1},
                                                                   {"timestampsec", 1},
                                                                   {"timems", 1e-3},
                                                                   {"tms", 1e-3},
                                                                   {"ms", 1e-3},
                                                                   {"milliseconds", 1e-3},
                                                                   {"timestampms", 1e-3},
                                                                   {"timeus", 1e-6},
                                                                   {"tus", 1e-6},
                                                                   {"us", 1e-6},
                                                                   {"microseconds", 1e-6},
                                                                   {"timestampus", 1e-6},
                                                                   {"index", 0},
                                                                   {"sample", 0},
                                                                   {"samples", 0},
                                                                   {"sampleindex", 0},
                                                                   {"row", 0}};
  for (const auto& [known, scale] : kNames) {
    if (plain == known) return scale;
  }
  return std::nullopt;
}

// 0.001 for "12.345".
double quantum_of(std::string_view cell) {
  const std::size_t point = cell.find_first_of(".,");
  if (point == std::string_view::npos) return cell.find_first_of("eE") == cell.npos ? 1 : 0;
  const std::size_t end = std::min(cell.find_first_of("eE"), cell.size());
  return end < cell.size() ? 0 : std::pow(10.0, -static_cast<double>(end - point - 1));
}

class TableReader {
 public:
  TableReader(const RandomAccess& data, const OpenOptions& options)
      : data_(data), options_(options), lines_(data) {}

  Table read() {
    auto line = lines_.next();
    while (line && (is_csv_comment(*line) || trim(*line).empty())) line = lines_.next();
    if (!line) fail(Code::empty, "it has no rows");
    first_ = *line;
    start();
    while ((line = lines_.next())) add_line(*line);
    if (rows_ == 0) fail(Code::empty, "it has no rows of numbers");
    if (!time_known_) drop_column_without_name();
    return std::move(table_);
  }

 private:
  // Finds out what the first two rows say about the others.
  void start() {
    std::optional<std::string> second;
    const std::uint64_t first_number = lines_.number();
    if (const auto line = lines_.next()) second = *line;
    delimiter_ = find_delimiter(first_, second);
    split(first_, first_number);
    table_.columns = cells_.size();
    if (cells_.size() > kMaxColumns) fail(Code::limit, "it has {} columns", cells_.size());
    const bool has_names = !all_numbers(cells_, delimiter_);
    if (has_names) {
      for (const std::string_view cell : cells_) table_.names.push_back(to_utf8(cell));
    }
    find_time_column();
    if (!has_names) add_row(first_number);
    if (second) add_line(*second);
  }

  void find_time_column() {
    if (options_.time_column == OpenOptions::TimeColumn::none) {
      time_known_ = true;
    } else if (options_.time_column == OpenOptions::TimeColumn::first) {
      set_time_column(0, 1);
    } else {
      for (std::size_t i = 0; i < table_.names.size() && !time_known_; ++i) {
        if (const auto scale = time_scale_of(table_.names[i])) set_time_column(i, *scale);
      }
      // Names without one for the first column leave that one open; so do no names at all.
      if (!time_known_ && !table_.names.empty() && !table_.names[0].empty()) time_known_ = true;
    }
    if (table_.columns <= (table_.time_column ? 1u : 0u)) {
      fail(Code::corrupt, "it has a time column, but no channels");
    }
  }

  void set_time_column(std::size_t column, double scale) {
    time_known_ = true;
    table_.time_column = column;
    table_.time_scale = scale;
  }

  void split(std::string_view line, std::uint64_t number) {
    try {
      split_row(line, delimiter_, cells_, unquoted_);
    } catch (const Error& error) {
      fail(error.code(), "line {}: {}", number, error.what());
    }
  }

  void add_line(std::string_view line) {
    if (trim(line).empty()) {
      // At the end a blank line is nothing, in the middle a row is lost.
      if (!blank_) blank_ = lines_.number();
      return;
    }
    if (blank_) fail(Code::corrupt, "line {} is blank", *blank_);
    split(line, lines_.number());
    add_row(lines_.number());
  }

  void add_row(std::uint64_t number) {
    if (cells_.size() != table_.columns) {
      fail(Code::corrupt, "line {} has {} cells where the first has {}", number, cells_.size(),
           table_.columns);
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto value = parse_cell(cells_[i], delimiter_);
      if (!value) {
        fail(Code::corrupt, "line {}, column {}: '{}' is not a number", number, i + 1,
             printable(cells_[i].substr(0, 40)));
      }
      if (i == table_.time_column) {
        add_time(*value, cells_[i], number);
      } else {
        table_.numbers.push_back(*value);
      }
    }
    if (table_.numbers.size() > kMaxNumbers) {
      fail(Code::limit, "it has more than {} numbers; as .npy it can be of any size", kMaxNumbers);
    }
    if (!time_known_) track_first_column();
    if (++rows_ == kRowsToEstimate) reserve();
  }

  void add_time(double time, std::string_view cell, std::uint64_t number) {
    if (std::isnan(time)) fail(Code::corrupt, "line {} has no time", number);
    if (!table_.times.empty() && time < table_.times.back()) {
      fail(Code::corrupt, "line {}: its time {} comes before that of the row before, {}", number,
           time, table_.times.back());
    }
    table_.quantum = std::min(table_.quantum, quantum_of(cell));
    table_.times.push_back(time);
  }

  // Growing by doubling would take three times the memory in the end.
  void reserve() {
    const double rows = static_cast<double>(rows_) * static_cast<double>(data_.size()) /
                        static_cast<double>(lines_.consumed());
    const double numbers = 1.05 * rows * static_cast<double>(table_.channels());
    table_.numbers.reserve(
        static_cast<std::size_t>(std::min(numbers, static_cast<double>(kMaxNumbers))));
  }

  // Watches whether the first column, which has no name, rises all the time.
  void track_first_column() {
    const double value = table_.numbers[table_.numbers.size() - table_.columns];
    rises_ = rises_ && (rows_ == 0 ? !std::isnan(value) : value > last_);
    counts_ = counts_ && (rows_ == 0 ? value == 0 || value == 1 : value == last_ + 1);
    table_.quantum = std::min(table_.quantum, quantum_of(cells_[0]));
    last_ = value;
  }

  // Takes the first column out of the numbers if it turned out to be the time.
  void drop_column_without_name() {
    if (!rises_ || rows_ < kRowsToTellTime || table_.columns < 2) return;
    set_time_column(0, counts_ ? 0 : 1);
    const std::size_t columns = table_.columns;
    std::size_t to = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      table_.times.push_back(table_.numbers[row * columns]);
      for (std::size_t i = 1; i < columns; ++i) {
        table_.numbers[to++] = table_.numbers[row * columns + i];
      }
    }
    table_.numbers.resize(to);
  }

  static constexpr std::size_t kRowsToEstimate = 1000;
  const RandomAccess& data_;
  const OpenOptions& options_;
  LineReader lines_;
  std::string first_, unquoted_;
  char delimiter_ = ',';
  std::vector<std::string_view> cells_;
  Table table_;
  std::size_t rows_ = 0;
  std::optional<std::uint64_t> blank_;
  bool time_known_ = false;  // whether there is a time column, and which
  bool rises_ = true, counts_ = true;
  double last_ = 0;
};

// --- time ----------------------------------------------------------------------------------------

// The step between rows, in seconds: the mean of those that are no gaps.
double mean_step(const std::vector<double>& times, double quantum) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const double median = *middle, tolerance = kGapInRows * median + 2 * quantum;
  double sum = 0;
  std::size_t count = 0;
  for (const double step : steps) {
    if (std::abs(step - median) > tolerance) continue;
    sum += step;
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : median;
}

// Times are written with a few decimals, so that their mean misses a rate that is a whole number by
// a little; taken is the whole number if no sample is half a step off by it.
double rounded_rate(double step, std::size_t rows) {
  constexpr double kMost = 1e-3;
  const double rate = 1 / step, whole = std::round(rate);
  const double duration = step * static_cast<double>(rows);
  const bool near =
      std::abs(rate - whole) < kMost * rate && std::abs(rate - whole) * duration < 0.5;
  return near ? whole : rate;
}

// The rate of the time column; nullopt without one that says it.
std::optional<double> rate_of(const Table& table) {
  if (!table.time_column || table.time_scale == 0) return std::nullopt;
  if (table.times.size() < 2) fail(Code::corrupt, "its one row does not say its sampling rate");
  const double step = mean_step(table.times, table.quantum) * table.time_scale;
  if (!(step > 0) || !std::isfinite(1 / step)) {
    fail(Code::corrupt, "its time column does not rise");
  }
  return rounded_rate(step, table.times.size());
}

double decide_rate(const Table& table, const OpenOptions& options) {
  constexpr double kAgree = 1e-2;
  const auto rate = rate_of(table);
  if (!rate && !options.rate) {
    fail(Code::usage,
         "it has no time column that says its sampling rate: give it with --rate-in HZ");
  }
  if (options.rate && !(*options.rate > 0 && std::isfinite(*options.rate))) {
    fail(Code::usage, "--rate-in: {} is no sampling rate", *options.rate);
  }
  if (rate && options.rate && std::abs(*rate - *options.rate) > kAgree * *rate) {
    fail(Code::usage, "its time column says {:.6g} Hz, --rate-in says {:.6g}", *rate,
         *options.rate);
  }
  return options.rate.value_or(rate.value_or(0));
}

void set_segments(const Table& table, std::size_t rows, double rate, RecordingInfo& info) {
  info.record_duration = 1 / rate;
  if (!table.time_column || table.time_scale == 0) {
    info.segments.push_back({0, 0, rows});
    return;
  }
  const double tolerance = kGapInRows / rate + 2 * table.quantum * table.time_scale;
  SegmentBuilder builder(1 / rate, tolerance);
  for (const double time : table.times) builder.add(time * table.time_scale);
  info.segments = builder.segments();
  for (const std::string& warning : builder.warnings()) info.warnings.push_back(warning);
  if (rate < 1) {
    info.warnings.push_back(
        fmt::format("its time column says {:.3g} Hz: are its times in seconds?", rate));
  }
}

// --- channels ------------------------------------------------------------------------------------

// "Fp1 (uV)", "Fp1 [mV]": the name, and the unit if it is one.
std::pair<std::string, std::string> split_unit(const std::string& name) {
  for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
    const std::size_t at = name.rfind(open);
    if (at == std::string::npos || at == 0 || name.back() != close) continue;
    const std::string unit(trim(name.substr(at + 1, name.size() - at - 2)));
    if (microvolts_per(unit) || is_other_unit(unit)) {
      return {std::string(trim(name.substr(0, at))), unit};
    }
  }
  return {name, ""};
}

std::vector<std::string> channel_names(const Table& table, const OpenOptions& options) {
  std::vector<std::string> names;
  if (table.names.empty() && !options.names.empty()) {
    if (options.names.size() != table.channels()) {
      fail(Code::usage, "{} channel names were given; it has {} channels", options.names.size(),
           table.channels());
    }
    return options.names;
  }
  for (std::size_t i = 0; i < table.columns; ++i) {
    if (i == table.time_column) continue;
    const bool named = !table.names.empty() && !table.names[i].empty();
    names.push_back(named ? table.names[i] : fmt::format("{}", names.size() + 1));
  }
  return names;
}

void add_channels(const Table& table, std::size_t rows, double rate, const OpenOptions& options,
                  std::vector<Calibration>& calibrations, RecordingInfo& info) {
  for (const std::string& name : channel_names(table, options)) {
    const auto [label, unit] = split_unit(name);
    Channel channel;
    channel.label = label;
    channel.rate = rate;
    channel.samples = rows;
    channel.samples_per_record = 1;
    set_unit(channel, calibrations[info.channels.size()], unit, options.unit);
    info.channels.push_back(std::move(channel));
  }
  name_channels(info.channels);
}

void warn_of_column(const Table& table, RecordingInfo& info) {
  const bool named =
      table.time_column && !table.names.empty() && !table.names[*table.time_column].empty();
  if (!table.time_column || named) return;
  info.warnings.push_back(table.time_scale == 0
                              ? "its first column counts rows: left out"
                              : "its first column has no name and rises: taken for the time in "
                                "seconds");
}

Bytes as_bytes_of(std::vector<double> numbers) {
  const auto owner = std::make_shared<const std::vector<double>>(std::move(numbers));
  return Bytes(
      {reinterpret_cast<const std::uint8_t*>(owner->data()), owner->size() * sizeof(double)},
      owner);
}

}  // namespace

bool looks_like_csv(ByteView head, bool whole) {
  constexpr std::size_t kMostLines = 64;
  std::string_view text = as_text(head);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (!is_text(text)) return false;
  const auto lines = lines_of(text, whole, kMostLines);
  if (lines.size() < 2) return false;
  const char delimiter = find_delimiter(lines[0], lines[1]);
  std::vector<std::string_view> cells;
  std::string unquoted;
  std::size_t columns = 0, rows = 0;
  try {
    for (const std::string_view line : lines) {
      split_row(line, delimiter, cells, unquoted);
      if (columns == 0) columns = cells.size();
      const bool numbers = all_numbers(cells, delimiter);
      if (cells.size() != columns || (!numbers && line.data() != lines[0].data())) return false;
      if (numbers) ++rows;
    }
  } catch (const Error&) {
    return false;
  }
  return rows >= (columns > 1 ? 2 : kRowsToTellTime);
}

std::unique_ptr<Recording> open_csv(std::shared_ptr<const Content> content,
                                    const OpenOptions& options) {
  const std::string origin = content->origin();
  const RandomAccess text(std::move(content));
  Table table = TableReader(text, options).read();
  const double rate = decide_rate(table, options);
  ArrayLayout layout;
  layout.channels = table.channels();
  layout.samples = table.numbers.size() / layout.channels;
  layout.format.type = SampleType::float64;
  layout.format.big_endian = std::endian::native == std::endian::big;
  RecordingInfo info;
  info.format = "CSV";
  set_segments(table, layout.samples, rate, info);
  std::vector<Calibration> calibrations(layout.channels);
  add_channels(table, layout.samples, rate, options, calibrations, info);
  warn_of_column(table, info);
  auto numbers = std::make_shared<MemoryContent>(as_bytes_of(std::move(table.numbers)), origin);
  return std::make_unique<ArrayRecording>(std::make_unique<RandomAccess>(std::move(numbers)),
                                          layout, std::move(calibrations), std::move(info));
}

}  // namespace prep::signal
