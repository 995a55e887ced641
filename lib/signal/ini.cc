#include "lib/signal/ini.h"

#include <algorithm>

#include "lib/core/text.h"
#include "lib/signal/field_text.h"

namespace prep::signal {
namespace {

std::string value_key(std::string_view section, std::string_view key) {
  return lower_case(section) + '\n' + lower_case(key);
}

std::string with_commas(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '1') {
      out += ',';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void for_each_ini_line(
    std::string_view text,
    const std::function<void(std::string_view, std::string_view, std::string_view)>& take) {
  std::string section;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    at = end + 1;
    if (line.empty() || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = lower_case(line.substr(1, line.size() - 2));
      continue;
    }
    const std::size_t equals = line.find('=');
    if (section.empty() || section == "comment" || equals == std::string_view::npos) continue;
    take(section, trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
  }
}

Ini::Ini(std::string_view text) {
  for_each_ini_line(to_utf8(text), [&](auto section, auto key, auto value) {
    values_.emplace(value_key(section, key), value);
  });
}

std::optional<std::string_view> Ini::get(std::string_view section, std::string_view key) const {
  const auto found = values_.find(value_key(section, key));
  if (found == values_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> split_fields(std::string_view value) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find(',', at), value.size());
    fields.push_back(with_commas(trim(value.substr(at, end - at))));
    at = end + 1;
  }
  return fields;
}

}  // namespace prep::signal
