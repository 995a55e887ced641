// Time-stamped annotation lists (TALs) of EDF+ and BDF+: the text in annotation signals.
//
//   +onset[\x15duration]\x14text\x14text…\x14\0, any number of them, then NULs. The first one of a
//   record carries the record's own time and an empty text (edfplus.info/specs/edfplus.html).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/core/bytes.h"

namespace prep::signal {

struct Tal {
  double onset = 0;  // seconds
  std::optional<double> duration;
  std::vector<std::string_view> texts;  // as stored, without empty ones
};

// Walks the TALs of one signal in one record.
class TalReader {
 public:
  explicit TalReader(ByteView bytes) : rest_(as_text(bytes)) {}
  // The next one; nullopt at the end. What can't be read is passed over.
  std::optional<Tal> next();
  // Whether anything was passed over, or did not end as it should.
  bool malformed() const { return malformed_; }

 private:
  bool next_list();
  std::optional<std::string_view> next_item();

  std::string_view rest_;  // after the list
  std::string_view list_;  // up to a NUL; what is left of it
  bool malformed_ = false;
};

}  // namespace prep::signal
