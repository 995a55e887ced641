// What preparing pictures would gain: tried on some of them, projected to all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/tool.h"
#include "lib/measure/statistics.h"
#include "tools/inspect_survey.h"

namespace prep {

// A way of preparing pictures. The first one of picture_variants() leaves them as they are.
struct PictureVariant {
  std::string name;         // "resized", in JSON
  std::string title;        // for people
  bool is_resized = false;  // to kShortSide
  int quality = 0;          // that JPEGs are recompressed to; 0: not

  bool changes() const { return is_resized || quality > 0; }
};
const std::vector<PictureVariant>& picture_variants();

// Of a whole set, with intervals from the sample and, for decoding, from how often it was measured.
struct PictureProjection {
  measure::Interval bytes;
  measure::Interval decode_seconds;             // of CPU: what a loader pays in every epoch
  measure::Interval make_seconds;               // of CPU: what preparing pays once
  measure::Interval bytes_ratio, decode_ratio;  // to the set as it is
};

struct PictureTrial {
  std::uint64_t tried = 0;          // samples
  std::uint64_t bad = 0;            // of them: can't be decoded
  std::uint64_t checked = 0;        // samples that were decoded, whatever is in them
  std::uint64_t with_warnings = 0;  // samples that decode, but are not quite sound
  std::string warning_example;
  bool is_limited = false;  // fewer than were chosen: kMostTriedPixels
  int threads = 1;
  std::vector<PictureProjection> projections;  // by variant; empty if nothing could be tried
  // Of the resized pictures, how many of those tried are larger in bytes than what they came from.
  std::uint64_t pictures = 0, enlarged = 0;
};

inline constexpr double kMostTriedPixels = 2e9;

// Decodes all parts of the chosen samples, and tries the variants. Bad samples are given to the
// reporter in the place of the sound ones that they were taken for.
PictureTrial try_pictures(const RunContext& run, const Survey& survey,
                          const SurveyOptions& options);

// Of a sample that was counted as a sound one, and is not.
void report_bad(Reporter& reporter, const Sample& sample, const Error& error);

}  // namespace prep
