// What to do with a data set, and what not: only what was measured on its own samples counts.
#pragma once

#include <string>
#include <vector>

#include "tools/inspect_pictures.h"
#include "tools/inspect_reading.h"
#include "tools/inspect_recordings.h"
#include "tools/inspect_survey.h"

namespace prep {

struct Inspection {
  std::vector<std::string> words;  // the inputs as written
  std::unique_ptr<Survey> survey;
  PictureTrial pictures;
  RecordingTrial recordings;
  ReadingTrial reading;
};

struct Advice {
  enum class Kind {
    gain,  // worth doing
    no,    // not worth doing, or harmful
    note,  // to be known before training
  } kind = Kind::note;
  std::string text;
  std::string command;  // that would do it; "" where there is none
};

std::vector<Advice> advise(const Inspection& inspection);

// Where the classes of samples come from: nullptr if there are none.
const NameCounts* classes_of(const Survey& survey);
// A part that nearly all samples have, and some lack.
struct MissingPart {
  std::string part;
  std::uint64_t samples = 0;  // without it
  std::string example;        // the key of one
};
std::vector<MissingPart> missing_parts(const Survey& survey);

// "12 ms", "3.4 s", "5.1 min", "2.3 h", "4.0 days".
std::string human_seconds(double seconds);
// "47 % (46 to 48)".
std::string human_share(const measure::Interval& ratio);

}  // namespace prep
