#include "formats/part_selection.h"

#include <algorithm>

#include "lib/core/error.h"

namespace prep {
namespace {

void check_part_name(std::string_view name, std::string_view option) {
  if (!name.empty() && name.find('/') == std::string_view::npos && !name.starts_with('.')) return;
  fail(Code::usage,
       "{}: '{}' is not a part's name; a part is what follows the first dot of a file's "
       "name, such as jpg or seg.png",
       option, printable(name));
}

}  // namespace

PartSelection::PartSelection(std::vector<std::string> parts,
                             const std::vector<std::string>& renames)
    : parts_(std::move(parts)) {
  for (const std::string& part : parts_) {
    check_part_name(part, "--parts");
    if (std::count(parts_.begin(), parts_.end(), part) > 1) {
      fail(Code::usage, "--parts: '{}' comes twice", printable(part));
    }
  }
  for (const std::string& rename : renames) {
    const std::size_t equals = rename.find('=');
    if (equals == std::string::npos) {
      fail(Code::usage, "--rename {}: give OLD=NEW, such as jpeg=jpg", printable(rename));
    }
    renames_.emplace_back(rename.substr(0, equals), rename.substr(equals + 1));
    check_part_name(renames_.back().first, "--rename");
    check_part_name(renames_.back().second, "--rename");
  }
}

std::size_t PartSelection::rank(const std::string& name) const {
  return static_cast<std::size_t>(std::find(parts_.begin(), parts_.end(), name) - parts_.begin());
}

void PartSelection::apply(Sample& sample, std::string_view added_later) const {
  for (Part& part : sample.parts) {
    for (const auto& [from, to] : renames_) {
      if (part.name != from) continue;
      part.name = to;
      break;
    }
  }
  if (!parts_.empty()) {
    std::erase_if(sample.parts, [&](const Part& part) { return rank(part.name) == parts_.size(); });
    for (const std::string& name : parts_) {
      const bool there = std::any_of(sample.parts.begin(), sample.parts.end(),
                                     [&](const Part& part) { return part.name == name; });
      if (!there && name != added_later) {
        fail(Code::not_found, "{}: the sample has no part '{}'", printable(sample.key),
             printable(name));
      }
    }
  }
  sort(sample);
  const auto twin =
      std::adjacent_find(sample.parts.begin(), sample.parts.end(),
                         [](const Part& a, const Part& b) { return a.name == b.name; });
  if (twin == sample.parts.end()) return;
  fail(Code::duplicate, "{}: the sample would have two parts '{}'", printable(sample.key),
       printable(twin->name));
}

void PartSelection::sort(Sample& sample) const {
  std::stable_sort(sample.parts.begin(), sample.parts.end(), [&](const Part& a, const Part& b) {
    const std::size_t x = rank(a.name), y = rank(b.name);
    return x != y ? x < y : a.name < b.name;
  });
}

}  // namespace prep
