// Options that several tools for pictures have: choices between a few words, limits.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>

namespace prep {

template <typename T>
using Choices = std::map<std::string, T>;

// Declares option `name` with its words in the help; the word given ends up in `word`.
template <typename T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& word,
                        const Choices<T>& choices, const std::string& help) {
  std::string words;
  for (const auto& [choice, value] : choices) words += (words.empty() ? "" : ", ") + choice;
  return app.add_option(name, word, help + ": " + words)
      ->check(CLI::IsMember(choices))
      ->option_text("WORD");
}

// The limits for hostile input, checked before memory is taken.
inline void add_picture_limits(CLI::App& app, std::int64_t& max_pixels, int& max_scans) {
  app.add_option("--max-pixels", max_pixels, "a picture with more is a bad sample")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->option_text("N");
  app.add_option("--max-scans", max_scans, "a JPEG with more scans is a bad sample")
      ->check(CLI::Range(1, 100000))
      ->option_text("N");
}

}  // namespace prep
