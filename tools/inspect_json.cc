#include "tools/inspect_json.h"

#include <cmath>

#include "lib/core/version.h"
#include "lib/image/rgb_decoder.h"
#include "lib/measure/machine.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNames = 1000;

// JSON has no infinity: an open end is null.
Json interval_json(const measure::Interval& interval) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"value", number(interval.value)},
          {"low", number(interval.low)},
          {"high", number(interval.high)}};
}

Json counts_json(const NameCounts& counts) {
  Json json = Json::array();
  for (const auto& [name, entry] : counts.by_count()) {
    if (json.size() == kMostNames) break;
    json.push_back({{"name", json_text(name)}, {"count", entry.count}, {"bytes", entry.bytes}});
  }
  return json;
}

Json sizes_json(const LogCounts& counts) {
  return {{"min", counts.min()},
          {"p05", counts.quantile(0.05)},
          {"median", counts.quantile(0.5)},
          {"p95", counts.quantile(0.95)},
          {"max", counts.max()},
          {"mean", counts.mean()}};
}

Json pictures_json(const Survey& survey) {
  Json qualities = Json::object();
  for (int quality = 1; quality <= 100; ++quality) {
    if (survey.qualities[quality] > 0) {
      qualities[std::to_string(quality)] = survey.qualities[quality];
    }
  }
  Json masks = Json::object();
  for (const auto& [part, count] : survey.mask_parts) masks[json_text(part)] = count;
  return {{"count", survey.pictures},
          {"bytes", survey.picture_bytes},
          {"unsupported", survey.unsupported},
          {"short_side", sizes_json(survey.short_sides)},
          {"megapixels", sizes_json(survey.megapixels)},
          {"aspect", sizes_json(survey.aspects)},
          {"small", survey.small},
          {"rotated", survey.rotated},
          {"deep", survey.deep},
          {"masks", masks},
          {"jpeg",
           {{"count", survey.jpegs},
            {"bytes", survey.jpeg_bytes},
            {"qualities", qualities},
            {"subsampling", survey.subsamplings},
            {"color", survey.colors},
            {"progressive", survey.progressive},
            {"icc", survey.with_icc}}}};
}

Json classes_json(const Survey& survey) {
  const NameCounts* classes = classes_of(survey);
  if (classes == nullptr) return nullptr;
  const auto sorted = classes->by_count();
  return {{"from", classes == &survey.labels ? "cls" : "directory"},
          {"count", sorted.size()},
          {"complete", classes->is_complete()},
          {"largest", sorted.front().second.count},
          {"smallest", sorted.back().second.count},
          {"classes", counts_json(*classes)}};
}

Json duplicates_json(const DuplicateFinder& finder) {
  Json groups = Json::array();
  for (const DuplicateFinder::Group& group : finder.groups(kMostNames)) {
    groups.push_back({{"first", json_text(group.first)},
                      {"second", json_text(group.second)},
                      {"copies", group.copies},
                      {"bytes_each", group.bytes_each}});
  }
  return {{"superfluous", finder.superfluous()},
          {"superfluous_bytes", finder.superfluous_bytes()},
          {"share_looked_at", finder.share_noted()},
          {"compared", finder.is_compared()},
          {"groups", groups}};
}

Json missing_json(const Survey& survey) {
  Json json = Json::array();
  for (const MissingPart& missing : missing_parts(survey)) {
    json.push_back({{"part", json_text(missing.part)},
                    {"samples", missing.samples},
                    {"example", json_text(missing.example)}});
  }
  return json;
}

Json survey_json(const Survey& survey) {
  Json json{{"samples", survey.samples}, {"parts", survey.parts},
            {"bytes", survey.bytes},     {"bad", survey.bad},
            {"seconds", survey.seconds}, {"left_out", survey.left_out}};
  json["formats"] = counts_json(survey.formats);
  json["file_bytes"] = sizes_json(survey.part_bytes);
  json["part_names"] = counts_json(survey.part_names);
  json["part_sets"] = counts_json(survey.part_sets);
  json["missing_parts"] = missing_json(survey);
  json["pictures"] = pictures_json(survey);
  json["recordings"] = {{"count", survey.recordings}, {"bytes", survey.recording_bytes}};
  json["classes"] = classes_json(survey);
  json["duplicates"] = duplicates_json(survey.duplicates);
  return json;
}

Json variants_json(const PictureTrial& trial) {
  Json json = Json::array();
  for (std::size_t v = 0; v < trial.projections.size(); ++v) {
    const PictureProjection& one = trial.projections[v];
    json.push_back({{"variant", picture_variants()[v].name},
                    {"bytes", interval_json(one.bytes)},
                    {"bytes_ratio", interval_json(one.bytes_ratio)},
                    {"decode_cpu_seconds", interval_json(one.decode_seconds)},
                    {"decode_ratio", interval_json(one.decode_ratio)},
                    {"make_cpu_seconds", interval_json(one.make_seconds)}});
  }
  return json;
}

Json recordings_json(const RecordingTrial& trial) {
  if (trial.tried == 0) return nullptr;
  return {{"tried", trial.tried},
          {"bad", trial.bad},
          {"channels", {trial.least_channels, trial.most_channels}},
          {"rate_hz", {trial.least_rate, trial.most_rate}},
          {"seconds", {trial.shortest, trial.longest}},
          {"hours", interval_json(trial.hours)},
          {"array_bytes", interval_json(trial.array_bytes)},
          {"array_ratio", interval_json(trial.array_ratio)},
          {"make_cpu_seconds", interval_json(trial.make_seconds)},
          {"load_cpu_seconds", interval_json(trial.load_seconds)}};
}

Json reading_json(const ReadingTrial& trial) {
  if (trial.samples == 0) return nullptr;
  Json json{{"samples", trial.samples},
            {"bytes", trial.bytes},
            {"cold", trial.is_cold},
            {"storage", trial.kind},
            {"seconds", interval_json(trial.seconds)}};
  if (trial.has_packed) {
    json["packed_seconds"] = trial.packed_seconds;
    json["packed_on_same_storage"] = trial.is_same_storage;
  }
  return json;
}

std::string_view name_of(Advice::Kind kind) {
  switch (kind) {
    case Advice::Kind::gain:
      return "gain";
    case Advice::Kind::no:
      return "no";
    case Advice::Kind::note:
      break;
  }
  return "note";
}

}  // namespace

Json inspection_json(const Inspection& inspection, const std::vector<Advice>& advice,
                     const SurveyOptions& options) {
  Json json{{"tool", "prep-inspect"}, {"version", kVersion}};
  for (const std::string& word : inspection.words) json["inputs"].push_back(json_text(word));
  json["settings"] = {{"samples", options.samples}, {"seed", options.seed}};
  json["machine"] = measure::describe_machine();
  json["libraries"] = {{"jpeg", image::libjpeg_version()}};
  json["survey"] = survey_json(*inspection.survey);
  json["tried"] = {{"samples", inspection.pictures.checked},
                   {"with_pictures", inspection.pictures.tried},
                   {"bad", inspection.pictures.bad},
                   {"with_warnings", inspection.pictures.with_warnings},
                   {"threads", inspection.pictures.threads},
                   {"pictures", inspection.pictures.pictures},
                   {"enlarged", inspection.pictures.enlarged}};
  json["variants"] = variants_json(inspection.pictures);
  json["recordings"] = recordings_json(inspection.recordings);
  json["reading"] = reading_json(inspection.reading);
  for (const Advice& one : advice) {
    json["advice"].push_back(
        {{"kind", name_of(one.kind)}, {"text", one.text}, {"command", json_text(one.command)}});
  }
  return json;
}

}  // namespace prep
