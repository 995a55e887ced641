#include "lib/signal/spectrogram_json.h"

#include <nlohmann/json.hpp>

#include "lib/core/text.h"

namespace prep::signal {
namespace {

using nlohmann::ordered_json;

std::string_view layout_name(Layout layout) {
  return layout == Layout::cft ? "CFT" : layout == Layout::ftc ? "FTC" : "CTF";
}

ordered_json array_json(const Spectrogram& spectrogram, const SpectrogramSettings& settings) {
  const auto [c, f, t] = spectrogram.shape;
  ordered_json shape;
  switch (settings.layout) {
    case Layout::cft:
      shape = {c, f, t};
      break;
    case Layout::ftc:
      shape = {f, t, c};
      break;
    case Layout::ctf:
      shape = {c, t, f};
  }
  return {{"dtype", npy_descr(settings.type)},
          {"layout", layout_name(settings.layout)},
          {"shape", shape}};
}

ordered_json null_if_empty(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(json_text(text));
}

ordered_json channels_json(const Spectrogram& spectrogram) {
  ordered_json list = ordered_json::array();
  for (std::size_t c = 0; c < spectrogram.channels.size(); ++c) {
    ordered_json channel{{"name", json_text(spectrogram.channels[c])},
                         {"unit", null_if_empty(spectrogram.units[c])}};
    ordered_json runs = ordered_json::array();
    for (const Range& run : spectrogram.nan_frames[c]) runs.push_back({run.first, run.last});
    if (!runs.empty()) channel["nan_frames"] = std::move(runs);
    if (!spectrogram.missing.empty() && spectrogram.missing[c]) channel["missing"] = true;
    if (!spectrogram.dead_pairs.empty()) channel["dead_pairs"] = spectrogram.dead_pairs[c];
    list.push_back(std::move(channel));
  }
  return list;
}

ordered_json bands_json(const FilterBank& bank) {
  ordered_json list = ordered_json::array();
  for (const FilterBank::Row& row : bank.rows) {
    list.push_back({{"name", row.name}, {"low", row.low}, {"high", row.high}});
  }
  return list;
}

ordered_json source_json(const SpectrogramSource& source) {
  ordered_json json{{"name", json_text(source.name)}, {"format", source.info->format}};
  json["start"] = source.info->start ? ordered_json(*source.info->start) : ordered_json(nullptr);
  return json;
}

ordered_json epoch_json(const SpectrogramSource& source) {
  ordered_json json{
      {"number", *source.number}, {"start", source.start}, {"duration", source.duration}};
  if (const Annotation* event = source.event) {
    json["event"] = {
        {"onset", event->onset},
        {"duration", event->duration ? ordered_json(*event->duration) : ordered_json(nullptr)},
        {"text", json_text(event->text)}};
  }
  return json;
}

ordered_json normalized_json(const Spectrogram& spectrogram) {
  ordered_json json;
  for (const Moments& moments : spectrogram.normalized) {
    json["mean"].push_back(moments.mean);
    json["deviation"].push_back(moments.deviation);
  }
  return json;
}

// How the elements stand for values.
void add_values(const Spectrogram& spectrogram, const SpectrogramSettings& settings,
                ordered_json& json) {
  json["settings"] = settings_json(settings);
  if (!spectrogram.normalized.empty()) json["normalized_by"] = normalized_json(spectrogram);
  if (settings.normalize == Normalize::file) json["normalized_by"] = "statistics of a data set";
  if (spectrogram.uint8_scale) {
    json["uint8"] = {{"low", spectrogram.uint8_scale->low},
                     {"high", spectrogram.uint8_scale->high}};
  }
}

}  // namespace

std::string spectrogram_json(const Spectrogram& spectrogram, const SpectrogramSettings& settings,
                             const SpectrogramSource& source,
                             const std::vector<std::string>& warnings) {
  ordered_json json{{"format", kSpectrogramFormat}, {"version", 1}};
  json["source"] = source_json(source);
  if (source.number) json["epoch"] = epoch_json(source);
  json["array"] = array_json(spectrogram, settings);
  json["channels"] = channels_json(spectrogram);
  json["rate"] = spectrogram.rate;
  json["frequencies"] = spectrogram.axis.centres;
  if (spectrogram.axis.bank) json["bands"] = bands_json(*spectrogram.axis.bank);
  json["times"] = {{"first", spectrogram.first_time},
                   {"step", spectrogram.time_step},
                   {"count", spectrogram.shape.times}};
  add_values(spectrogram, settings, json);
  json["warnings"] = ordered_json::array();
  for (const std::string& warning : warnings) json["warnings"].push_back(json_text(warning));
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace prep::signal
