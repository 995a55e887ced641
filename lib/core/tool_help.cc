#include "lib/core/tool_help.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace prep {
namespace {

constexpr const char* kArguments = "Arguments";
constexpr std::size_t kWidth = 80, kTextColumn = 28;

bool has_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// CLI11 keeps the words of a choice only in the name of the type: "TEXT:{auto,always,never}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find(":{"), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return CLI::detail::split(type.substr(begin + 2, end - begin - 2), ',');
}

std::string text_of(const CLI::Option& option) {
  const std::string value = option.get_default_str();
  std::string text = option.get_description();
  const bool shown = has_value(option) && !value.empty() && value != "[]" && value != "{}" &&
                     value != "\"\"" && text.find("(default") == std::string::npos;
  if (shown) text += " (default " + value + ")";
  return text;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true, false)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

OptionHelp describe_option(const CLI::Option& option) {
  OptionHelp help;
  help.names = names_of(option);
  help.positional = option.get_positional();
  help.repeated = option.get_expected_max() > 1;
  if (has_value(option)) {
    help.choices = choices_of(option);
    help.value = option.get_option_text();
    if (help.value.empty() && !help.positional) help.value = "VALUE";
  }
  help.text = text_of(option);
  return help;
}

// Bytes that go on with a UTF-8 character take no column.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Appends words from `column` on, in lines that begin there.
void append_filled(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t columns = columns_of(word);
    if (at > column && at + 1 + columns > kWidth) {
      out += "\n" + std::string(column, ' ');
      at = column;
    } else if (at > column) {
      out += ' ';
      ++at;
    }
    out += word;
    at += columns;
  }
  out += '\n';
}

void append_option(std::string& out, const OptionHelp& option) {
  std::string names = "  ";
  for (const std::string& name : option.names) names += (names.size() > 2 ? ", " : "") + name;
  if (option.positional) {
    names += option.value;
  } else if (!option.value.empty()) {
    names += " " + option.value;
  }
  const std::size_t columns = columns_of(names);
  out += names;
  if (columns + 2 > kTextColumn) {
    out += "\n" + std::string(kTextColumn, ' ');
  } else {
    out += std::string(kTextColumn - columns, ' ');
  }
  append_filled(out, option.text, kTextColumn);
}

}  // namespace

ToolHelp describe_tool(const CLI::App& app, const std::string& version) {
  ToolHelp help{app.get_name(), version, app.get_description(), {}, app.get_footer()};
  help.groups.push_back({kArguments, {}});
  for (const CLI::Option* option : app.get_options()) {
    const std::string title = option->get_positional() ? kArguments : option->get_group();
    if (option->get_group().empty()) continue;
    auto group = std::find_if(help.groups.begin(), help.groups.end(),
                              [&](const OptionGroup& one) { return one.title == title; });
    if (group == help.groups.end()) {
      group = help.groups.insert(help.groups.end(), OptionGroup{title, {}});
    }
    group->options.push_back(describe_option(*option));
  }
  return help;
}

std::string usage_line(const ToolHelp& help) {
  std::string line = help.name + " [OPTIONS]";
  for (const OptionGroup& group : help.groups) {
    for (const OptionHelp& option : group.options) {
      if (option.positional) line += " " + option.names.front() + option.value;
    }
  }
  return line;
}

std::string help_text(const ToolHelp& help) {
  std::string out = help.summary + "\nUsage: " + usage_line(help) + "\n";
  for (const OptionGroup& group : help.groups) {
    if (group.options.empty()) continue;
    out += "\n" + group.title + ":\n";
    for (const OptionHelp& option : group.options) append_option(out, option);
  }
  if (!help.description.empty()) out += "\n" + help.description + "\n";
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

}  // namespace prep
