#include "formats/labeler.h"

#include <algorithm>
#include <charconv>

#include "formats/part_names.h"
#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::uint64_t kLongestLabel = 4096;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

Labeler::Labeler(From from, std::optional<Labels> labels, std::optional<ClassNames> classes)
    : from_(from), labels_(std::move(labels)), classes_(std::move(classes)) {
  if (classes_) class_names_ = classes_->names();
}

std::optional<std::string> Labeler::name_of(Sample& sample, bool* is_part) {
  const auto part = std::find_if(sample.parts.begin(), sample.parts.end(),
                                 [](const Part& p) { return p.name == kLabelPart; });
  const bool has_part = part != sample.parts.end();
  if (from_ != From::parts && has_part) {
    fail(Code::duplicate, "{}: the sample has a part '{}' already, besides the label to be added",
         printable(sample.key), kLabelPart);
  }
  if (from_ == From::directories) {
    const std::size_t slash = sample.key.find('/');
    if (slash == std::string::npos) {
      fail(Code::not_found, "{}: is in no directory that would be its class",
           printable(sample.key));
    }
    return sample.key.substr(0, slash);
  }
  if (from_ == From::table) {
    const auto label = labels_->find(sample);
    if (!label) fail(Code::not_found, "{}: the table has no label for it", printable(sample.key));
    return std::string(trim(*label));
  }
  if (!has_part || (!part->content->is_literal() && !read_parts_)) return std::nullopt;
  const Bytes bytes = part->content->read(0, kLongestLabel);
  *is_part = !part->content->is_literal();
  if (!*is_part) sample.parts.erase(part);
  return std::string(trim(bytes.text()));
}

std::uint32_t Labeler::look_up(Sample& sample) {
  bool is_part = false;
  const std::optional<std::string> name = name_of(sample, &is_part);
  return name ? number_of(*name, is_part, sample) : 0;
}

std::uint32_t Labeler::number_of(std::string_view name, bool is_part, const Sample& sample) {
  // A label that stays where it is, and one that was taken away, are two.
  std::string id(1, is_part ? '=' : '+');
  id += name;
  if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second;
  Class one{std::string(name), 0, is_part};
  if (classes_ && !is_part) {
    std::optional<std::int64_t> index = classes_->index(name);
    if (!index) {
      index = whole_number(name);
      if (index && (*index < 0 || *index >= static_cast<std::int64_t>(classes_->size()))) {
        index.reset();
      }
    }
    if (!index) {
      fail(Code::not_found, "{}: its class '{}' is not in the list of classes",
           printable(sample.key), printable(name));
    }
    one.index = *index;
  } else if (finished_ && !is_part) {
    const std::optional<std::int64_t> index = whole_number(name);
    if (!index) {
      fail(Code::usage,
           "{}: its class '{}' has no number: where the input comes by only once, give the list of "
           "classes with --classes",
           printable(sample.key), printable(name));
    }
    one.index = *index;
  }
  found_.push_back(std::move(one));
  const auto number = static_cast<std::uint32_t>(found_.size());
  numbers_.emplace(id, number);
  return number;
}

void Labeler::finish() {
  finished_ = true;
  if (classes_) return;
  std::vector<Class*> classes;
  bool all_numbers = from_ != From::directories;
  for (Class& one : found_) {
    if (one.is_part) continue;
    const auto number = whole_number(one.name);
    all_numbers = all_numbers && number;
    one.index = number.value_or(0);
    classes.push_back(&one);
  }
  if (all_numbers) return;
  std::sort(classes.begin(), classes.end(),
            [](const Class* a, const Class* b) { return a->name < b->name; });
  for (Class* one : classes) {
    if (one->name.empty() || one->name.find_first_of("\r\n") != std::string::npos) {
      fail(Code::usage, "'{}' cannot be a class's name", printable(one->name));
    }
    one->index = static_cast<std::int64_t>(class_names_.size());
    class_names_.push_back(one->name);
  }
}

std::string Labeler::text(std::uint32_t label) const {
  if (label == 0 || found_[label - 1].is_part) return "";
  return std::to_string(found_[label - 1].index);
}

void Labeler::add_to(Sample& sample, std::uint32_t label) const {
  std::string index = text(label);
  if (index.empty()) return;
  std::string origin = part_path(sample.key, kLabelPart);
  sample.parts.push_back({std::string(kLabelPart),
                          std::make_shared<LiteralContent>(std::move(index), std::move(origin))});
}

}  // namespace prep
