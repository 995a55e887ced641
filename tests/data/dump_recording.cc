// Says what the readers of lib/signal make of the recordings in one sample, whose parts are files:
//   dump_recording [--rate HZ] [--unit UNIT] [--time-channels] [--samples OUT] FILE...
// One line of JSON a recording; "null" if there is none; {"error": …} with exit code 1. --samples
// writes all readable channels, one after the other, as float64.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/signal/format.h"

namespace {

using namespace prep;
using namespace prep::signal;

struct Arguments {
  OpenOptions open;
  std::string samples_path;
  std::vector<std::string> files;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--time-channels") {
      arguments.open.npy_layout = OpenOptions::NpyLayout::time_channels;
    } else if (word.starts_with("--") && i + 1 < argc) {
      const std::string value = argv[++i];
      if (word == "--rate") arguments.open.rate = std::stod(value);
      if (word == "--unit") arguments.open.unit = value;
      if (word == "--samples") arguments.samples_path = value;
    } else {
      arguments.files.push_back(word);
    }
  }
  return arguments;
}

Sample sample_of(const std::vector<std::string>& files) {
  Sample sample;
  for (const std::string& file : files) {
    const auto [key, part] = split_key(file);
    sample.key = key;
    sample.parts.push_back({std::string(part), std::make_shared<FileContent>(file)});
  }
  return sample;
}

nlohmann::json describe(const RecordingInfo& info) {
  nlohmann::json json;
  json["format"] = info.format;
  json["start"] = info.start ? nlohmann::json(*info.start) : nlohmann::json();
  json["record_duration"] = info.record_duration;
  json["warnings"] = info.warnings;
  for (const Channel& c : info.channels) {
    json["channels"].push_back({{"label", c.label},
                                {"name", c.name},
                                {"unit", c.unit},
                                {"file_unit", c.file_unit},
                                {"rate", c.rate},
                                {"samples", c.samples},
                                {"kind", static_cast<int>(c.kind)},
                                {"fault", c.fault}});
  }
  for (std::size_t i = 0; i < info.segments.size(); ++i) {
    json["segments"].push_back({{"start", info.segments[i].start},
                                {"first_record", info.segments[i].first_record},
                                {"records", info.segments[i].records}});
  }
  json["annotations"] = nlohmann::json::array();
  for (const Annotation& a : info.annotations) {
    json["annotations"].push_back(
        {{"onset", a.onset},
         {"duration", a.duration ? nlohmann::json(*a.duration) : nlohmann::json()},
         {"text", a.text}});
  }
  return json;
}

void write_samples(const Recording& recording, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  for (std::size_t i = 0; i < recording.info().channels.size(); ++i) {
    const Channel& channel = recording.info().channels[i];
    if (!channel.is_readable()) continue;
    std::vector<double> samples(channel.samples);
    recording.read(i, 0, std::span<double>(samples));
    out.write(reinterpret_cast<const char*>(samples.data()),
              static_cast<std::streamsize>(samples.size() * sizeof(double)));
  }
  if (!out.flush()) fail(Code::io, "{}: cannot write", path);
}

int run(const Arguments& arguments) {
  const Sample sample = sample_of(arguments.files);
  const auto found = find_recordings(sample);
  if (found.empty()) std::cout << "null\n";
  for (const RecordingParts& parts : found) {
    const auto recording = open_recording(sample, parts, arguments.open);
    std::cout << describe(recording->info()).dump() << '\n';
    if (!arguments.samples_path.empty()) write_samples(*recording, arguments.samples_path);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const Error& error) {
    std::cout
        << nlohmann::json{{"error", code_name(error.code())}, {"message", error.what()}}.dump()
        << '\n';
    return 1;
  }
}
