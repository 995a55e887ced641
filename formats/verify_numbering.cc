#include "formats/verify_numbering.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "lib/core/file_io.h"
#include "lib/core/text.h"

namespace prep {
namespace {

// Gaps that are listed one by one; a name can claim that there are a billion shards.
constexpr std::size_t kShown = 20;
constexpr std::size_t kMaxDigits = 9;

// A path with its number taken out.
struct Series {
  std::string before, after;
  std::size_t width = 0;    // 0 if the number is not padded
  std::uint64_t count = 0;  // of "-of-COUNT"; 0 without it

  std::string path(std::uint64_t number) const {
    return fmt::format("{}{:0{}}{}", before, number, width, after);
  }
  auto fields() const { return std::tie(before, after, width, count); }
  bool operator<(const Series& other) const { return fields() < other.fields(); }
};

struct Numbered {
  Series series;
  std::uint64_t number = 0;
};

// The digits of text that end before `end`; empty if there are none or too many.
std::string_view digits_before(std::string_view text, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  return end - begin > kMaxDigits ? std::string_view() : text.substr(begin, end - begin);
}

std::uint64_t value_of(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// "x-00003-of-00010": the first number counts, the second is how many there are.
std::optional<Numbered> parse_counted(std::string_view path, std::size_t base) {
  constexpr std::string_view kOf = "-of-";
  const std::size_t of = path.rfind(kOf);
  if (of == std::string_view::npos || of < base) return std::nullopt;
  const std::string_view number = digits_before(path, of);
  std::size_t end = of + kOf.size();
  while (end < path.size() && is_digit(path[end])) ++end;
  const std::string_view count = digits_before(path, end);
  if (number.empty() || count.empty() || value_of(count) == 0) return std::nullopt;
  const std::size_t begin = of - number.size();
  return Numbered{{std::string(path.substr(0, begin)), std::string(path.substr(of)), number.size(),
                   value_of(count)},
                  value_of(number)};
}

// The last number of the base name: "train-v2-000012.tar".
std::optional<Numbered> parse_plain(std::string_view path, std::size_t base) {
  std::size_t end = path.size();
  while (end > base && !is_digit(path[end - 1])) --end;
  const std::string_view digits = digits_before(path, end);
  if (digits.empty() || end == base) return std::nullopt;
  const bool padded = digits.size() > 1 && digits[0] == '0';
  const std::size_t begin = end - digits.size();
  return Numbered{{std::string(path.substr(0, begin)), std::string(path.substr(end)),
                   padded ? digits.size() : 0, 0},
                  value_of(digits)};
}

std::optional<Numbered> parse(std::string_view path) {
  const std::size_t base = path.size() - base_name(path).size();
  if (auto counted = parse_counted(path, base)) return counted;
  return parse_plain(path, base);
}

using Numbers = std::set<std::uint64_t>;

// Those in [begin, end) that are neither in `numbers` nor there, at most `limit` of them.
std::vector<std::uint64_t> missing_in(const Series& series, const Numbers& numbers,
                                      std::uint64_t begin, std::uint64_t end, std::size_t limit) {
  std::vector<std::uint64_t> missing;
  for (std::uint64_t i = begin; i < end && missing.size() < limit; ++i) {
    if (numbers.count(i) == 0 && !is_there(series.path(i))) missing.push_back(i);
  }
  return missing;
}

void add(std::vector<Finding>& findings, Finding::Severity severity, std::string file,
         std::string message) {
  findings.push_back(
      {severity, Code::not_found, std::move(file), std::nullopt, "", "", std::move(message)});
}

void check_counted(const Series& series, const Numbers& numbers, std::vector<Finding>& findings) {
  const auto missing = missing_in(series, numbers, 0, series.count, kShown + 1);
  for (std::size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    add(findings, Finding::Severity::error, series.path(missing[i]),
        fmt::format("is missing; by their names there are {} shards", series.count));
  }
  if (missing.size() > kShown) {
    add(findings, Finding::Severity::error, series.path(missing[kShown]),
        fmt::format("is missing, too, and perhaps more: {} of {} shards are there", numbers.size(),
                    series.count));
  }
  if (*numbers.rbegin() >= series.count) {
    add(findings, Finding::Severity::error, series.path(*numbers.rbegin()),
        fmt::format("its number is too high for one of {} shards", series.count));
  }
}

void check_gaps(const Series& series, const Numbers& numbers, std::vector<Finding>& findings) {
  if (numbers.size() < 2) return;
  // A series may begin with 1.
  const std::uint64_t begin = *numbers.begin() <= 1 ? *numbers.begin() : 0;
  const std::uint64_t end = *numbers.rbegin() + 1;
  // Years, say, are no series.
  if (end - begin - numbers.size() >= numbers.size()) return;
  const auto missing = missing_in(series, numbers, begin, end, SIZE_MAX);
  for (std::size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    add(findings, Finding::Severity::warning, series.path(missing[i]),
        "is missing in the numbering");
  }
  if (missing.size() > kShown) {
    add(findings, Finding::Severity::warning, series.path(missing.back()),
        fmt::format("and {} more are missing in the numbering", missing.size() - kShown - 1));
  }
}

}  // namespace

namespace {

// 10 has no zeros before it, and belongs to 01, 02, … all the same.
void join_padded(std::map<Series, Numbers>& all) {
  for (auto& entry : all) {
    if (entry.first.width != 0) continue;
    std::erase_if(entry.second, [&](std::uint64_t number) {
      Series padded = entry.first;
      padded.width = fmt::formatted_size("{}", number);
      const auto found = all.find(padded);
      if (found == all.end()) return false;
      found->second.insert(number);
      return true;
    });
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace

std::vector<Finding> find_missing_shards(const std::vector<std::string>& paths) {
  std::map<Series, Numbers> all;
  for (const std::string& path : paths) {
    if (const auto numbered = parse(path)) all[numbered->series].insert(numbered->number);
  }
  join_padded(all);
  std::vector<Finding> findings;
  for (const auto& [series, numbers] : all) {
    if (series.count > 0) {
      check_counted(series, numbers, findings);
    } else {
      check_gaps(series, numbers, findings);
    }
  }
  return findings;
}

}  // namespace prep
