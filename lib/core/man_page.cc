#include "lib/core/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace prep {
namespace {

// Text that troff takes as it is: its own characters, those that it would make typographic, and a
// dot or quote that would make a line a request.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '.':
        out += out.empty() ? "\\&." : ".";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

bool is_indented(std::string_view line) { return line.substr(0, 1) == " "; }

// Lines as they stand.
void append_literal(std::string& out, const std::vector<std::string_view>& lines) {
  out += ".PP\n.RS 4\n.nf\n";
  for (std::string_view line : lines) {
    line.remove_prefix(std::min<std::size_t>(2, line.find_first_not_of(' ')));
    out += escaped(line) + "\n";
  }
  out += ".fi\n.RE\n";
}

void append_tagged(std::string& out, const std::string& tag, const std::string& text) {
  out += ".TP\n" + tag + "\n" + text + "\n";
}

// "  sync URL DIR   make DIR a mirror": a term, a gap, and what it means. Without such a gap, the
// lines are literal.
void append_list(std::string& out, const std::vector<std::string_view>& lines) {
  const auto gap = [](std::string_view line) {
    return line.find("  ", line.find_first_not_of(' '));
  };
  for (const std::string_view line : lines) {
    if (gap(line) == std::string_view::npos) return append_literal(out, lines);
  }
  for (const std::string_view line : lines) {
    append_tagged(out, bold(trimmed(line.substr(0, gap(line)))),
                  escaped(trimmed(line.substr(gap(line)))));
  }
}

using ListWriter = void (*)(std::string& out, const std::vector<std::string_view>& lines);

// A paragraph of the description: filled text, and lists where lines are indented.
void append_paragraph(std::string& out, const std::vector<std::string_view>& lines,
                      ListWriter append_lines) {
  for (std::size_t i = 0; i < lines.size();) {
    std::vector<std::string_view> list;
    while (i < lines.size() && is_indented(lines[i])) list.push_back(lines[i++]);
    if (!list.empty()) append_lines(out, list);
    if (i < lines.size()) out += ".PP\n";
    while (i < lines.size() && !is_indented(lines[i])) out += escaped(lines[i++]) + "\n";
  }
}

struct ExitStatus {
  std::string number, meaning;
};

// "0 done, 1 the run failed, for some reason" has two. Empty for any other text.
std::vector<ExitStatus> exit_statuses_of(std::string_view text) {
  std::vector<ExitStatus> all;
  while (!text.empty()) {
    const auto comma = text.find(", ");
    const std::string_view piece = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 2);
    const auto digits = piece.find_first_not_of("0123456789");
    if (digits != std::string_view::npos && digits > 0 && piece[digits] == ' ') {
      all.push_back({std::string(piece.substr(0, digits)), std::string(piece.substr(digits + 1))});
    } else if (all.empty()) {
      return {};
    } else {
      all.back().meaning += ", " + std::string(piece);
    }
  }
  return all;
}

void append_exit_status(std::string& out, std::string text) {
  const std::vector<ExitStatus> all = exit_statuses_of(text);
  if (all.empty()) {
    out += escaped(text) + "\n";
    return;
  }
  for (const auto& [number, meaning] : all) {
    const bool is_end = &number == &all.back().number && meaning.ends_with('.');
    append_tagged(out, bold(number), escaped(meaning.substr(0, meaning.size() - is_end)));
  }
  append_tagged(out, bold("128+n"), "ended by signal n, after cleaning up");
}

// The parts of the description, each with its own section.
struct Sections {
  std::string description, examples, exit_status;
};

void add_paragraph(Sections& sections, std::vector<std::string_view> lines) {
  constexpr std::string_view kExitStatus = "Exit status:";
  if (lines.front() == "Examples:") {
    lines.erase(lines.begin());
    append_paragraph(sections.examples, lines, append_literal);
  } else if (lines.front().starts_with(kExitStatus)) {
    std::string text;
    for (const std::string_view line : lines) text += " " + trimmed(line);
    append_exit_status(sections.exit_status, trimmed(text.substr(kExitStatus.size() + 1)));
  } else {
    append_paragraph(sections.description, lines, append_list);
  }
}

Sections sections_of(const std::string& description) {
  Sections sections;
  std::vector<std::string_view> paragraph;
  for (const std::string_view line : lines_of(description)) {
    if (!line.empty()) {
      paragraph.push_back(line);
    } else if (!paragraph.empty()) {
      add_paragraph(sections, std::move(paragraph));
      paragraph.clear();
    }
  }
  if (!paragraph.empty()) add_paragraph(sections, std::move(paragraph));
  return sections;
}

std::string tag_of(const OptionHelp& option) {
  if (option.positional) return italic(option.names.front()) + escaped(option.value);
  std::string tag;
  for (const std::string& name : option.names) tag += (tag.empty() ? "" : ", ") + bold(name);
  return option.value.empty() ? tag : tag + " " + italic(option.value);
}

std::string capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void append_options(std::string& out, const ToolHelp& help) {
  for (const OptionGroup& group : help.groups) {
    if (group.options.empty()) continue;
    const bool is_section = group.title == "Arguments" || group.title == "Options";
    out += is_section ? ".SH " + capitals(group.title) : ".SS " + escaped(group.title);
    out += "\n";
    for (const OptionHelp& option : group.options) {
      append_tagged(out, tag_of(option), escaped(option.text));
    }
  }
}

// As apropos shows it: "prep-ls - list what is in any input".
std::string name_line(const ToolHelp& help) {
  std::string summary = help.summary;
  summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  if (summary.ends_with('.')) summary.pop_back();
  return escaped(help.name) + " \\- " + escaped(summary);
}

std::string synopsis(const ToolHelp& help) {
  const std::string usage = usage_line(help);
  return bold(help.name) + escaped(usage.substr(help.name.size()));
}

}  // namespace

std::string man_page(const ToolHelp& help) {
  const Sections sections = sections_of(help.description);
  std::string out = fmt::format(".TH {} 1 \"\" \"preptools {}\" \"User Commands\"\n.nh\n.ad l\n",
                                escaped(capitals(help.name)), help.version);
  out += ".SH NAME\n" + name_line(help) + "\n";
  out += ".SH SYNOPSIS\n" + synopsis(help) + "\n";
  out += ".SH DESCRIPTION\n" + escaped(help.summary) + "\n" + sections.description;
  append_options(out, help);
  if (!sections.examples.empty()) out += ".SH EXAMPLES\n" + sections.examples;
  if (!sections.exit_status.empty()) out += ".SH EXIT STATUS\n" + sections.exit_status;
  return out;
}

}  // namespace prep
