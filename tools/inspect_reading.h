// How long the data set takes to be read as it lies, and how long as one tar.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/core/tool.h"
#include "lib/measure/statistics.h"
#include "tools/inspect_survey.h"

namespace prep {

struct ReadingTrial {
  std::uint64_t samples = 0, bytes = 0;  // that were read; 0: nothing could be measured
  bool is_cold = false;                  // the files' pages had left memory
  measure::Interval seconds;             // of the whole set, one sample after the other at random
  std::string kind;                      // of the storage below the first input

  // Of loose files only: the same samples out of a tar, on the temporary directory's storage.
  bool has_packed = false, is_same_storage = false;
  double packed_seconds = 0;  // of the whole set
};

inline constexpr std::uint64_t kMostReadBytes = 256'000'000;

// Reads some of the chosen samples with one thread, out of the storage itself where the kernel lets
// go of the files' pages. The tar is a temporary file.
ReadingTrial try_reading(const RunContext& run, const Survey& survey, const SurveyOptions& options);

}  // namespace prep
