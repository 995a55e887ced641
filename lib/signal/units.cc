#include "lib/signal/units.h"

#include <algorithm>
#include <array>

#include "lib/core/text.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

using std::string_view_literals::operator""sv;

// "µ" in Latin-1, as U+00B5 and as U+03BC, each as the plain "u" that stands for it.
std::string with_plain_mu(std::string_view unit) {
  for (const std::string_view mu : {"\xb5"sv, "\xc2\xb5"sv, "\xce\xbc"sv}) {
    if (unit.starts_with(mu)) return std::string("u").append(unit.substr(mu.size()));
  }
  return std::string(unit);
}

constexpr std::size_t kNamesInMessage = 8;

constexpr std::array kOtherUnits = {
    "%"sv,     "bpm"sv, "hz"sv,    "mmhg"sv, "cmh2o"sv, "kpa"sv,   "mbar"sv,
    "l/min"sv, "lpm"sv, "ml"sv,    "degc"sv, "c"sv,     "°c"sv,    "celsius"sv,
    "deg"sv,   "g"sv,   "m/s^2"sv, "s"sv,    "ms"sv,    "ohm"sv,   "kohm"sv,
    "lux"sv,   "db"sv,  "bool"sv,  "n/a"sv,  "a.u."sv,  "units"sv, "boolean"sv};

}  // namespace

std::optional<double> microvolts_per(std::string_view unit) {
  const std::string plain = with_plain_mu(trim(unit));
  if (plain == "uV" || plain == "uv" || plain == "UV") return 1;
  if (plain == "nV" || plain == "nv") return 1e-3;
  if (plain == "mV" || plain == "mv") return 1e3;
  if (plain == "V" || plain == "v") return 1e6;
  return std::nullopt;
}

bool is_other_unit(std::string_view unit) {
  const std::string plain = lower_case(to_utf8(trim(unit)));
  return std::find(kOtherUnits.begin(), kOtherUnits.end(), plain) != kOtherUnits.end();
}

UnitScale scale_unit(std::string_view in_file, std::string_view given) {
  if (const auto factor = microvolts_per(in_file)) return {std::string(kMicrovolt), *factor, true};
  const std::string text = to_utf8(trim(in_file));
  if (is_other_unit(in_file)) return {text, 1, true};
  if (trim(given).empty()) return {text, 1, false};
  return scale_unit(given, "").known ? scale_unit(given, "") : UnitScale{to_utf8(given), 1, true};
}

void set_unit(Channel& channel, Calibration& calibration, std::string_view file_unit,
              std::string_view given) {
  const UnitScale scale = scale_unit(file_unit, given);
  channel.file_unit = to_utf8(trim(file_unit));
  channel.unit = scale.unit;
  channel.unit_known = scale.known;
  calibration.gain *= scale.factor;
  calibration.offset *= scale.factor;
}

std::string unit_warning(const RecordingInfo& info, std::span<const std::size_t> chosen) {
  std::string names;
  std::size_t count = 0;
  for (const std::size_t index : chosen) {
    const Channel& channel = info.channels[index];
    if (channel.unit_known || channel.kind != ChannelKind::signal) continue;
    if (++count > kNamesInMessage) continue;
    names += fmt::format("{}{}{}", count > 1 ? ", " : "", printable(channel.name),
                         channel.file_unit.empty()
                             ? std::string()
                             : fmt::format(" ('{}')", printable(channel.file_unit)));
  }
  if (count == 0) return "";
  if (count > kNamesInMessage) names += fmt::format(", … ({} in all)", count);
  return fmt::format(
      "the unit is not known of {}: the values are as the file has them (--unit says what they "
      "are)",
      names);
}

}  // namespace prep::signal
