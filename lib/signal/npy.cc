#include "lib/signal/npy.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/text.h"
#include "lib/signal/array_recording.h"
#include "lib/signal/channels.h"
#include "lib/signal/field_text.h"
#include "lib/signal/random_access.h"
#include "lib/signal/units.h"

namespace prep::signal {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr std::size_t kPreamble = 8;  // the magic and the version
constexpr std::uint64_t kMaxHeader = 64 << 10;
constexpr std::uint64_t kMaxChannels = 65'536;
constexpr std::size_t kMaxDimensions = 32;
constexpr double kMaxRate = 1e9;

struct NpyHeader {
  std::uint64_t bytes = 0;  // up to the first item
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// --- the header: a Python dict of three known keys ----------------------------------------------

class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  NpyHeader parse() {
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      parse_value(key);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!text_.empty() || !has_descr_ || !has_order_ || !has_shape_) bad();
    return std::move(header_);
  }

 private:
  [[noreturn]] static void bad() { fail(Code::corrupt, "its header is not one of a .npy file"); }

  void parse_value(std::string_view key) {
    if (key == "descr") {
      skip_space();
      if (text_.starts_with('[')) {
        fail(Code::unsupported, "it holds records of several fields, not a plain array");
      }
      header_.descr = quoted();
      has_descr_ = true;
    } else if (key == "fortran_order") {
      header_.fortran_order = boolean();
      has_order_ = true;
    } else if (key == "shape") {
      shape();
      has_shape_ = true;
    } else {
      bad();
    }
  }

  void skip_space() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r\n\f"), text_.size()));
  }
  bool take(char c) {
    skip_space();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad();
  }
  std::string quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) bad();
    std::string out(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return out;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True"sv, "False"sv}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return word == "True";
    }
    bad();
  }
  void shape() {
    expect('(');
    header_.shape.clear();
    while (!take(')')) {
      skip_space();
      const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
      const auto length = parse_integer(text_.substr(0, digits));
      if (!length || header_.shape.size() >= kMaxDimensions) bad();
      header_.shape.push_back(static_cast<std::uint64_t>(*length));
      text_.remove_prefix(digits);
      if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2's long
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

NpyHeader read_header(const RandomAccess& data) {
  constexpr std::uint64_t kMostLengthBytes = 4;
  if (data.size() < kPreamble + kMostLengthBytes)
    fail(Code::truncated, "ends inside of its header");
  const Bytes preamble = data.read(0, kPreamble + kMostLengthBytes);
  const int version = preamble.data()[6];
  if (version < 1 || version > 3) {
    fail(Code::unsupported, "its version {}.{} of the .npy format is not known", version,
         preamble.data()[7]);
  }
  const std::uint64_t length_bytes = version == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::uint64_t i = length_bytes; i-- > 0;)
    length = length << 8 | preamble.data()[kPreamble + i];
  if (length > kMaxHeader) fail(Code::limit, "its header has {} bytes", length);
  const std::uint64_t end = kPreamble + length_bytes + length;
  if (data.size() < end) fail(Code::truncated, "ends inside of its header");
  NpyHeader header = DictParser(data.read(kPreamble + length_bytes, length).text()).parse();
  header.bytes = end;
  return header;
}

// --- the array -----------------------------------------------------------------------------------

SampleFormat format_of(std::string_view descr) {
  const std::pair<std::string_view, SampleType> kTypes[] = {{"f4", SampleType::float32},
                                                            {"f8", SampleType::float64},
                                                            {"i2", SampleType::int16},
                                                            {"i4", SampleType::int32}};
  constexpr bool kNativeBig = std::endian::native == std::endian::big;
  if (!descr.empty()) {
    const char order = descr[0];
    for (const auto& [name, type] : kTypes) {
      if (descr.substr(1) != name) continue;
      if (order == '<') return {type, false};
      if (order == '>') return {type, true};
      if (order == '=') return {type, kNativeBig};
    }
  }
  fail(Code::unsupported,
       "its items are of type '{}'; float32, float64, int16 and int32 are treated",
       printable(descr));
}

ArrayLayout layout_of(const NpyHeader& header, const OpenOptions& options) {
  if (header.shape.size() != 2) {
    fail(Code::unsupported, "it has {} dimensions; a recording has 2, channels and time",
         header.shape.size());
  }
  const bool time_first = options.npy_layout == OpenOptions::NpyLayout::time_channels;
  ArrayLayout layout;
  layout.offset = header.bytes;
  layout.format = format_of(header.descr);
  layout.channels = header.shape[time_first ? 1 : 0];
  layout.samples = header.shape[time_first ? 0 : 1];
  // In C order the last axis varies fastest, in Fortran order the first.
  layout.interleaved = time_first != header.fortran_order;
  if (layout.channels == 0 || layout.samples == 0) fail(Code::empty, "it has no samples");
  if (layout.channels > kMaxChannels) {
    fail(Code::limit,
         "it has {} channels of {} samples: are its axes the other way round "
         "(--npy-layout)?",
         layout.channels, layout.samples);
  }
  return layout;
}

void check_size(const ArrayLayout& layout, std::uint64_t size, std::vector<std::string>& warnings) {
  const std::uint64_t held = size - layout.offset;
  const std::uint64_t frame = layout.channels * layout.format.bytes();  // both are small by now
  if (layout.samples > held / frame) {
    fail(Code::truncated, "its header says {} channels of {} samples; it holds {} bytes of them",
         layout.channels, layout.samples, held);
  }
  if (const std::uint64_t rest = held - layout.bytes(); rest != 0) {
    warnings.push_back(fmt::format("{} bytes after the array left out", rest));
  }
}

double checked_rate(const OpenOptions& options) {
  if (!options.rate) {
    fail(Code::usage, "a .npy file does not say its sampling rate: give it with --rate-in HZ");
  }
  if (!(*options.rate > 0 && *options.rate <= kMaxRate)) {
    fail(Code::usage, "--rate-in: {} is no sampling rate", *options.rate);
  }
  return *options.rate;
}

RecordingInfo describe(const ArrayLayout& layout, const OpenOptions& options,
                       std::vector<Calibration>& calibrations) {
  RecordingInfo info;
  info.format = "npy";
  const double rate = checked_rate(options);
  info.record_duration = 1 / rate;
  info.segments.push_back({0, 0, layout.samples});
  if (!options.names.empty() && options.names.size() != layout.channels) {
    fail(Code::usage, "{} channel names were given; it has {} channels", options.names.size(),
         layout.channels);
  }
  for (std::size_t i = 0; i < layout.channels; ++i) {
    Channel channel;
    channel.label = options.names.empty() ? fmt::format("{}", i + 1) : options.names[i];
    channel.rate = rate;
    channel.samples = layout.samples;
    channel.samples_per_record = 1;
    set_unit(channel, calibrations[i], "", options.unit);
    info.channels.push_back(std::move(channel));
  }
  name_channels(info.channels);
  if (layout.channels > layout.samples) {
    info.warnings.push_back(
        fmt::format("it has more channels ({}) than samples ({}): are its axes the other way round "
                    "(--npy-layout)?",
                    layout.channels, layout.samples));
  }
  return info;
}

}  // namespace

bool looks_like_npy(ByteView head) { return as_text(head).starts_with(kMagic); }

std::unique_ptr<Recording> open_npy(std::shared_ptr<const Content> content,
                                    const OpenOptions& options) {
  auto data = std::make_unique<RandomAccess>(std::move(content));
  const ArrayLayout layout = layout_of(read_header(*data), options);
  std::vector<std::string> warnings;
  check_size(layout, data->size(), warnings);
  std::vector<Calibration> calibrations(layout.channels);
  RecordingInfo info = describe(layout, options, calibrations);
  info.warnings.insert(info.warnings.end(), warnings.begin(), warnings.end());
  return std::make_unique<ArrayRecording>(std::move(data), layout, std::move(calibrations),
                                          std::move(info));
}

std::string_view npy_descr(NpyType type) {
  switch (type) {
    case NpyType::float32:
      return "<f4";
    case NpyType::float16:
      return "<f2";
    case NpyType::uint8:
      return "|u1";
    case NpyType::float64:
      return "<f8";
    case NpyType::complex64:
      return "<c8";
  }
  return "";
}

std::size_t npy_item_bytes(NpyType type) {
  return static_cast<std::size_t>(npy_descr(type).back() - '0');
}

std::string npy_header(NpyType type, std::span<const std::uint64_t> shape) {
  constexpr std::size_t kAlignment = 64, kLengthBytes = 2;
  // NumPy leaves room for the first axis to grow.
  constexpr std::size_t kGrowthDigits = 21;
  if (shape.size() > kMaxDimensions) fail(Code::limit, "an array of {} dimensions", shape.size());
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", npy_descr(type));
  for (std::size_t i = 0; i < shape.size(); ++i)
    dict += fmt::format("{}{}", i ? ", " : "", shape[i]);
  dict += shape.size() == 1 ? ",), }" : "), }";
  if (!shape.empty()) dict.append(kGrowthDigits - fmt::format("{}", shape[0]).size(), ' ');
  const std::size_t unpadded = kPreamble + kLengthBytes + dict.size() + 1;
  dict.append(kAlignment - unpadded % kAlignment, ' ');  // and never none
  dict += '\n';
  std::string header(kMagic);
  header += "\x01\x00"sv;
  header += static_cast<char>(dict.size() & 0xff);
  header += static_cast<char>(dict.size() >> 8);
  return header + dict;
}

}  // namespace prep::signal
