#include <catch2/catch.hpp>

#include "lib/core/error.h"
#include "lib/signal/brainvision.h"
#include "lib/signal/format.h"
#include "tests/unit/recordings.h"

namespace prep::signal_brainvision_test {

using namespace prep::signal;
using Doubles = std::vector<double>;

namespace {

const std::string kHeader =
    "Brain Vision Data Exchange Header File Version 1.0\r\n"
    "[Common Infos]\r\nDataFile=rec.eeg\r\nMarkerFile=rec.vmrk\r\nDataFormat=BINARY\r\n"
    "DataOrientation=MULTIPLEXED\r\nNumberOfChannels=2\r\nSamplingInterval=4000\r\n"
    "[Binary Infos]\r\nBinaryFormat=INT_16\r\n"
    "[Channel Infos]\r\nCh1=EEG\\1x,,0.5,\xc2\xb5V\r\nCh2=Cz,,,\r\n";
const std::string kMarkers =
    "Brain Vision Data Exchange Marker File, Version 1.0\n[Marker Infos]\n"
    "Mk1=New Segment,,1,1,0,20200102030405000000\nMk2=Stimulus,S  1,3,1,0\n";
// Frames (1, -2), (3, -4), (5, -6).
const std::string kData("\x01\x00\xfe\xff\x03\x00\xfc\xff\x05\x00\xfa\xff", 12);

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  return text.replace(text.find(old), old.size(), now);
}

std::unique_ptr<Recording> open(const std::string& header, const std::string& data = kData,
                                const std::string& markers = kMarkers) {
  return open_brainvision(*in_memory(header), in_memory(data), in_memory(markers).get(), {});
}

Code code_of(const std::string& header, const std::string& data = kData) {
  try {
    open(header, data);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::internal;
}

Sample sample_of(std::vector<std::pair<std::string, std::string>> parts) {
  Sample sample;
  sample.key = "dir/rec";
  for (auto& [name, bytes] : parts) sample.parts.push_back({name, in_memory(bytes)});
  return sample;
}

}  // namespace

TEST_CASE("a multiplexed recording, its resolutions and markers") {
  const auto recording = open(kHeader);
  const RecordingInfo& info = recording->info();
  CHECK(info.channels[0].label == "EEG,x");
  CHECK(info.channels[0].rate == Approx(250));
  CHECK(info.channels[1].unit == "\xc2\xb5V");  // blank means that
  CHECK(read_channel(*recording, 0) == Doubles{0.5, 1.5, 2.5});
  CHECK(read_channel(*recording, 1) == Doubles{-2, -4, -6});
  REQUIRE(info.annotations.size() == 2);
  CHECK(info.annotations[1].text == "Stimulus/S  1");
  CHECK(info.annotations[1].onset == Approx(0.008));
  CHECK(info.start == "2020-01-02T03:04:05");
  CHECK(info.warnings.empty());
}

TEST_CASE("vectorized data, floats and the other byte order") {
  const auto vectorized = open(replaced(kHeader, "MULTIPLEXED", "VECTORIZED"));
  CHECK(read_channel(*vectorized, 0) == Doubles{0.5, -1, 1.5});
  CHECK(read_channel(*vectorized, 1) == Doubles{-4, 5, -6});
  const std::string big = replaced(kHeader, "=INT_16", "=INT_16\r\nUseBigEndianOrder=YES");
  CHECK(read_channel(*open(big), 0)[0] == 128);
  const std::string floats("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);
  const auto single = open(replaced(kHeader, "INT_16", "IEEE_FLOAT_32"), floats);
  CHECK(read_channel(*single, 0) == Doubles{0.5});
  CHECK(read_channel(*single, 1) == Doubles{2});
}

TEST_CASE("a resolution with a decimal comma") {
  const auto recording = open(replaced(kHeader, "0.5", "0,25"));
  CHECK(read_channel(*recording, 0) == Doubles{0.25, 0.75, 1.25});
  CHECK(warns(*recording, "decimal commas"));
}

TEST_CASE("a paused recording is not glued together") {
  const std::string later = "Mk3=New Segment,,3,1,0,20200102030415500000\n";
  const auto timed = open(kHeader, kData, kMarkers + later);
  REQUIRE(timed->info().segments.size() == 2);
  CHECK(timed->info().segments[1].start == Approx(10.5));
  CHECK(timed->info().segments[1].first_record == 2);
  CHECK(timed->info().annotations[1].onset == Approx(10.5));
  const auto untimed = open(kHeader, kData, kMarkers + "Mk3=New Segment,,3,1,0\n");
  REQUIRE(untimed->info().segments.size() == 2);
  CHECK(warns(*untimed, "does not say for how long"));
  const std::string cut = "=MULTIPLEXED\r\nSegmentationType=MARKERBASED\r\nSegmentDataPoints=2";
  CHECK(open(replaced(kHeader, "=MULTIPLEXED", cut))->info().segments.size() == 2);
}

TEST_CASE("data that do not fit the header") {
  const auto cut = open(kHeader, kData.substr(0, 11));
  CHECK(cut->info().channels[0].samples == 2);
  CHECK(warns(*cut, "3 bytes"));
  CHECK(code_of(kHeader, "") == Code::empty);
  CHECK(code_of(kHeader, "abc") == Code::truncated);
  const std::string vectorized = "VECTORIZED\r\nDataPoints=3";
  CHECK(code_of(replaced(kHeader, "MULTIPLEXED", vectorized), kData.substr(4)) == Code::truncated);
}

TEST_CASE("headers that are refused") {
  CHECK(code_of(replaced(kHeader, "=BINARY", "=ASCII")) == Code::unsupported);
  CHECK(code_of(replaced(kHeader, "INT_16", "UINT_8")) == Code::unsupported);
  CHECK(code_of(replaced(kHeader, "MULTIPLEXED", "SIDEWAYS")) == Code::corrupt);
  CHECK(code_of(replaced(kHeader, "Channels=2", "Channels=3")) == Code::corrupt);
  CHECK(code_of(replaced(kHeader, "Channels=2", "Channels=99999999")) == Code::corrupt);
  for (const char* interval : {"0", "-4", "x", "1e-300"}) {
    CHECK(code_of(replaced(kHeader, "4000", interval)) == Code::corrupt);
  }
  const auto flat = open(replaced(kHeader, "0.5", "0"));
  CHECK_FALSE(flat->info().channels[0].fault.empty());
}

TEST_CASE("the files of a recording are found in the sample, and only there") {
  const Sample whole =
      sample_of({{"eeg", kData}, {"json", "{}"}, {"vhdr", kHeader}, {"vmrk", kMarkers}});
  const auto found = find_recordings(whole);
  REQUIRE(found.size() == 1);
  CHECK(found[0].main == 2);
  CHECK(found[0].data == 0u);
  CHECK(found[0].markers == 3u);
  CHECK(open_recording(whole, found[0], {})->info().annotations.size() == 2);

  const Sample renamed =
      sample_of({{"vhdr", replaced(kHeader, "rec.eeg", "C:\\x\\old.EEG")}, {"eeg", kData}});
  const auto recording = open_recording(renamed, find_recordings(renamed).at(0), {});
  CHECK(warns(*recording, "names 'old.EEG'; 'rec.eeg' is taken"));
  CHECK(warns(*recording, "no annotations"));

  const Sample outside = sample_of({{"vhdr", replaced(kHeader, "rec.eeg", "../../etc/passwd")}});
  CHECK_THROWS_WITH(find_recordings(outside), Catch::Contains("names 'passwd'"));
}

TEST_CASE("what is no recording is not taken for one") {
  CHECK(find_recordings(sample_of({{"cls", "3\n"}, {"jpg", "\xff\xd8\xff"}, {"vmrk", kMarkers}}))
            .empty());
  CHECK(find_recordings(sample_of({{"edf", "0       , not an EDF\n"}, {"eeg", ""}})).empty());
  const auto parquet = sample_of({{"parquet", "PAR1" + std::string(50, '\1')}});
  CHECK_THROWS_WITH(open_recording(parquet, find_recordings(parquet).at(0), {}),
                    Catch::Contains("Parquet is not read"));
}

}  // namespace prep::signal_brainvision_test
