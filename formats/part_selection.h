// Which parts of samples are taken, under which names, and in which order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/core/sample.h"

namespace prep {

class PartSelection {
 public:
  // `parts`: those that are taken, in this order, which every sample must have; empty: all, in the
  // bytewise order of their names. `renames`: "jpeg=jpg", done before. throws Error usage.
  PartSelection(std::vector<std::string> parts, const std::vector<std::string>& renames);

  // Renames, and leaves out what was not asked for. throws Error not_found for a part that is
  // missing, unless it is `added_later`; duplicate for two parts of one name.
  void apply(Sample& sample, std::string_view added_later = {}) const;
  // Puts the parts in order.
  void sort(Sample& sample) const;

 private:
  std::size_t rank(const std::string& name) const;

  std::vector<std::string> parts_;
  std::vector<std::pair<std::string, std::string>> renames_;
};

}  // namespace prep
