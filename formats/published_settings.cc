#include "formats/published_settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/core/text.h"

namespace prep {
namespace {

using Json = nlohmann::ordered_json;

// Whether an option was not given and so says nothing.
bool is_unset(std::string_view option, std::string_view value) {
  constexpr std::array<std::string_view, 6> kNothing{"", "[]", "{}", "false", "auto", "no"};
  if (std::find(kNothing.begin(), kNothing.end(), value) != kNothing.end()) return true;
  return value == "0" && option != "shuffle";  // where 0 is a seed like any other
}

bool is_list(std::string_view option) {
  constexpr std::array<std::string_view, 5> kLists{"index", "parts", "path-columns", "rename",
                                                   "types"};
  return std::find(kLists.begin(), kLists.end(), option) != kLists.end();
}

}  // namespace

Json published_settings(const std::vector<Spec>& inputs, const Spec& output,
                        const std::string& settings) {
  Json published;
  for (const Spec& input : inputs) published["inputs"].push_back(json_text(input.text));
  published["output"] = json_text(output.text);
  const Json all = Json::parse(settings);
  for (const auto& [name, values] : all.items()) {
    if (!name.starts_with("--") || !values.is_array() || values.empty()) continue;
    const std::string option = name.substr(2);
    const std::string first = values[0].is_string() ? values[0].get<std::string>() : "";
    if (is_unset(option, first)) continue;
    published[option] = is_list(option) || values.size() > 1 ? values : values[0];
  }
  return published;
}

}  // namespace prep
