#include "lib/core/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace prep {
namespace {

enum class ValueKind { none, choice, file, directory, other };

ValueKind kind_of(const OptionHelp& option) {
  if (!option.choices.empty()) return ValueKind::choice;
  if (option.value.empty()) return option.positional ? ValueKind::file : ValueKind::none;
  if (option.positional || option.value == "OUTPUT") return ValueKind::file;
  if (option.value.find("FILE") != std::string::npos) return ValueKind::file;
  return option.value == "DIR" ? ValueKind::directory : ValueKind::other;
}

std::vector<OptionHelp> select(const ToolHelp& help, bool positional) {
  std::vector<OptionHelp> selected;
  for (const OptionGroup& group : help.groups) {
    for (const OptionHelp& option : group.options) {
      if (option.positional == positional) selected.push_back(option);
    }
  }
  return selected;
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

// The name of a shell function.
std::string function_name(const ToolHelp& help) {
  std::string name = "_" + help.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// In single quotes, for any POSIX shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The names of all options of a kind.
std::vector<std::string> names_of(const std::vector<OptionHelp>& options, ValueKind kind) {
  std::vector<std::string> names;
  for (const OptionHelp& option : options) {
    if (kind_of(option) != kind) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// The lines of bash's `case` over the option before the cursor.
std::string bash_cases(const ToolHelp& help) {
  const std::vector<OptionHelp> options = select(help, false);
  std::string out;
  const auto add = [&out](const std::vector<std::string>& names, const std::string& action) {
    if (!names.empty()) out += fmt::format("    {}) {} ;;\n", join(names, " | "), action);
  };
  for (const OptionHelp& option : options) {
    if (kind_of(option) != ValueKind::choice) continue;
    add(option.names, "words=" + quoted(join(option.choices, " ")));
  }
  add(names_of(options, ValueKind::file), "return");  // bash itself completes files
  add(names_of(options, ValueKind::directory), "compopt +o default -o dirnames && return");
  add(names_of(options, ValueKind::other), "compopt +o default && return");
  return out;
}

// The words of the first argument, where only a few may be.
std::string bash_first_argument(const ToolHelp& help) {
  const std::vector<OptionHelp> positionals = select(help, true);
  if (positionals.empty() || positionals.front().choices.empty()) return "";
  return fmt::format("        ((COMP_CWORD > 1)) || words={}\n",
                     quoted(join(positionals.front().choices, " ")));
}

std::string zsh_action(const OptionHelp& option) {
  switch (kind_of(option)) {
    case ValueKind::choice: {
      std::vector<std::string> words;
      for (const std::string& word : option.choices) words.push_back(escaped(word, "\\: ()"));
      return "(" + join(words, " ") + ")";
    }
    case ValueKind::file:
      return "_files";
    case ValueKind::directory:
      return "_files -/";
    default:
      return " ";  // only says what is wanted
  }
}

// As _arguments wants an option whose value may be a word of its own, or follow without a space.
std::string zsh_name(const std::string& name, bool has_value) {
  if (!has_value) return name;
  return name + (name.starts_with("--") ? "=" : "+");
}

// An argument of _arguments: "'(-q --quality)'{-q+,--quality=}'[target quality]:N: '".
std::string zsh_spec(const OptionHelp& option) {
  const bool has_value = kind_of(option) != ValueKind::none;
  std::string value;
  if (has_value) {
    const std::string message = option.positional ? option.names.front() : option.value;
    value = ":" + escaped(message, "\\:") + ":" + zsh_action(option);
  }
  if (option.positional) return quoted((option.choices.empty() ? "*" : "1") + value);
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(zsh_name(name, has_value));
  const std::string before = option.repeated ? "*" : "(" + join(option.names, " ") + ")";
  const std::string text = quoted("[" + escaped(option.text, "\\[]:") + "]" + value);
  if (names.size() == 1) return quoted(before) + quoted(names.front()) + text;
  return fmt::format("{}{{{}}}{}", quoted(before), join(names, ","), text);
}

}  // namespace

std::string bash_completion(const ToolHelp& help) {
  std::vector<std::string> names;
  for (const OptionHelp& option : select(help, false)) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  // bash makes "--filter=b" three words.
  constexpr const char* kFile = R"(# bash completion for {0}
{1}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} words=
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $option == '=' ]] && ((COMP_CWORD > 2)); then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  COMPREPLY=()
  case $option in
{2}    *)
      if [[ $cur == -* ]]; then
        words={3}
{4}      fi
      ;;
  esac
  [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -o bashdefault -o default -F {1} {0}
)";
  const std::string first = bash_first_argument(help);
  return fmt::format(kFile, help.name, function_name(help), bash_cases(help),
                     quoted(join(names, " ")), first.empty() ? "" : "      else\n" + first);
}

std::string zsh_completion(const ToolHelp& help) {
  std::string out = fmt::format("#compdef {}\n_arguments -s", help.name);
  for (const bool positional : {false, true}) {
    for (const OptionHelp& option : select(help, positional)) {
      out += " \\\n  " + zsh_spec(option);
    }
  }
  return out + "\n";
}

}  // namespace prep
