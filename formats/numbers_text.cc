#include "formats/numbers_text.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// The text without white space around it, and without the brackets of an array.
std::string_view inner(std::string_view text) {
  skip_blanks(text);
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 == 0
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    if (text.empty()) fail(Code::corrupt, "there is no number in it");
    return text;
  }
  text = text.substr(1, text.size() - 2);
  skip_blanks(text);
  return text;
}

std::string_view next_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r\n,[]"));
}

std::string shortened(std::string_view word) {
  constexpr std::size_t kShown = 40;
  return word.size() <= kShown ? printable(word) : printable(word.substr(0, kShown)) + "…";
}

std::int64_t parse_one(std::string_view word, std::int64_t) {
  std::int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, value);
  if (result.ec == std::errc::result_out_of_range && result.ptr == end) {
    fail(Code::corrupt, "'{}' does not fit in 64 bits", shortened(word));
  }
  if (result.ec != std::errc() || result.ptr != end) {
    fail(Code::corrupt, "'{}' is not an integer", shortened(word));
  }
  return value;
}

float parse_one(std::string_view word, float) {
  float value = 0;
  const char* end = word.data() + word.size();
  auto result = std::from_chars(word.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {
    // What is too small for a float is 0, what is too large is refused.
    double wide = 0;
    result = std::from_chars(word.data(), end, wide);
    if (result.ec != std::errc() || std::fabs(wide) > 1) {
      fail(Code::corrupt, "'{}' does not fit in 32-bit floating point", shortened(word));
    }
    value = static_cast<float>(wide);
  }
  if (result.ec != std::errc() || result.ptr != end) {
    fail(Code::corrupt, "'{}' is not a number", shortened(word));
  }
  return value;
}

template <typename T>
std::vector<T> parse_all(std::string_view text) {
  std::vector<T> values;
  for (std::string_view rest = inner(text); !rest.empty();) {
    const std::string_view word = next_word(rest);
    if (word.empty()) fail(Code::corrupt, "'{}' where a number should be", rest.front());
    values.push_back(parse_one(word, T{}));
    rest.remove_prefix(word.size());
    skip_blanks(rest);
    if (!rest.starts_with(',')) continue;
    rest.remove_prefix(1);
    skip_blanks(rest);
    if (rest.empty()) fail(Code::corrupt, "a comma without a number behind it");
  }
  return values;
}

}  // namespace

std::vector<std::int64_t> parse_int64s(std::string_view text) {
  return parse_all<std::int64_t>(text);
}

std::vector<float> parse_floats(std::string_view text) { return parse_all<float>(text); }

void NumbersText::separate() {
  if (count_++ > 0) text_ += ',';
}

void NumbersText::add(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void NumbersText::add(float value) {
  separate();
  if (std::isnan(value)) {
    text_ += "NaN";
  } else if (std::isinf(value)) {
    text_ += value < 0 ? "-Infinity" : "Infinity";
  } else {
    fmt::format_to(std::back_inserter(text_), "{}", value);
  }
}

std::string NumbersText::finish() && {
  if (count_ == 1) return std::move(text_);
  return "[" + text_ + "]";
}

}  // namespace prep
