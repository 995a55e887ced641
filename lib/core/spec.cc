#include "lib/core/spec.h"

#include <array>
#include <charconv>
#include <optional>

namespace prep {
namespace {

struct Prefix {
  std::string_view text;
  SpecKind kind;
};
constexpr std::array<Prefix, 9> kPrefixes{{{"dir:", SpecKind::directory},
                                           {"tar:", SpecKind::tar},
                                           {"tfrecord:", SpecKind::tfrecord},
                                           {"list:", SpecKind::list},
                                           {"list0:", SpecKind::list0},
                                           {"csv:", SpecKind::csv},
                                           {"tsv:", SpecKind::tsv},
                                           {"jsonl:", SpecKind::jsonl},
                                           {"file:", SpecKind::file}}};

}  // namespace

Spec parse_spec(std::string_view word) {
  Spec spec{SpecKind::automatic, std::string(word), std::string(word)};
  if (word == "-") {
    spec.kind = SpecKind::standard_stream;
  } else if (word.starts_with('@')) {
    spec.kind = SpecKind::list;
    spec.path = word.substr(1);
  } else {
    for (const Prefix& prefix : kPrefixes) {
      if (!word.starts_with(prefix.text)) continue;
      spec.kind = prefix.kind;
      spec.path = word.substr(prefix.text.size());
    }
  }
  if (spec.path.empty()) fail(Code::usage, "'{}' names no file", printable(word));
  return spec;
}

namespace {

using Strings = std::vector<std::string>;

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::uint64_t parse_number(std::string_view digits, std::string_view text) {
  std::uint64_t value = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc()) fail(Code::usage, "'{}': the range is too large", printable(text));
  return value;
}

// "000000..000099", zero-padded to the wider end where either end has a leading zero, as bash does.
std::optional<Strings> expand_range(std::string_view body, std::string_view text,
                                    std::size_t limit) {
  const std::size_t dots = body.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first = body.substr(0, dots), last = body.substr(dots + 2);
  if (!all_digits(first) || !all_digits(last)) return std::nullopt;
  const std::uint64_t from = parse_number(first, text), to = parse_number(last, text);
  const bool padded = (first.size() > 1 && first[0] == '0') || (last.size() > 1 && last[0] == '0');
  const std::size_t width = padded ? std::max(first.size(), last.size()) : 0;
  if ((from < to ? to - from : from - to) >= limit) {
    fail(Code::usage, "'{}': the range gives more than {} names", printable(text), limit);
  }
  Strings words;
  for (std::uint64_t i = from;; from < to ? ++i : --i) {
    words.push_back(fmt::format("{:0{}}", i, width));
    if (i == to) return words;
  }
}

// "a,b,c"; nested groups in it are left for the caller's recursion.
std::optional<Strings> expand_alternatives(std::string_view body) {
  Strings words(1);
  int depth = 0;
  for (const char c : body) {
    depth += (c == '{') - (c == '}');
    if (c == ',' && depth == 0) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.size() < 2) return std::nullopt;
  return words;
}

std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '{') - (text[i] == '}');
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

struct Group {
  std::size_t open, close;
  Strings words;
};

// The first brace group that expands to something.
std::optional<Group> first_group(std::string_view text, std::size_t limit) {
  for (std::size_t open = text.find('{'); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const std::size_t close = closing_brace(text, open);
    if (close == std::string_view::npos) continue;
    const std::string_view body = text.substr(open + 1, close - open - 1);
    auto words = expand_range(body, text, limit);
    if (!words) words = expand_alternatives(body);
    if (words) return Group{open, close, std::move(*words)};
  }
  return std::nullopt;
}

void expand_into(std::string_view text, std::size_t limit, Strings& out) {
  const auto group = first_group(text, limit);
  if (!group) {
    if (out.size() >= limit) fail(Code::usage, "braces give more than {} names", limit);
    out.emplace_back(text);
    return;
  }
  for (const std::string& word : group->words) {
    std::string one(text.substr(0, group->open));
    one.append(word).append(text.substr(group->close + 1));
    expand_into(one, limit, out);
  }
}

}  // namespace

std::vector<std::string> expand_braces(std::string_view text, std::size_t limit) {
  Strings out;
  expand_into(text, limit, out);
  return out;
}

}  // namespace prep
