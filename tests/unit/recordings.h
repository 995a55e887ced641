// Recordings as bytes, for the tests of their readers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/sample.h"
#include "lib/signal/recording.h"

namespace prep::signal {

// A signal in an EDF or BDF file.
struct EdfField {
  std::string label = "Fp1", unit = "uV";
  std::string physical_min = "-3276.8", physical_max = "3276.7";
  std::string digital_min = "-32768", digital_max = "32767";
  int samples = 4;
  // The digital samples of a record, or, for annotations, its bytes; padded with zeros.
  std::function<std::int32_t(int record, int i)> digital = [](int, int) { return 0; };
  std::vector<std::string> annotations;
};

struct EdfFile {
  std::string version = "0", date = "01.02.20", time = "03.04.05", recording, reserved;
  std::string records_said, header_said, duration = "1";  // "": as it is
  int records = 2;
  bool bdf = false;
  std::vector<EdfField> signals{EdfField()};
};

std::string encode(const EdfFile& file);

std::shared_ptr<const Content> in_memory(std::string bytes);

// All samples of a channel.
std::vector<double> read_channel(const Recording& recording, std::size_t channel);

// Whether one of the warnings has these words.
bool warns(const Recording& recording, const std::string& words);

}  // namespace prep::signal
