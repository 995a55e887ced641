// Options whose value is one of a few words.
#pragma once

#include <CLI/CLI.hpp>
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

}  // namespace prep
