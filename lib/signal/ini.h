// The text of BrainVision's headers and markers: sections of key=value lines.
//
// Lines that start with ';', blank ones and the first line (the format's name) don't count;
// [Comment] is free text and is passed over. Sections and keys are compared without regard to case.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prep::signal {

// Calls `take(section, key, value)` for each line in its order; the section is in lower case.
void for_each_ini_line(
    std::string_view text,
    const std::function<void(std::string_view, std::string_view, std::string_view)>& take);

class Ini {
 public:
  // What is not UTF-8 is taken for Latin-1.
  explicit Ini(std::string_view text);
  // nullopt where there is none. The first one counts, of several.
  std::optional<std::string_view> get(std::string_view section, std::string_view key) const;

 private:
  std::map<std::string, std::string> values_;  // by "section\nkey", lower case
};

// Splits at commas; "\1" in a field is a comma. Fields are trimmed.
std::vector<std::string> split_fields(std::string_view value);

}  // namespace prep::signal
