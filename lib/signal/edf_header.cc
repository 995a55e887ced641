#include "lib/signal/edf_header.h"

#include <array>
#include <chrono>
#include <cmath>

#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::int64_t kMaxSignals = 9999;        // what the field can hold
constexpr std::int64_t kMaxSamples = 99'999'999;  // a record
constexpr double kMaxRate = 1e9;                  // Hz

// The fixed part's fields: offset and length.
struct Field {
  std::size_t at, length;
};
constexpr Field kVersion{0, 8}, kRecordingId{88, 80}, kDate{168, 8}, kTime{176, 8},
    kHeaderBytes{184, 8}, kReserved{192, 44}, kRecords{236, 8}, kDuration{244, 8}, kSignals{252, 4};

std::string_view field(std::string_view header, Field f) {
  return header.substr(std::min(f.at, header.size()), f.length);
}

// The fields of the signals come as arrays, so that a field's place depends on their number.
class SignalFields {
 public:
  SignalFields(std::string_view header, std::size_t count) : header_(header), count_(count) {}

  std::string_view label(std::size_t i) const { return get(0, 16, i); }
  std::string_view unit(std::size_t i) const { return get(96, 8, i); }
  std::string_view physical_min(std::size_t i) const { return get(104, 8, i); }
  std::string_view physical_max(std::size_t i) const { return get(112, 8, i); }
  std::string_view digital_min(std::size_t i) const { return get(120, 8, i); }
  std::string_view digital_max(std::size_t i) const { return get(128, 8, i); }
  std::string_view samples(std::size_t i) const { return get(216, 8, i); }

 private:
  // `before` is what the fields before this one take, for one signal.
  std::string_view get(std::size_t before, std::size_t length, std::size_t i) const {
    return header_.substr(kEdfFixedHeader + before * count_ + length * i, length);
  }
  std::string_view header_;
  std::size_t count_;
};

std::int64_t signal_count(std::string_view header) {
  const std::string_view text = field(header, kSignals);
  const auto count = parse_integer(text);
  if (!count || *count < 1 || *count > kMaxSignals) {
    if (is_mangled_utf8(header)) fail_mangled_edf();
    fail(Code::corrupt, "its header says that it has '{}' signals", printable(trim(text)));
  }
  return *count;
}

// --- the start -----------------------------------------------------------------------------------

// "dd.mm.yy", with whatever stands between the numbers.
std::optional<std::array<int, 3>> three_numbers(std::string_view text) {
  std::array<int, 3> numbers{};
  if (text.size() != 8) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    const char a = text[3 * i], b = text[3 * i + 1];
    if (a < '0' || a > '9' || b < '0' || b > '9') return std::nullopt;
    numbers[i] = (a - '0') * 10 + (b - '0');
  }
  return numbers;
}

// EDF+ has the year in full: "Startdate 02-MAR-2002 …".
std::optional<int> year_of_recording_id(std::string_view text) {
  constexpr std::string_view kStart = "Startdate ";
  if (!text.starts_with(kStart)) return std::nullopt;
  const std::string_view date = text.substr(kStart.size(), 11);
  const auto year =
      date.size() == 11 && date[6] == '-' ? parse_integer(date.substr(7)) : std::nullopt;
  if (!year || *year < 1000 || *year > 9999) return std::nullopt;
  return static_cast<int>(*year);
}

std::optional<std::string> parse_start(std::string_view header) {
  const auto date = three_numbers(field(header, kDate));
  const auto time = three_numbers(field(header, kTime));
  if (!date || !time) return std::nullopt;
  const auto [day, month, short_year] = *date;
  const auto [hour, minute, second] = *time;
  int year = short_year + (short_year >= 85 ? 1900 : 2000);
  const auto full_year = year_of_recording_id(field(header, kRecordingId));
  if (full_year && *full_year % 100 == short_year) year = *full_year;
  const std::chrono::year_month_day ymd{std::chrono::year(year),
                                        std::chrono::month(static_cast<unsigned>(month)),
                                        std::chrono::day(static_cast<unsigned>(day))};
  if (!ymd.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", year, month, day, hour, minute, second);
}

// --- signals -------------------------------------------------------------------------------------

ChannelKind kind_of(std::string_view label) {
  if (equal_ignoring_case(label, "EDF Annotations") ||
      equal_ignoring_case(label, "BDF Annotations")) {
    return ChannelKind::annotations;
  }
  return equal_ignoring_case(label, "Status") ? ChannelKind::status : ChannelKind::signal;
}

// Fills in the calibration, or the reason why there is none.
void calibrate(const SignalFields& fields, std::size_t i, EdfSignal& signal) {
  const auto physical_min = parse_number(fields.physical_min(i));
  const auto physical_max = parse_number(fields.physical_max(i));
  const auto digital_min = parse_number(fields.digital_min(i));
  const auto digital_max = parse_number(fields.digital_max(i));
  if (!physical_min || !physical_max || !digital_min || !digital_max) {
    signal.fault = fmt::format(
        "its range ({} to {}, stored as {} to {}) is not numbers",
        printable(trim(fields.physical_min(i))), printable(trim(fields.physical_max(i))),
        printable(trim(fields.digital_min(i))), printable(trim(fields.digital_max(i))));
    return;
  }
  if (*digital_min == *digital_max || *physical_min == *physical_max) {
    signal.fault = fmt::format("its {} range is empty ({} to {})",
                               *digital_min == *digital_max ? "digital" : "physical",
                               *digital_min == *digital_max ? *digital_min : *physical_min,
                               *digital_min == *digital_max ? *digital_max : *physical_max);
    return;
  }
  const double gain = (*physical_max - *physical_min) / (*digital_max - *digital_min);
  if (!std::isfinite(gain)) signal.fault = "its range is out of all bounds";
  signal.calibration = {*digital_min, gain, *physical_min};
}

EdfSignal parse_signal(const SignalFields& fields, std::size_t i) {
  EdfSignal signal;
  signal.label = to_utf8(trim(fields.label(i)));
  signal.unit = trim(fields.unit(i));
  signal.kind = kind_of(signal.label);
  const auto samples = parse_integer(fields.samples(i));
  if (!samples || *samples < 0 || *samples > kMaxSamples) {
    fail(Code::corrupt, "its header says that signal {} ('{}') has '{}' samples a record", i + 1,
         printable(signal.label), printable(trim(fields.samples(i))));
  }
  signal.samples = static_cast<std::uint64_t>(*samples);
  if (signal.kind == ChannelKind::annotations) return signal;
  calibrate(fields, i, signal);
  if (signal.samples == 0) signal.fault = "it has no samples";
  return signal;
}

void parse_signals(std::string_view header, EdfHeader& edf) {
  const auto count = static_cast<std::size_t>(signal_count(header));
  const SignalFields fields(header, count);
  for (std::size_t i = 0; i < count; ++i) {
    EdfSignal signal = parse_signal(fields, i);
    signal.offset = edf.record_bytes;
    edf.record_bytes += signal.samples * edf.sample_bytes();
    edf.signals.push_back(std::move(signal));
  }
  if (edf.record_bytes == 0) fail(Code::corrupt, "its header says that records are empty");
}

void parse_duration(std::string_view header, EdfHeader& edf) {
  const std::string_view text = field(header, kDuration);
  const auto duration = parse_number(text);
  std::uint64_t most = 0;
  for (const EdfSignal& signal : edf.signals) {
    if (signal.kind != ChannelKind::annotations) most = std::max(most, signal.samples);
  }
  if (most == 0) fail(Code::unsupported, "it holds no signals, only annotations");
  if (duration && *duration == 0) {
    fail(Code::corrupt,
         "its header says that a record lasts 0 seconds, so that the sampling rate is not known");
  }
  if (!duration || *duration < 0 || !(static_cast<double>(most) / *duration <= kMaxRate)) {
    fail(Code::corrupt, "its header says that a record lasts '{}' seconds", printable(trim(text)));
  }
  edf.duration = *duration;
}

EdfHeader::Kind kind_of_reserved(std::string_view text) {
  if (text.starts_with("EDF+C") || text.starts_with("BDF+C")) return EdfHeader::Kind::continuous;
  if (text.starts_with("EDF+D") || text.starts_with("BDF+D")) return EdfHeader::Kind::discontinuous;
  return EdfHeader::Kind::plain;
}

}  // namespace

std::string_view EdfHeader::format_name() const {
  static constexpr std::string_view kNames[2][3] = {{"EDF", "EDF+C", "EDF+D"},
                                                    {"BDF", "BDF+C", "BDF+D"}};
  return kNames[bdf ? 1 : 0][static_cast<std::size_t>(kind)];
}

void fail_mangled_edf() {
  fail(Code::corrupt,
       "the file was damaged by a program that took it for text (bytes were turned into U+FFFD): "
       "samples are lost, get the file again in binary");
}

bool looks_like_edf(ByteView head) {
  if (head.size() < kEdfFixedHeader) return false;
  const std::string_view text = as_text(head.first(kEdfFixedHeader));
  const std::string_view version = field(text, kVersion);
  // A table of numbers may start with a 0 too, but has lines.
  if (trim(version) != "0" || version.find_first_not_of(" 0\0"sv) != std::string_view::npos ||
      text.find('\n') != std::string_view::npos) {
    return false;
  }
  // Where the file was mangled, fields have moved.
  return parse_integer(field(text, kSignals)) || parse_integer(field(text, kHeaderBytes)) ||
         is_mangled_utf8(text);
}

bool looks_like_bdf(ByteView head) {
  const std::string_view text = as_text(head);
  return text.starts_with(
             "\xff"
             "BIOSEMI"sv) ||
         text.starts_with(
             "\xef\xbf\xbd"
             "BIOSEMI"sv);
}

std::uint64_t edf_header_bytes(ByteView head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("\xef\xbf\xbd"sv)) fail_mangled_edf();
  if (text.size() < kEdfFixedHeader) fail(Code::truncated, "ends inside of its header");
  return kEdfFixedHeader * static_cast<std::uint64_t>(signal_count(text) + 1);
}

EdfHeader parse_edf_header(ByteView bytes) {
  const std::string_view header = as_text(bytes);
  EdfHeader edf;
  edf.bytes = edf_header_bytes(bytes);
  if (bytes.size() < edf.bytes) fail(Code::truncated, "ends inside of its header");
  edf.bdf = looks_like_bdf(bytes);
  edf.kind = kind_of_reserved(field(header, kReserved));
  try {
    parse_signals(header, edf);
    parse_duration(header, edf);
  } catch (const Error&) {
    if (is_mangled_utf8(header)) fail_mangled_edf();
    throw;
  }
  edf.records = parse_integer(field(header, kRecords));
  edf.start = parse_start(header);
  if (!edf.start) {
    edf.warnings.push_back(fmt::format("its start '{} {}' is no date and time",
                                       printable(trim(field(header, kDate))),
                                       printable(trim(field(header, kTime)))));
  }
  const std::string_view said = trim(field(header, kHeaderBytes));
  if (parse_integer(said) != static_cast<std::int64_t>(edf.bytes)) {
    edf.warnings.push_back(fmt::format("its header says that it is {} bytes long; it is {}",
                                       printable(said), edf.bytes));
  }
  return edf;
}

}  // namespace prep::signal
