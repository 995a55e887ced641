#include "formats/shard_pattern.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/sample.h"
#include "lib/core/text.h"

namespace prep {
namespace {

constexpr std::string_view kSplit = "{split}";
constexpr std::size_t kWidest = 18;  // digits that an index can have

// The length of the conversion "%d" or "%0Nd" that `text` starts with, or 0.
std::size_t conversion_length(std::string_view text) {
  std::size_t i = 1;
  while (i < text.size() && is_digit(text[i])) ++i;
  return text.starts_with('%') && i < text.size() && text[i] == 'd' ? i + 1 : 0;
}

std::size_t conversion_width(std::string_view conversion, std::string_view pattern) {
  const std::string_view digits = conversion.substr(1, conversion.size() - 2);
  if (digits.empty()) return 0;
  std::size_t width = 0;
  for (const char c : digits) width = std::min<std::size_t>(width * 10 + (c - '0'), 1000);
  if (digits[0] != '0' || width > kWidest) {
    fail(Code::usage, "{}: '{}' should be %d, or %06d for six digits", printable(pattern),
         conversion);
  }
  return width;
}

bool is_clean(const std::string& path) {
  try {
    return clean_path(path) == path;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool ShardPattern::matches(std::string_view path) {
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.substr(i).starts_with("%%")) {
      ++i;
    } else if (conversion_length(path.substr(i)) > 0) {
      return true;
    }
  }
  return false;
}

ShardPattern::ShardPattern(std::string_view pattern) : text_(pattern) {
  // The directory ends before the step in which the first placeholder stands.
  const std::size_t first = std::min(pattern.find('%'), pattern.find(kSplit));
  const std::size_t slash = pattern.substr(0, first).rfind('/');
  directory_ = slash == std::string_view::npos ? "."
               : slash == 0                    ? "/"
                                               : std::string(pattern.substr(0, slash));
  const std::string_view name =
      slash == std::string_view::npos ? pattern : pattern.substr(slash + 1);
  if (!is_utf8(name)) {
    fail(Code::usage, "{}: shards' names must be UTF-8, for the manifest", printable(pattern));
  }
  parse(name);
  // What a manifest would not take for a name inside of its directory.
  const std::string example = this->name("x", 0, 0);
  if (!is_clean(example)) {
    fail(Code::usage, "{}: would give no proper file names, such as '{}'", printable(pattern),
         printable(example));
  }
}

void ShardPattern::parse(std::string_view pattern) {
  std::size_t numbers = 0;
  const auto add_text = [&](char c) {
    if (pieces_.empty() || pieces_.back().kind != Kind::text)
      pieces_.push_back({Kind::text, "", 0});
    pieces_.back().text += c;
  };
  for (std::size_t i = 0; i < pattern.size();) {
    const std::string_view rest = pattern.substr(i);
    if (const std::size_t length = conversion_length(rest)) {
      const std::size_t width = conversion_width(rest.substr(0, length), text_);
      if (++numbers > 2) fail(Code::usage, "{}: has more than two numbers", printable(text_));
      pieces_.push_back({numbers == 1 ? Kind::index : Kind::total, "", width});
      i += length;
    } else if (rest.starts_with(kSplit)) {
      pieces_.push_back({Kind::split, "", 0});
      has_split_ = true;
      i += kSplit.size();
    } else if (rest[0] == '%' && !rest.starts_with("%%")) {
      fail(Code::usage,
           "{}: '%' stands for a shard's number in %d or %06d; write %% for a percent sign",
           printable(text_));
    } else {
      add_text(rest[0]);
      i += rest.starts_with("%%") ? 2 : 1;
    }
  }
  if (numbers == 0) fail(Code::usage, "{}: has no %d or %06d for the number", printable(text_));
  has_total_ = numbers == 2;
}

std::string ShardPattern::name(std::string_view split, std::uint64_t index,
                               std::uint64_t total) const {
  std::string name;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Kind::text:
        name += piece.text;
        break;
      case Kind::split:
        name += split;
        break;
      case Kind::index:
      case Kind::total:
        name += fmt::format("{:0{}}", piece.kind == Kind::index ? index : total, piece.width);
    }
  }
  return name;
}

// Backtracks over how many digits a number takes; there are at most two.
bool ShardPattern::match(const Piece* piece, const Piece* end, std::string_view name,
                         std::string_view split) {
  if (piece == end) return name.empty();
  const std::string_view fixed = piece->kind == Kind::split ? split : piece->text;
  if (piece->kind == Kind::text || piece->kind == Kind::split) {
    return name.starts_with(fixed) && match(piece + 1, end, name.substr(fixed.size()), split);
  }
  for (std::size_t n = 1; n <= name.size() && n <= 20 && is_digit(name[n - 1]); ++n) {
    if (match(piece + 1, end, name.substr(n), split)) return true;
  }
  return false;
}

bool ShardPattern::may_give(std::string_view name, const std::vector<std::string>& splits) const {
  return std::any_of(splits.begin(), splits.end(), [&](const std::string& split) {
    return match(pieces_.data(), pieces_.data() + pieces_.size(), name, split);
  });
}

}  // namespace prep
