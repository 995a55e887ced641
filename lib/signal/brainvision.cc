#include "lib/signal/brainvision.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/text.h"
#include "lib/signal/array_recording.h"
#include "lib/signal/channels.h"
#include "lib/signal/field_text.h"
#include "lib/signal/ini.h"
#include "lib/signal/random_access.h"
#include "lib/signal/units.h"

namespace prep::signal {
namespace {

constexpr std::uint64_t kMaxHeader = 4 << 20, kMaxMarkerFile = 64 << 20;
constexpr std::int64_t kMaxChannels = 65'536;
constexpr std::size_t kMaxMarkers = 1'000'000;
constexpr double kMaxRate = 1e9;
constexpr std::string_view kCommon = "Common Infos", kBinary = "Binary Infos",
                           kChannels = "Channel Infos", kMarkers = "Marker Infos";

Bytes load_text(const Content& content, std::uint64_t most, std::string_view what) {
  if (content.size() > most) {
    fail(Code::limit, "its {} has {} bytes; more than {} are not taken", what, content.size(),
         most);
  }
  return content.load();
}

bool starts_with_title(ByteView head, std::string_view what) {
  std::string_view text = as_text(head);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (const std::string_view maker : {"Brain Vision", "BrainVision"}) {
    if (text.starts_with(maker) &&
        text.substr(maker.size()).starts_with(fmt::format(" Data Exchange {} File", what))) {
      return true;
    }
  }
  return false;
}

// A file's name without its folders, which are those of another machine.
std::string file_name(std::string_view named, std::string_view header_name) {
  const std::size_t slash = named.find_last_of("/\\");
  std::string name(slash == std::string_view::npos ? named : named.substr(slash + 1));
  const std::string_view base = header_name.substr(0, header_name.rfind('.'));
  if (const std::size_t at = name.find("$b"); at != std::string::npos) name.replace(at, 2, base);
  return name;
}

// --- the header ----------------------------------------------------------------------------------

struct Header {
  ArrayLayout layout;                           // without the number of samples
  double interval = 0;                          // seconds between samples
  std::optional<std::int64_t> samples;          // as it says
  std::optional<std::int64_t> segment_samples;  // of files that were cut into segments
  bool names_markers = false;
};

std::string_view get_word(const Ini& ini, std::string_view section, std::string_view key,
                          std::string_view otherwise) {
  return ini.get(section, key).value_or(otherwise);
}

SampleFormat parse_format(const Ini& ini) {
  const std::string_view format = get_word(ini, kBinary, "BinaryFormat", "INT_16");
  SampleFormat parsed;
  if (equal_ignoring_case(format, "INT_16")) {
    parsed.type = SampleType::int16;
  } else if (equal_ignoring_case(format, "INT_32")) {
    parsed.type = SampleType::int32;
  } else if (equal_ignoring_case(format, "IEEE_FLOAT_32")) {
    parsed.type = SampleType::float32;
  } else {
    fail(Code::unsupported, "its BinaryFormat '{}' is not treated", printable(format));
  }
  parsed.big_endian = equal_ignoring_case(get_word(ini, kBinary, "UseBigEndianOrder", "NO"), "YES");
  return parsed;
}

void check_kind(const Ini& ini) {
  const std::string_view format = get_word(ini, kCommon, "DataFormat", "BINARY");
  if (!equal_ignoring_case(format, "BINARY")) {
    fail(Code::unsupported, "its DataFormat '{}' is not treated, only BINARY", printable(format));
  }
  const std::string_view type = get_word(ini, kCommon, "DataType", "TIMEDOMAIN");
  if (!equal_ignoring_case(type, "TIMEDOMAIN")) {
    fail(Code::unsupported, "its DataType '{}' is not treated, only TIMEDOMAIN", printable(type));
  }
}

Header parse_header(const Ini& ini) {
  check_kind(ini);
  Header header;
  header.layout.format = parse_format(ini);
  const std::string_view orientation = get_word(ini, kCommon, "DataOrientation", "MULTIPLEXED");
  header.layout.interleaved = equal_ignoring_case(orientation, "MULTIPLEXED");
  if (!header.layout.interleaved && !equal_ignoring_case(orientation, "VECTORIZED")) {
    fail(Code::corrupt, "its DataOrientation is '{}'", printable(orientation));
  }
  const std::string_view channels = get_word(ini, kCommon, "NumberOfChannels", "");
  const auto count = parse_integer(channels);
  if (!count || *count < 1 || *count > kMaxChannels) {
    fail(Code::corrupt, "its header says that it has '{}' channels", printable(channels));
  }
  header.layout.channels = static_cast<std::uint64_t>(*count);
  const std::string_view interval = get_word(ini, kCommon, "SamplingInterval", "");
  const auto microseconds = parse_number(interval);
  if (!microseconds || !(*microseconds > 0) || !(1e6 / *microseconds <= kMaxRate)) {
    fail(Code::corrupt, "its SamplingInterval is '{}' µs", printable(interval));
  }
  header.interval = *microseconds * 1e-6;
  header.samples = parse_integer(get_word(ini, kCommon, "DataPoints", ""));
  if (!equal_ignoring_case(get_word(ini, kCommon, "SegmentationType", "NOTSEGMENTED"),
                           "NOTSEGMENTED")) {
    header.segment_samples = parse_integer(get_word(ini, kCommon, "SegmentDataPoints", ""));
  }
  header.names_markers = !get_word(ini, kCommon, "MarkerFile", "").empty();
  return header;
}

// "Ch1=Fp1,,0.1,µV": name, reference, resolution, unit. A resolution with a decimal comma falls
// into two fields.
void rejoin_resolution(std::vector<std::string>& fields, std::vector<std::string>& warnings) {
  const auto is_digits = [](const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  };
  if (fields.size() < 5 || !is_digits(fields[2]) || !is_digits(fields[3])) return;
  fields[2] += "." + fields[3];
  fields.erase(fields.begin() + 3);
  if (warnings.empty() || warnings.back() != "resolutions have decimal commas") {
    warnings.push_back("resolutions have decimal commas");
  }
}

Channel parse_channel(const Ini& ini, std::size_t number, const OpenOptions& options,
                      Calibration& calibration, std::vector<std::string>& warnings) {
  const auto line = ini.get(kChannels, fmt::format("Ch{}", number));
  if (!line) fail(Code::corrupt, "its header does not say what channel {} is", number);
  std::vector<std::string> fields = split_fields(*line);
  rejoin_resolution(fields, warnings);
  fields.resize(std::max<std::size_t>(fields.size(), 4));
  Channel channel;
  channel.label = fields[0];
  const auto resolution = fields[2].empty() ? std::optional<double>(1) : parse_number(fields[2]);
  if (!resolution || *resolution == 0) {
    channel.fault = fmt::format("its resolution is '{}'", printable(fields[2]));
  }
  calibration.gain = resolution.value_or(1);
  set_unit(channel, calibration, fields[3].empty() ? kMicrovolt : std::string_view(fields[3]),
           options.unit);
  return channel;
}

// --- the samples ---------------------------------------------------------------------------------

// By the size of the data; what the header says only decides where channels follow each other.
std::uint64_t count_samples(const Header& header, std::uint64_t size,
                            std::vector<std::string>& warnings) {
  const std::uint64_t frame = header.layout.channels * header.layout.format.bytes();
  const std::uint64_t held = size / frame;
  if (size == 0) fail(Code::empty, "its data file is empty");
  if (held == 0) fail(Code::truncated, "its data file ends inside of the first sample");
  const auto said =
      header.samples.value_or(0) > 0 ? static_cast<std::uint64_t>(*header.samples) : held;
  if (said != held) {
    if (!header.layout.interleaved && said > held) {
      fail(Code::truncated, "its header says {} samples a channel; its data file has room for {}",
           said, held);
    }
    warnings.push_back(
        fmt::format("its header says {} samples; its data file holds {}", said, held));
  }
  const std::uint64_t samples = header.layout.interleaved ? held : said;
  if (const std::uint64_t rest = size - samples * frame; rest != 0) {
    warnings.push_back(fmt::format("{} bytes after the last whole sample left out", rest));
  }
  return samples;
}

// --- markers -------------------------------------------------------------------------------------

// Microseconds since 1970 of "20131113161403794232".
std::optional<std::int64_t> parse_stamp(std::string_view text) {
  if (text.size() != 20 || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto part = [&](std::size_t at, std::size_t length) {
    return static_cast<int>(*parse_integer(text.substr(at, length)));
  };
  const std::chrono::year_month_day day{std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(4, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(6, 2)))};
  const int hour = part(8, 2), minute = part(10, 2), second = part(12, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t seconds = std::chrono::sys_days(day).time_since_epoch().count() * 86400LL +
                               hour * 3600 + minute * 60 + second;
  return seconds * 1'000'000 + part(14, 6);
}

std::string iso_time(std::string_view stamp) {
  return fmt::format("{}-{}-{}T{}:{}:{}", stamp.substr(0, 4), stamp.substr(4, 2),
                     stamp.substr(6, 2), stamp.substr(8, 2), stamp.substr(10, 2),
                     stamp.substr(12, 2));
}

// "Mk1=Type,Description,Position,Size,Channel,Date"; positions count from 1.
struct Marker {
  std::string type, description;
  std::uint64_t sample = 0, length = 0;
  std::string stamp;

  bool starts_segment() const { return equal_ignoring_case(type, "New Segment"); }
};

std::optional<Marker> parse_marker(std::string_view value, std::uint64_t samples) {
  std::vector<std::string> fields = split_fields(value);
  fields.resize(std::max<std::size_t>(fields.size(), 6));
  const auto position = parse_integer(fields[2]);
  if (!position || *position < 1 || static_cast<std::uint64_t>(*position) > samples) {
    return std::nullopt;
  }
  const auto length = parse_integer(fields[3]).value_or(0);
  return Marker{fields[0], fields[1], static_cast<std::uint64_t>(*position - 1),
                static_cast<std::uint64_t>(std::max<std::int64_t>(length, 0)), fields[5]};
}

std::vector<Marker> parse_markers(std::string_view text, std::uint64_t samples,
                                  std::vector<std::string>& warnings) {
  std::vector<Marker> markers;
  std::size_t bad = 0;
  for_each_ini_line(to_utf8(text), [&](auto section, auto key, auto value) {
    if (section != lower_case(kMarkers) || !equal_ignoring_case(key.substr(0, 2), "Mk")) return;
    if (markers.size() >= kMaxMarkers)
      fail(Code::limit, "it has more than {} markers", kMaxMarkers);
    if (auto marker = parse_marker(value, samples)) {
      markers.push_back(std::move(*marker));
    } else {
      ++bad;
    }
  });
  if (bad > 0) warnings.push_back(fmt::format("{} markers are at no sample: left out", bad));
  std::stable_sort(markers.begin(), markers.end(),
                   [](const Marker& a, const Marker& b) { return a.sample < b.sample; });
  return markers;
}

// --- segments ------------------------------------------------------------------------------------

// Where a segment starts, and the time that its marker carries, if any.
struct Start {
  std::uint64_t sample = 0;
  std::optional<std::int64_t> microseconds;
};

std::vector<Start> find_starts(const Header& header, const std::vector<Marker>& markers,
                               std::uint64_t samples) {
  std::vector<Start> starts{{0, std::nullopt}};
  if (const auto step = header.segment_samples; step && *step > 0) {
    for (auto at = static_cast<std::uint64_t>(*step); at < samples;
         at += static_cast<std::uint64_t>(*step)) {
      if (starts.size() > kMaxMarkers) fail(Code::limit, "it has too many segments");
      starts.push_back({at, std::nullopt});
    }
  }
  for (const Marker& marker : markers) {
    if (marker.starts_segment()) starts.push_back({marker.sample, parse_stamp(marker.stamp)});
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const Start& a, const Start& b) { return a.sample < b.sample; });
  std::vector<Start> merged;
  for (const Start& start : starts) {
    if (merged.empty() || merged.back().sample != start.sample) {
      merged.push_back(start);
    } else if (start.microseconds) {
      merged.back().microseconds = start.microseconds;
    }
  }
  return merged;
}

void set_segments(RecordingInfo& info, const std::vector<Start>& starts, std::uint64_t samples) {
  bool untimed = false;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::uint64_t end = i + 1 < starts.size() ? starts[i + 1].sample : samples;
    double start = static_cast<double>(starts[i].sample) * info.record_duration;
    if (i > 0 && starts[0].microseconds && starts[i].microseconds) {
      start = static_cast<double>(*starts[i].microseconds - *starts[0].microseconds) * 1e-6;
    } else {
      untimed = untimed || i > 0;
    }
    info.segments.push_back({start, starts[i].sample, end - starts[i].sample});
  }
  if (untimed) {
    info.warnings.push_back(
        "it was paused or cut, and does not say for how long: later times count samples only");
  }
}

double time_of(const RecordingInfo& info, std::uint64_t sample) {
  const auto after = std::upper_bound(
      info.segments.begin(), info.segments.end(), sample,
      [](std::uint64_t at, const Segment& segment) { return at < segment.first_record; });
  const Segment& segment = *(after - 1);
  return segment.start + static_cast<double>(sample - segment.first_record) * info.record_duration;
}

void set_annotations(RecordingInfo& info, const std::vector<Marker>& markers) {
  for (const Marker& marker : markers) {
    Annotation annotation;
    annotation.onset = time_of(info, marker.sample);
    // One sample is how the format writes that a marker has no length.
    if (marker.length > 1) {
      annotation.duration = static_cast<double>(marker.length) * info.record_duration;
    }
    annotation.text = marker.type + "/" + marker.description;
    info.annotations.push_back(std::move(annotation));
    if (!info.start && marker.starts_segment() && parse_stamp(marker.stamp)) {
      info.start = iso_time(marker.stamp);
    }
  }
  std::stable_sort(info.annotations.begin(), info.annotations.end(),
                   [](const Annotation& a, const Annotation& b) { return a.onset < b.onset; });
}

}  // namespace

bool looks_like_brainvision_header(ByteView head) { return starts_with_title(head, "Header"); }

bool looks_like_brainvision_markers(ByteView head) { return starts_with_title(head, "Marker"); }

BrainVisionFiles brainvision_files(const Content& header, std::string_view header_name) {
  const Ini ini(load_text(header, kMaxHeader, "header").text());
  return {file_name(get_word(ini, kCommon, "DataFile", ""), base_name(header_name)),
          file_name(get_word(ini, kCommon, "MarkerFile", ""), base_name(header_name))};
}

std::unique_ptr<Recording> open_brainvision(const Content& header_content,
                                            std::shared_ptr<const Content> content,
                                            const Content* markers, const OpenOptions& options) {
  const Ini ini(load_text(header_content, kMaxHeader, "header").text());
  const Header header = parse_header(ini);
  auto data = std::make_unique<RandomAccess>(std::move(content));
  RecordingInfo info;
  info.format = "BrainVision";
  info.record_duration = header.interval;
  ArrayLayout layout = header.layout;
  layout.samples = count_samples(header, data->size(), info.warnings);
  std::vector<Calibration> calibrations(layout.channels);
  for (std::size_t i = 0; i < layout.channels; ++i) {
    Channel channel = parse_channel(ini, i + 1, options, calibrations[i], info.warnings);
    channel.rate = 1 / header.interval;
    channel.samples = layout.samples;
    channel.samples_per_record = 1;
    info.channels.push_back(std::move(channel));
  }
  name_channels(info.channels);
  std::vector<Marker> found;
  if (markers) {
    const Bytes text = load_text(*markers, kMaxMarkerFile, "marker file");
    found = parse_markers(text.text(), layout.samples, info.warnings);
  } else if (header.names_markers) {
    info.warnings.push_back("its marker file is not there: no annotations");
  }
  set_segments(info, find_starts(header, found, layout.samples), layout.samples);
  set_annotations(info, found);
  return std::make_unique<ArrayRecording>(std::move(data), layout, std::move(calibrations),
                                          std::move(info));
}

}  // namespace prep::signal
