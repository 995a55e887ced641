#include "tests/unit/recordings.h"

#include <fmt/format.h>

#include <algorithm>

namespace prep::signal {
namespace {

std::string field(std::string text, std::size_t width) {
  text.resize(width, ' ');
  return text;
}

std::string record_of(const EdfField& signal, int record, int width) {
  std::string bytes;
  if (!signal.annotations.empty()) {
    bytes = signal.annotations[static_cast<std::size_t>(record)];
  } else {
    for (int i = 0; i < signal.samples; ++i) {
      const auto value = static_cast<std::uint32_t>(signal.digital(record, i));
      for (int byte = 0; byte < width; ++byte) {
        bytes += static_cast<char>(value >> (8 * byte) & 0xff);
      }
    }
  }
  bytes.resize(static_cast<std::size_t>(signal.samples * width), '\0');
  return bytes;
}

}  // namespace

std::string encode(const EdfFile& file) {
  const auto count = file.signals.size();
  const std::string length = fmt::format("{}", 256 * (count + 1));
  std::string out =
      field(file.bdf ? "\xff"
                       "BIOSEMI"
                     : file.version,
            8) +
      field("", 80) + field(file.recording, 80) + field(file.date, 8) + field(file.time, 8) +
      field(file.header_said.empty() ? length : file.header_said, 8) + field(file.reserved, 44) +
      field(file.records_said.empty() ? fmt::format("{}", file.records) : file.records_said, 8) +
      field(file.duration, 8) + field(fmt::format("{}", count), 4);
  const auto column = [&](std::size_t width, auto value) {
    for (const EdfField& signal : file.signals) out += field(value(signal), width);
  };
  column(16, [](const EdfField& s) { return s.label; });
  column(80, [](const EdfField&) { return ""; });
  column(8, [](const EdfField& s) { return s.unit; });
  column(8, [](const EdfField& s) { return s.physical_min; });
  column(8, [](const EdfField& s) { return s.physical_max; });
  column(8, [](const EdfField& s) { return s.digital_min; });
  column(8, [](const EdfField& s) { return s.digital_max; });
  column(80, [](const EdfField&) { return ""; });
  column(8, [](const EdfField& s) { return fmt::format("{}", s.samples); });
  column(32, [](const EdfField&) { return ""; });
  for (int record = 0; record < file.records; ++record) {
    for (const EdfField& signal : file.signals) out += record_of(signal, record, file.bdf ? 3 : 2);
  }
  return out;
}

std::shared_ptr<const Content> in_memory(std::string bytes) {
  return std::make_shared<MemoryContent>(Bytes::take(std::move(bytes)), "test");
}

std::vector<double> read_channel(const Recording& recording, std::size_t channel) {
  std::vector<double> samples(recording.info().channels[channel].samples);
  recording.read(channel, 0, std::span<double>(samples));
  return samples;
}

bool warns(const Recording& recording, const std::string& words) {
  const auto& warnings = recording.info().warnings;
  return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) {
    return warning.find(words) != std::string::npos;
  });
}

}  // namespace prep::signal
