// Units of measurement as recordings spell them. Voltages become microvolts; nothing is guessed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lib/signal/recording.h"
#include "lib/signal/sample_decoder.h"

namespace prep::signal {

// "µV", as all voltages come out: UTF-8, U+00B5.
inline constexpr std::string_view kMicrovolt = "\xc2\xb5V";

// How many microvolts one of `unit` is, if that is a voltage: "uV" and "µV" (U+00B5 or U+03BC, in
// UTF-8 or Latin-1), "nV", "mV", "V". "MV" is none: nobody measures megavolts, and it is not known
// what was meant.
std::optional<double> microvolts_per(std::string_view unit);

// Whether it says what it measures, if no voltage: "%", "bpm", "mmHg", ….
bool is_other_unit(std::string_view unit);

struct UnitScale {
  std::string unit;  // of the scaled values, UTF-8; "" if not known
  double factor = 1;
  bool known = false;  // false: the values are as the file has them, whatever they measure
};

// `in_file` is the file's own spelling; `given` is what the user says about units that the file
// leaves open ("" for nothing), and counts only for those.
UnitScale scale_unit(std::string_view in_file, std::string_view given);

// Gives a channel the unit that the file spells `file_unit`, and scales its calibration to it.
void set_unit(Channel& channel, Calibration& calibration, std::string_view file_unit,
              std::string_view given);

// Says that the values of those of `chosen` whose unit nobody told are as the file has them; "" if
// there are none.
std::string unit_warning(const RecordingInfo& info, std::span<const std::size_t> chosen);

}  // namespace prep::signal
