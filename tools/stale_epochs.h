// What earlier runs made of a recording and this one does not: epochs beyond the last, or the one
// array of a recording that is divided now. They must not stay among the others as if they were
// part of the set.
#pragma once

#include <cstddef>
#include <string>

#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep {

// The key of an epoch of `count`: "rec_0007".
std::string epoch_key(const std::string& key, std::size_t number, std::size_t count);

class StaleEpochs {
 public:
  // Both must outlive it.
  StaleEpochs(Sink& sink, const Stage& stage) : sink_(&sink), stage_(&stage) {}

  // Of a recording that becomes `count` numbered epochs, or one array under its own key where
  // `count` is 0. `recording` has that key and all parts that any array of it can have, with the
  // contents that they are made from; `description` is the name of the .spec.json among them, by
  // whose content alone an output is known for an epoch. throws Error as the sink does.
  void remove(const Sample& recording, const std::string& description, std::size_t count);

 private:
  void remove_epochs(const Sample& recording, const std::string& description, std::size_t first,
                     std::size_t digits);
  void remove_one(const Sample& recording, const std::string& key);

  Sink* sink_;
  const Stage* stage_;
};

}  // namespace prep
