#include "formats/verify_samples.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/sample.h"
#include "lib/core/text.h"

namespace prep {
namespace {

// A shard with more different sets of parts has no set of parts at all.
constexpr std::size_t kMaxPartSets = 100;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text.empty() ? "none" : text;
}

// Those of `a` that are not in `b`; both sorted.
std::vector<std::string> difference(const std::vector<std::string>& a,
                                    const std::vector<std::string>& b) {
  std::vector<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

void ShardKeys::add(std::string_view key, KeyPlaces::Hash hash, std::uint64_t offset) {
  text += key;
  places.push_back({hash, offset, text.size()});
}

std::string_view ShardKeys::key(std::size_t index) const {
  const std::uint64_t begin = index == 0 ? 0 : places[index - 1].text_end;
  return std::string_view(text).substr(begin, places[index].text_end - begin);
}

SampleLedger::SampleLedger(Findings& findings, Options options)
    : findings_(findings), options_(std::move(options)) {
  for (const IndexKind kind : options_.indexes) indexes_.push_back(make_shard_index(kind));
}

void SampleLedger::add_part(std::string_view key, PlacedSample::Part part, std::uint64_t begin,
                            std::uint64_t end) {
  if (starts_sample(key)) {
    end_sample();
    current_ = PlacedSample{std::string(key), begin, end, {}};
    beside_loss_ = behind_loss_;
  } else if (behind_loss_) {
    damage_sample("bytes inside of it were lost");
  }
  behind_loss_ = false;
  if (current_->parts.size() == Grouper::kMaxParts) {
    findings_.error(Code::limit, {begin, key, part.name},
                    fmt::format("more than {} parts belong to the sample", Grouper::kMaxParts));
    damage_sample("it has too many parts");
    end_sample();
    return add_part(key, std::move(part), begin, end);
  }
  current_->end = end;
  current_->parts.push_back(std::move(part));
}

void SampleLedger::add_record(PlacedSample record) {
  end_sample();
  current_ = std::move(record);
}

void SampleLedger::damage_sample(std::string why) {
  if (damage_.empty()) damage_ = std::move(why);
}

void SampleLedger::lose(std::uint64_t begin, std::uint64_t end, std::string name, std::string why) {
  leave_out(begin, end, std::move(name), std::move(why));
  if (current_) beside_loss_ = true;
  behind_loss_ = true;
}

void SampleLedger::leave_out(std::uint64_t begin, std::uint64_t end, std::string name,
                             std::string why) {
  if (!options_.keep_samples || begin == end) return;
  lost_.push_back({begin, end, std::move(name), std::move(why)});
}

void SampleLedger::end_sample() {
  if (!current_) return;
  const bool is_known = !current_->key.empty();
  PartNames names = check_parts();
  if (is_known) check_key();
  make_indexes();
  ++samples_;
  if (label_) ++labels_[*label_];
  if (options_.keep_samples) keep_sample(names);
  if (is_known) count_parts(std::move(names));
  current_.reset();
  label_.reset();
  damage_.clear();
  beside_loss_ = before_zeros_ = false;
}

// Returns the names of the parts, and complains where two are the same to loaders.
SampleLedger::PartNames SampleLedger::check_parts() {
  std::vector<std::pair<std::string, const PlacedSample::Part*>> parts;
  for (const PlacedSample::Part& part : current_->parts) {
    parts.push_back({lower_case(part.name), &part});
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(parts.begin(), parts.end(), by_name);
  PartNames names;
  const PlacedSample::Part* before = nullptr;
  for (auto& [name, part] : parts) {
    if (!names.empty() && names.back() == name) {
      report_twins(*before, *part);
    } else {
      names.push_back(std::move(name));
      before = part;
    }
  }
  return names;
}

void SampleLedger::report_twins(const PlacedSample::Part& first, const PlacedSample::Part& twin) {
  const char* what = first.name == twin.name
                         ? "the part comes twice"
                         : "differs from another part only by upper and lower case";
  findings_.error(
      Code::duplicate, {twin.offset, current_->key, twin.name},
      fmt::format("{} (the other one is at offset {}); loaders stop here or take either", what,
                  first.offset));
}

void SampleLedger::check_key() {
  is_repeated_ = false;
  const KeyPlaces::Hash hash = KeyPlaces::hash(current_->key);
  const auto number = static_cast<std::uint32_t>(keys_.places.size());
  const auto before = places_.insert(hash, number);
  if (!before) return keys_.add(current_->key, hash, current_->begin);
  is_repeated_ = options_.repeated.count(json_text(current_->key)) > 0;
  if (is_repeated_) return;
  findings_.error(Code::duplicate, {current_->begin, current_->key, ""},
                  fmt::format("its key was at offset {} already, with other samples in between: "
                              "loaders make two samples of it",
                              keys_.places[*before].offset));
}

void SampleLedger::make_indexes() {
  for (const auto& index : indexes_) {
    try {
      index->add(*current_);
    } catch (const Error& error) {
      findings_.error(error.code(), {current_->begin, current_->key, ""}, error.what());
    }
  }
}

void SampleLedger::keep_sample(const PartNames& names) {
  if (beside_loss_ || before_zeros_) suspects_.push_back({kept_.size(), names, beside_loss_});
  kept_.push_back({*current_, label_, damage_, is_repeated_});
}

void SampleLedger::count_parts(PartNames names) {
  auto found = part_sets_.find(names);
  if (found == part_sets_.end()) {
    if (part_sets_.size() == kMaxPartSets) {
      ++uncounted_sets_;
      return;
    }
    found = part_sets_.emplace(std::move(names), PartSet()).first;
  }
  PartSet& set = found->second;
  ++set.count;
  if (set.first.size() < PartSet::kShown) set.first.push_back({current_->key, current_->begin});
}

// --- comparing samples ------------------------------------------------------------------------

const SampleLedger::PartNames* SampleLedger::most_common() const {
  const auto fewer = [](const auto& a, const auto& b) { return a.second.count < b.second.count; };
  const auto most = std::max_element(part_sets_.begin(), part_sets_.end(), fewer);
  return most == part_sets_.end() ? nullptr : &most->first;
}

void SampleLedger::finish() {
  end_sample();
  const PartNames* common = most_common();
  if (common) {
    common_parts_ = listed(without_optional(*common));
    report_odd_sets(*common);
  }
  judge_neighbours_of_damage(common);
}

SampleLedger::PartNames SampleLedger::without_optional(PartNames names) const {
  std::erase_if(names,
                [&](const std::string& name) { return options_.optional_parts.count(name) > 0; });
  return names;
}

void SampleLedger::report_odd_sets(const PartNames& common) {
  for (const auto& [names, set] : part_sets_) {
    const PartNames missing = without_optional(difference(common, names));
    const PartNames extra = without_optional(difference(names, common));
    if (missing.empty() && extra.empty()) continue;
    std::string what;
    if (!missing.empty()) what = fmt::format("lacks {}, which most samples have", listed(missing));
    if (!extra.empty()) {
      what += fmt::format("{}has {}, which most samples don't have", what.empty() ? "" : ", and ",
                          listed(extra));
    }
    for (const auto& [key, offset] : set.first) {
      findings_.error(Code::corrupt, {offset, key, ""}, what);
    }
    if (set.count > set.first.size()) {
      findings_.error(Code::corrupt, {},
                      fmt::format("{} more samples: {}", set.count - set.first.size(), what));
    }
  }
  if (uncounted_sets_ > 0) {
    findings_.error(Code::corrupt, {},
                    fmt::format("{} samples more, each with parts of its own", uncounted_sets_));
  }
}

// A sample beside lost bytes may have lost parts in them: it is whole if it has what the others
// have.
void SampleLedger::judge_neighbours_of_damage(const PartNames* common) {
  if (!common) return;
  const bool is_common = part_sets_.at(*common).count > 1;
  for (const Suspect& suspect : suspects_) {
    VerifiedSample& sample = kept_[suspect.index];
    const bool complete = without_optional(suspect.names) == without_optional(*common);
    if (!sample.damage.empty() || (complete && (is_common || !suspect.beside_loss))) continue;
    sample.damage = "it lies beside lost bytes, and may have lost parts in them";
  }
}

}  // namespace prep
