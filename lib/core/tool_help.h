// What a tool says of itself, once, for --help, the man page and the shells' completion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace prep {

struct OptionHelp {
  std::vector<std::string> names;    // {"-q", "--quality"}, or {"INPUT"}
  std::string value;                 // how its value is called: "N", "FILE"; empty for a flag
  std::vector<std::string> choices;  // the words that the value may be, where only a few may
  std::string text;                  // with the default
  bool positional = false;
  bool repeated = false;  // may be given several times
};

struct OptionGroup {
  std::string title;
  std::vector<OptionHelp> options;
};

struct ToolHelp {
  std::string name;     // "prep-resize"
  std::string version;  // "0.1.0"
  std::string summary;  // one sentence
  std::vector<OptionGroup> groups;
  // Paragraphs with empty lines between them. Lines below a "Title:" are indented; the paragraphs
  // "Examples:" and "Exit status:" are known by their names.
  std::string description;
};

ToolHelp describe_tool(const CLI::App& app, const std::string& version);

// What --help prints, 80 columns wide where the description is no wider.
std::string help_text(const ToolHelp& help);

// "prep-resize [OPTIONS] INPUT..."
std::string usage_line(const ToolHelp& help);

// "a\nb" is {"a", "b"}; an empty line is an empty element.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace prep
