#include "tools/inspect_advice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/core/jobs.h"
#include "lib/core/report.h"

namespace prep {
namespace {

using measure::Interval;
constexpr double kWorthwhile = 0.9;  // of bytes or time: less is a gain worth a run
constexpr double kNearlyAll = 0.95;
constexpr int kLowQuality = 75;
constexpr double kUneven = 10;  // the largest class to the smallest

enum Variant : std::size_t {
  kAsIs,
  kResized,
  kQuality90,
  kQuality80,
  kQuality70,
  kBoth80,
  kBoth70
};

// For a shell: as it is, or in single quotes.
std::string quoted(const std::string& word) {
  const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./:@%+=,").find(c) != std::string_view::npos;
  });
  if (is_plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

double share(std::uint64_t part, std::uint64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string percent(double share) {
  return share < 0.0995 && share > 0 ? fmt::format("{:.1f} %", share * 100)
                                     : fmt::format("{:.0f} %", share * 100);
}

class Adviser {
 public:
  explicit Adviser(const Inspection& inspection)
      : inspection_(inspection), survey_(*inspection.survey) {
    constexpr std::size_t kMostWords = 3;
    for (std::size_t i = 0; i < std::min(inspection.words.size(), kMostWords); ++i) {
      inputs_ += quoted(inspection.words[i]) + " ";
    }
    if (inspection.words.size() > kMostWords) inputs_ += "... ";
  }

  std::vector<Advice> advise() {
    if (!inspection_.pictures.projections.empty()) {
      advise_resizing();
      advise_recompressing();
      note_pictures();
    }
    if (inspection_.recordings.tried > 0) advise_spectrograms();
    advise_packing();
    note_samples();
    return std::move(advice_);
  }

 private:
  template <typename... Args>
  void add(Advice::Kind kind, std::string command, fmt::format_string<Args...> format,
           Args&&... args) {
    advice_.push_back({kind, fmt::format(format, std::forward<Args>(args)...), std::move(command)});
  }

  const PictureProjection& at(Variant variant) const {
    return inspection_.pictures.projections[variant];
  }
  static bool is_worthwhile(const PictureProjection& one) {
    return one.bytes_ratio.high < kWorthwhile || one.decode_ratio.high < kWorthwhile;
  }

  std::string effect(Variant variant) const {
    const PictureProjection& one = at(variant);
    return fmt::format("{} of the bytes and {} of the time to decode", human_share(one.bytes_ratio),
                       human_share(one.decode_ratio));
  }
  std::string cost(const Interval& seconds) const {
    return human_seconds(seconds.value) + " of CPU, once";
  }

  std::string nearest_options() const {
    std::string options;
    for (const auto& [part, count] : survey_.mask_parts) {
      if (survey_.mask_parts.size() < 8) options += " --nearest " + quoted(part);
    }
    return options;
  }

  void advise_resizing() {
    const PictureProjection& resized = at(kResized);
    const double small = share(survey_.small, survey_.pictures);
    const std::string command =
        "prep-resize " + inputs_ + "-o resized/" + (all_masks() ? "" : nearest_options());
    if (all_masks()) {
      add(Advice::Kind::no, "",
          "Pictures look like masks (PNG with few values): resizing by averages, and "
          "JPEG, would make up values that are no labels. --nearest keeps them.");
    } else if (small >= kNearlyAll) {
      add(Advice::Kind::no, "",
          "Don't resize: {} of the pictures have a short side of at most {} already.",
          percent(small), kShortSide);
    } else if (resized.bytes_ratio.low > 1) {
      add(Advice::Kind::no, "",
          "Resizing to {} would make the files larger ({} of the bytes), though faster to decode "
          "({} of the time): they are compressed too hard already.",
          kShortSide, human_share(resized.bytes_ratio), human_share(resized.decode_ratio));
    } else if (is_worthwhile(resized)) {
      is_resizing_ = true;
      add(Advice::Kind::gain, command,
          "Resize to a short side of {}: {}. It takes {}. Enough for crops of 224; for larger ones "
          "choose a larger --short.",
          kShortSide, effect(kResized), cost(resized.make_seconds));
    } else {
      add(Advice::Kind::no, "", "Resizing to {} is not worth a run: {}.", kShortSide,
          effect(kResized));
    }
  }

  bool all_masks() const { return survey_.masks == survey_.pictures; }

  void advise_recompressing() {
    if (survey_.jpegs == 0) return;
    const int quality = survey_.quality_quantile(0.5);
    if (quality <= kLowQuality && !is_worthwhile(at(kQuality70))) {
      add(Advice::Kind::no, "",
          "Don't recompress: half of the JPEGs have a quality of {} or less already; 70 would "
          "leave "
          "{} of the bytes, for a second loss.",
          quality, human_share(at(kQuality70).bytes_ratio));
      return;
    }
    if (!is_worthwhile(at(kQuality70))) {
      add(Advice::Kind::no, "", "Recompressing to 70 is not worth a run: {}.", effect(kQuality70));
      return;
    }
    add(Advice::Kind::gain, "prep-recompress " + inputs_ + "-o q80/ -q 80",
        "Recompress{}: quality 90 leaves {} of the bytes, 80 {}, 70 {} (and {} of the time to "
        "decode). It takes {}.",
        is_resizing_ ? " instead, where pictures must keep their size" : "",
        human_share(at(kQuality90).bytes_ratio), human_share(at(kQuality80).bytes_ratio),
        human_share(at(kQuality70).bytes_ratio), human_share(at(kQuality70).decode_ratio),
        cost(at(kQuality70).make_seconds));
    if (is_resizing_ && at(kBoth80).bytes_ratio.high < kWorthwhile * at(kResized).bytes_ratio.low) {
      add(Advice::Kind::gain,
          "prep-resize " + inputs_ + "-o -" + nearest_options() +
              " | prep-recompress - -o small/ -q 80",
          "Both: resized, then quality 80, leaves {}; with 70, {} of the bytes.", effect(kBoth80),
          human_share(at(kBoth70).bytes_ratio));
    }
    add(Advice::Kind::note, "",
        "Recompressing takes away what the eye does not miss, and that may be what a network is to "
        "see: traces of editing, medical findings, fine textures. There, keep the originals, or "
        "compare a model trained on each first.");
  }

  void note_pictures() {
    const auto count = [&](std::uint64_t n, std::string_view what) {
      if (n > 0) {
        add(Advice::Kind::note, "", "{} ({}) {}", human_count(n),
            percent(share(n, survey_.pictures)), what);
      }
    };
    if (!all_masks() && survey_.masks > 0) {
      std::string parts;
      for (const auto& [part, n] : survey_.mask_parts) {
        parts += (parts.empty() ? "" : ", ") + printable(part.empty() ? "(no extension)" : part);
      }
      count(survey_.masks, "pictures look like masks: part " + parts +
                               ". prep-resize keeps their values with --nearest.");
    }
    count(survey_.rotated,
          "pictures carry an orientation, which many loaders ignore; prep-resize turns them.");
    count(survey_.deep, "pictures have 16 bits a channel, of which prep-resize keeps 8.");
    count(
        survey_.jpegs - survey_.plain_jpegs,
        "JPEGs are CMYK or of another kind that loaders may refuse or get wrong; prep-resize makes "
        "sRGB of them.");
    count(survey_.progressive,
          "JPEGs are progressive, which decode more slowly; both prep tools write baseline ones.");
    if (inspection_.pictures.enlarged > 0) {
      add(Advice::Kind::note, "",
          "{} of {} tried pictures became larger in bytes when resized: their quality is below 90. "
          "prep-resize -q has a lower one.",
          human_count(inspection_.pictures.enlarged), human_count(inspection_.pictures.pictures));
    }
  }

  void advise_spectrograms() {
    const RecordingTrial& trial = inspection_.recordings;
    const double ratio = trial.make_seconds.value / std::max(trial.load_seconds.value, 1e-9);
    const std::string size =
        fmt::format("They take {} ({} of the recordings' bytes)",
                    human_bytes(static_cast<std::uint64_t>(trial.array_bytes.value)),
                    human_share(trial.array_ratio));
    constexpr double kWorthMaking = 2;
    if (ratio >= kWorthMaking) {
      add(Advice::Kind::gain, "prep-spectrogram " + inputs_ + "-o spectrograms/",
          "Make spectrograms once: {} of CPU instead of {} in every epoch, {:.0f} times less. {}; "
          "--dtype float16 halves that, and --fmax, --bands or --mels keep only what the network "
          "sees.",
          human_seconds(trial.load_seconds.value), human_seconds(trial.make_seconds.value), ratio,
          size);
    } else {
      add(Advice::Kind::no, "",
          "Spectrograms that are made once would save little: {} of CPU instead of {}. {}.",
          human_seconds(trial.load_seconds.value), human_seconds(trial.make_seconds.value), size);
    }
    add(Advice::Kind::note, "",
        "A spectrogram has no phase, and its window decides what can be seen in it. Keep the "
        "recordings: a diagnosis may hang on what it leaves out.");
  }

  void advise_packing() {
    const ReadingTrial& trial = inspection_.reading;
    if (!trial.has_packed || survey_.samples < 2) return;
    const double ratio = trial.packed_seconds / std::max(trial.seconds.value, 1e-9);
    const std::string_view how = trial.is_cold ? "from the storage" : "from memory";
    const std::string place =
        trial.is_same_storage ? "" : " (on the temporary directory's storage)";
    if (trial.is_cold && trial.is_same_storage && ratio < kWorthwhile) {
      add(Advice::Kind::gain, "prep-pack " + inputs_ + "-o 'shards/train-%06d.tar' --shuffle 1",
          "Pack: one thread reads all {} files in {} {} ({} to {}), and in {} out of tars.",
          human_count(survey_.parts), human_seconds(trial.seconds.value), how,
          human_seconds(trial.seconds.low), human_seconds(trial.seconds.high),
          human_seconds(trial.packed_seconds));
      return;
    }
    add(trial.is_cold && trial.is_same_storage ? Advice::Kind::no : Advice::Kind::note, "",
        "Packed or loose: one thread reads all {} files in {} {}, and in {} out of tars{}.{} On "
        "network storage and hard disks packing gains most; prep-bench read --cold measures there.",
        human_count(survey_.parts), human_seconds(trial.seconds.value), how,
        human_seconds(trial.packed_seconds), place,
        trial.is_cold && trial.is_same_storage ? " Packing gains little here." : "");
  }

  void note_samples() {
    const std::uint64_t bad = survey_.bad,
                        tried_bad = inspection_.pictures.bad + inspection_.recordings.bad;
    if (bad + tried_bad > 0) {
      add(Advice::Kind::note, "",
          "Bad files: {} by their headers, and {} of {} samples that were decoded. --errors FILE "
          "lists them; the prep tools stop at the end unless --max-errors allows as many.",
          human_count(bad), human_count(tried_bad), human_count(inspection_.pictures.checked));
    }
    if (survey_.unsupported > 0) {
      add(Advice::Kind::note, "",
          "{} pictures are of formats that are not read here (see the formats).",
          human_count(survey_.unsupported));
    }
    for (const MissingPart& missing : missing_parts(survey_)) {
      add(Advice::Kind::note, "", "{} samples lack the part '{}' that the others have, first {}.",
          human_count(missing.samples), printable(missing.part), printable(missing.example));
    }
    note_duplicates();
    note_classes();
  }

  void note_duplicates() {
    const DuplicateFinder& finder = survey_.duplicates;
    if (finder.superfluous() == 0) return;
    add(Advice::Kind::note, "",
        "Copies of other files: {}{} ({}{}). A copy in the validation set makes its result "
        "worthless.",
        finder.is_compared() ? "" : "probably ", human_count(finder.superfluous()),
        human_bytes(finder.superfluous_bytes()),
        finder.is_exact() ? "" : ", scaled up from a part of them");
  }

  void note_classes() {
    const NameCounts* classes = classes_of(survey_);
    if (classes == nullptr || classes->entries().size() < 2) return;
    const auto sorted = classes->by_count();
    const double ratio = static_cast<double>(sorted.front().second.count) /
                         static_cast<double>(sorted.back().second.count);
    if (ratio < kUneven) return;
    add(Advice::Kind::note, "",
        "Classes are uneven: '{}' has {} samples, '{}' {}. Sample by class, or weigh the loss.",
        printable(sorted.front().first), human_count(sorted.front().second.count),
        printable(sorted.back().first), human_count(sorted.back().second.count));
  }

  const Inspection& inspection_;
  const Survey& survey_;
  std::string inputs_;
  bool is_resizing_ = false;
  std::vector<Advice> advice_;
};

std::set<std::string> parts_of(const std::string& set) {
  std::set<std::string> parts;
  for (std::size_t begin = 0; begin <= set.size();) {
    const std::size_t end = std::min(set.find(" + ", begin), set.size());
    parts.insert(set.substr(begin, end - begin));
    begin = end + 3;
  }
  return parts;
}

}  // namespace

std::vector<Advice> advise(const Inspection& inspection) { return Adviser(inspection).advise(); }

const NameCounts* classes_of(const Survey& survey) {
  if (!survey.labels.entries().empty()) return &survey.labels;
  // Directories are classes where there are few for the samples, and all samples lie in one.
  const auto& directories = survey.directories.entries();
  const bool is_class = directories.size() > 1 && directories.size() * 2 <= survey.samples &&
                        directories.count("") == 0 && survey.directories.is_complete();
  return is_class ? &survey.directories : nullptr;
}

std::vector<MissingPart> missing_parts(const Survey& survey) {
  std::map<std::string, std::uint64_t> having;
  for (const auto& [set, entry] : survey.part_sets.entries()) {
    for (const std::string& part : parts_of(set)) having[part] += entry.count;
  }
  std::vector<MissingPart> missing;
  for (const auto& [part, count] : having) {
    if (count == survey.samples || share(count, survey.samples) < kWorthwhile) continue;
    MissingPart one{part, survey.samples - count, ""};
    for (const auto& [set, entry] : survey.part_sets.entries()) {
      if (one.example.empty() && parts_of(set).count(part) == 0) one.example = entry.example;
    }
    missing.push_back(std::move(one));
  }
  return missing;
}

std::string human_seconds(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1000);
  if (seconds < 2 * kMinute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.3g} min", seconds / kMinute);
  if (seconds < 3 * kDay) return fmt::format("{:.3g} h", seconds / kHour);
  return fmt::format("{:.1f} days", seconds / kDay);
}

std::string human_share(const Interval& ratio) {
  const int digits = ratio.value < 0.9995 ? 1 : 0;
  const std::string value = fmt::format("{:.{}f}", ratio.value * 100, digits);
  if (std::isinf(ratio.high)) return value + " % (one sample tells no more)";
  const std::string low = fmt::format("{:.{}f}", ratio.low * 100, digits);
  const std::string high = fmt::format("{:.{}f}", ratio.high * 100, digits);
  return low == high ? value + " %" : fmt::format("{} % ({} to {})", value, low, high);
}

}  // namespace prep
