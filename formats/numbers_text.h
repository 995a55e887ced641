// Lists of numbers as the text of a part: "7", "0.5 1", "[1, 2]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prep {

// Numbers between white space or single commas, and brackets around them if need be (a JSON array).
// throws Error corrupt: "'dog' is not an integer", without a word on where it stands; a number that
// the type can't hold is corrupt, too.
std::vector<std::int64_t> parse_int64s(std::string_view text);
// "NaN", "Infinity" and "-Infinity" are numbers as well.
std::vector<float> parse_floats(std::string_view text);

// Writes numbers one by one: a single one as such, several (or none) as a JSON array. A float is
// written with as few digits as give the same float again.
class NumbersText {
 public:
  void add(std::int64_t value);
  void add(float value);
  std::string finish() &&;

 private:
  void separate();
  std::string text_;
  std::size_t count_ = 0;
};

}  // namespace prep
