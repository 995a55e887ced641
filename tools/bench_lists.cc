#include "tools/bench_lists.h"

#include <algorithm>
#include <charconv>

#include "lib/core/error.h"

namespace prep {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ',') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

template <typename T>
void add_new(std::vector<T>& list, const T& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

}  // namespace

std::vector<int> parse_numbers(std::string_view option, const std::string& text, int most) {
  std::vector<int> numbers;
  for (const std::string& word : split(text)) {
    int number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size() || number < 1 || number > most) {
      fail(Code::usage, "{} {}: give numbers from 1 to {}, with commas between them", option,
           printable(text), most);
    }
    add_new(numbers, number);
  }
  return numbers;
}

std::vector<std::string> parse_words(std::string_view option, const std::string& text,
                                     const std::vector<std::string>& known) {
  std::vector<std::string> words;
  for (const std::string& word : split(text)) {
    if (word == "all") {
      for (const std::string& one : known) add_new(words, one);
    } else if (std::find(known.begin(), known.end(), word) != known.end()) {
      add_new(words, word);
    } else {
      std::string names = "all";
      for (const std::string& one : known) names += ", " + one;
      fail(Code::usage, "{} {}: give some of {}", option, printable(text), names);
    }
  }
  return words;
}

}  // namespace prep
