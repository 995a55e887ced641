#include "formats/verify_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/shard_set.h"
#include "formats/verify_input.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30;

// An error's words without the path before them.
std::string without_path(std::string_view what, const std::string& path) {
  const std::string prefix = printable(path) + ": ";
  if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
  return std::string(what);
}

// Runs a check of one file; what it throws is a finding, too.
template <typename Check>
std::vector<Finding> checked(const std::string& path, Check check) {
  Findings findings(path);
  try {
    check(findings);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    findings.error(error.code(), {}, without_path(error.what(), path));
  } catch (const nlohmann::json::exception&) {
    findings.error(Code::corrupt, {}, "is not the JSON that it should be");
  }
  return findings.finish();
}

}  // namespace

// --- shards -----------------------------------------------------------------------------------

std::vector<Finding> SetVerifier::add_shard(const VerifyItem& item, const ShardReport& report) {
  Findings findings(item.path);
  shards_.push_back({&item, report.samples, report.bytes, report.md5, report.errors == 0});
  find_repeated_keys(item, report, findings);
  for (const auto& [label, count] : report.labels) labels_[item.set][label] += count;
  if (report.is_intact && !report.common_parts.empty()) {
    const auto [first, is_new] = common_parts_.insert({item.set, {report.common_parts, item.path}});
    if (!is_new && first->second.first != report.common_parts) {
      findings.error(
          Code::corrupt, {},
          fmt::format("its samples have the parts {}, and those of {} have {}", report.common_parts,
                      printable(first->second.second), first->second.first));
    }
  }
  return findings.finish();
}

// A manifest says which keys may come twice, and Energon wants none to. Otherwise it may be meant:
// many number the samples of each shard from 0.
void SetVerifier::find_repeated_keys(const VerifyItem& item, const ShardReport& report,
                                     Findings& findings) {
  struct Twins {
    std::uint64_t count = 0;
    std::size_t first = 0;
  };
  const auto now = static_cast<std::uint32_t>(shards_.size() - 1);
  std::map<std::uint32_t, Twins> twins;  // by the shard that has them, too
  for (std::size_t i = 0; i < report.keys.places.size(); ++i) {
    const auto before = keys_.insert(report.keys.places[i].hash, now);
    if (!before || may_repeat(report.keys.key(i), *before, now)) continue;
    Twins& pair = twins[*before];
    if (pair.count++ == 0) pair.first = i;
  }
  const bool unique =
      item.set->manifest || item.set->has_energon ||
      std::count(report.indexes.begin(), report.indexes.end(), IndexKind::energon) > 0;
  for (const auto& [before, pair] : twins) {
    const Findings::Place place{report.keys.places[pair.first].offset, report.keys.key(pair.first)};
    const std::string other = printable(shards_[before].item->path);
    std::string what = pair.count == 1 ? fmt::format("its key is in {}, too", other)
                                       : fmt::format("its key and {} others are in {}, too",
                                                     pair.count - 1, other);
    if (unique) {
      findings.error(Code::duplicate, place, std::move(what));
    } else {
      findings.warn(Code::duplicate, place, std::move(what));
    }
  }
}

bool SetVerifier::may_repeat(std::string_view key, std::uint32_t before, std::uint32_t now) const {
  const auto allows = [&](std::uint32_t shard) {
    const auto& repeated = shards_[shard].item->shard.repeated;
    return !repeated.empty() && repeated.count(json_text(key)) > 0;
  };
  return allows(now) || allows(before);
}

// By their names in the set, and as JSON has them.
std::map<std::string, const SetVerifier::Shard*> SetVerifier::shards_of(
    const VerifySet* set) const {
  std::map<std::string, const Shard*> shards;
  for (const Shard& shard : shards_) {
    if (shard.item->set == set) shards[json_text(shard.item->name)] = &shard;
  }
  return shards;
}

// --- files over all shards --------------------------------------------------------------------

namespace {

void compare_count(Findings& findings, const std::string& shard, std::string_view what,
                   std::uint64_t says, std::uint64_t is) {
  if (says == is) return;
  findings.error(
      Code::corrupt, {},
      fmt::format("says that {} has {} {}; it has {}", printable(shard), says, what, is));
}

void report_unlisted(Findings& findings, const std::string& shard) {
  findings.error(Code::corrupt, {}, fmt::format("does not name {}", printable(shard)));
}

void report_unknown(Findings& findings, const std::string& shard) {
  findings.error(Code::not_found, {},
                 fmt::format("names {}, which is not there", printable(shard)));
}

}  // namespace

std::vector<Finding> SetVerifier::check_wids_index(const VerifyItem& item) const {
  return checked(item.path, [&](Findings& findings) {
    auto shards = shards_of(item.set);
    const nlohmann::json index = nlohmann::json::parse(read_text_file(item.path, kLargestText));
    for (const nlohmann::json& entry : index.at("shardlist")) {
      const auto url = entry.at("url").get<std::string>();
      auto found = shards.find(url);
      if (found == shards.end()) found = shards.find(std::string(base_name(url)));
      if (found == shards.end()) {
        report_unknown(findings, url);
        continue;
      }
      const Shard& shard = *found->second;
      shards.erase(found);
      if (!shard.is_sound) continue;  // it is not what was indexed
      compare_count(findings, url, "samples", entry.at("nsamples").get<std::uint64_t>(),
                    shard.samples);
      compare_count(findings, url, "bytes", entry.at("filesize").get<std::uint64_t>(), shard.bytes);
      if (!shard.md5.empty() && entry.at("md5sum").get<std::string>() != shard.md5) {
        findings.error(Code::corrupt, {},
                       fmt::format("has another MD5 for {} than {}", printable(url), shard.md5));
      }
    }
    for (const auto& [name, shard] : shards) report_unlisted(findings, name);
  });
}

std::vector<Finding> SetVerifier::check_energon_info(const VerifyItem& item) const {
  return checked(item.path, [&](Findings& findings) {
    auto shards = shards_of(item.set);
    const nlohmann::json info = nlohmann::json::parse(read_text_file(item.path, kLargestText));
    for (const auto& [name, count] : info.at("shard_counts").items()) {
      const auto found = shards.find(name);
      if (found == shards.end()) {
        report_unknown(findings, name);
        continue;
      }
      const Shard& shard = *found->second;
      shards.erase(found);
      if (!shard.is_sound) continue;  // it is not what was indexed
      compare_count(findings, name, "samples", count.get<std::uint64_t>(), shard.samples);
    }
    for (const auto& [name, shard] : shards) report_unlisted(findings, name);
  });
}

std::vector<Finding> SetVerifier::check_manifest(const VerifyItem& item) const {
  std::vector<Finding> found =
      checked(item.path, [&](Findings& findings) { compare_classes(*item.set, findings); });
  const std::string sums = item.set->path(kSumsName);
  if (!find_file(sums)) return found;
  auto of_sums = checked(sums, [&](Findings& findings) {
    const std::string should_be = item.set->manifest->sha256sums();
    // A name that is not UTF-8 has no other form in the manifest than an escaped one.
    if (should_be.find('\\') != std::string::npos) return;
    if (read_text_file(sums, kLargestText) != should_be) {
      findings.error(Code::corrupt, {}, "does not say what the manifest says");
    }
  });
  std::move(of_sums.begin(), of_sums.end(), std::back_inserter(found));
  return found;
}

// Where every shard is sound, and samples have a class.
void SetVerifier::compare_classes(const VerifySet& set, Findings& findings) const {
  const auto labels = labels_.find(&set);
  const auto shards = shards_of(&set);
  const bool sound = std::all_of(shards.begin(), shards.end(),
                                 [](const auto& entry) { return entry.second->is_sound; });
  if (quick_ || !sound || labels == labels_.end()) return;
  if (shards.size() != set.manifest->shards.size() || set.manifest->classes.empty()) return;
  Labels counted = labels->second;
  for (const ClassRecord& record : set.manifest->classes) {
    const std::uint64_t count = std::exchange(counted[record.index], 0);
    if (count == record.samples) continue;
    findings.error(Code::corrupt, {},
                   fmt::format("says that class {} has {} samples; the shards hold {}",
                               record.index, record.samples, count));
  }
  for (const auto& [label, count] : counted) {
    if (count == 0) continue;
    findings.error(
        Code::corrupt, {},
        fmt::format("does not name class {}, of which there are {} samples", label, count));
  }
}

std::vector<Finding> check_extra_file(const VerifyItem& item, bool quick) {
  return checked(item.path, [&](Findings& findings) {
    auto file = std::make_shared<const Fd>(open_file(item.path, O_RDONLY));
    const struct stat st = file_status(file->get(), item.path);
    const auto size = static_cast<std::uint64_t>(st.st_size);
    if (size != item.file->bytes) {
      findings.error(size < item.file->bytes ? Code::truncated : Code::corrupt, {},
                     fmt::format("has {} bytes; the manifest says {}", size, item.file->bytes));
    } else if (!quick) {
      DigestedFile digested(std::make_unique<FdReader>(std::move(file), item.path),
                            {/*sha256=*/true, /*md5=*/false});
      digested.drain();
      if (digested.sha256() != item.file->sha256) {
        findings.error(Code::corrupt, {},
                       "its bytes are not those that were written: the manifest "
                       "has another SHA-256");
      }
    }
  });
}

}  // namespace prep
