#include "formats/verify_plan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "formats/dataset_index.h"
#include "formats/list.h"
#include "formats/shard_set.h"
#include "formats/tree.h"
#include "formats/verify_numbering.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {


bool is_directory(const std::string& path) {
  const auto status = find_file(path);
  return status && S_ISDIR(status->st_mode);
}

bool is_partial_manifest(std::string_view name) {
  return name.starts_with("manifest.") && name.ends_with(".json") &&
         name.find("-of-") != std::string_view::npos;
}

// What lies in a directory, by relative path, in the order of shards.
struct Listing {
  std::vector<std::string> shards;
  std::vector<std::string> partial_manifests, unfinished_runs;  // of the directory itself
};

Listing list(const std::string& directory) {
  Listing listing;
  for_each_file(directory, [&](int, const std::string& path, const char* base) {
    const std::string_view name = base;
    const bool on_top = path == name;
    const bool hidden = path.starts_with('.') || path.find("/.") != std::string::npos;
    if (on_top && name.starts_with(".prep-") && name.ends_with(".partial")) {
      listing.unfinished_runs.push_back(path);
    } else if (on_top && is_partial_manifest(name)) {
      listing.partial_manifests.push_back(path);
    } else if (!hidden && (has_tar_name(name) || has_tfrecord_name(name))) {
      listing.shards.push_back(path);
    }
  });
  for (auto* paths : {&listing.shards, &listing.partial_manifests, &listing.unfinished_runs}) {
    std::sort(paths->begin(), paths->end(), shard_name_less);
  }
  return listing;
}

class Planner {
 public:
  VerifyPlan run(const std::vector<Spec>& words) {
    for (const Spec& word : words) add_word(word);
    add_named_shards();
    return std::move(plan_);
  }

 private:
  // --- words ----------------------------------------------------------------------------------

  void add_word(const Spec& word) {
    switch (word.kind) {
      case SpecKind::automatic:
        for (const std::string& path : expand(word.path)) add_path(path);
        return;
      case SpecKind::directory:
        return add_directory(word.path);
      case SpecKind::tar:
        for (const std::string& path : expand(word.path)) name(path, ShardContainer::tar);
        return;
      case SpecKind::tfrecord:
        for (const std::string& path : expand(word.path)) name(path, ShardContainer::tfrecord);
        return;
      case SpecKind::standard_stream:
        return name(word.path, ShardContainer::tar);
      case SpecKind::list:
        return add_list(word.path, ListSource::Separator::newline);
      case SpecKind::list0:
        return add_list(word.path, ListSource::Separator::nul);
      case SpecKind::file:
        return name(word.path, std::nullopt);
      default:
        fail(Code::usage, "'{}': give shards, a directory of them, or a manifest",
             printable(word.text));
    }
  }

  static std::vector<std::string> expand(const std::string& path) {
    return is_there(path) ? std::vector<std::string>{path} : expand_braces(path);
  }

  void add_path(const std::string& path) {
    if (is_directory(path)) return add_directory(path);
    if (path.ends_with(".json")) {
      VerifySet& set = add_set(parent_directory(path));
      return add_by_manifest(set, path, Listing());
    }
    name(path, std::nullopt);
  }

  void add_list(const std::string& path, ListSource::Separator separator) {
    ListSource source = path == "-" ? ListSource(Fd(dup(STDIN_FILENO)), "standard input", separator)
                                    : ListSource(path, separator);
    Sample sample;
    while (source.next(sample)) {
      if (sample.fault) throw *sample.fault;
      for (const Part& part : sample.parts) add_path(part.content->origin());
    }
  }

  // Shards that were named one by one keep their order, and come behind the directories.
  void name(const std::string& path, std::optional<ShardContainer> container) {
    if (named_paths_.insert(path).second) named_.push_back({path, container});
  }

  void add_named_shards() {
    if (named_.empty()) return;
    VerifySet& set = add_set("");
    std::vector<std::string> paths;
    for (const auto& [path, container] : named_) {
      add_shard(set, path, std::string(base_name(path)), container);
      if (path != "-") paths.push_back(path);
    }
    for (Finding& finding : find_missing_shards(paths)) add_finding(set, std::move(finding));
  }

  // --- directories ----------------------------------------------------------------------------

  VerifySet& add_set(std::string directory) {
    plan_.sets.push_back(std::make_unique<VerifySet>());
    plan_.sets.back()->directory = std::move(directory);
    return *plan_.sets.back();
  }

  void add_directory(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (!is_directory(path)) fail(Code::usage, "{}: is not a directory", printable(path));
    VerifySet& set = add_set(path);
    const Listing listing = list(path);
    report_unfinished(set, listing);
    const std::string manifest = set.path(kManifestName);
    if (is_there(manifest)) return add_by_manifest(set, manifest, listing);
    report_unmerged(set, listing);
    find_dataset_indexes(set);
    std::vector<std::string> paths;
    for (const std::string& shard : listing.shards) {
      paths.push_back(set.path(shard));
      add_shard(set, paths.back(), shard, std::nullopt);
    }
    for (Finding& finding : find_missing_shards(paths)) add_finding(set, std::move(finding));
    add_dataset_indexes(set);
  }

  void report_unfinished(const VerifySet& set, const Listing& listing) {
    for (const std::string& run : listing.unfinished_runs) {
      add_error(set, set.path(run), Code::truncated,
                "the directory is not complete: a run has not finished; run it again");
    }
  }

  void report_unmerged(const VerifySet& set, const Listing& listing) {
    for (const std::string& part : listing.partial_manifests) {
      add_error(set, set.path(part), Code::truncated,
                "is the manifest of one task of several; prep-pack --merge makes one of all");
    }
  }

  void add_by_manifest(VerifySet& set, const std::string& path, const Listing& listing) {
    set.manifest_path = path;
    try {
      set.manifest = Manifest::parse(read_text_file(path, Manifest::kLargest), path);
      if (!set.manifest->schema.is_null()) {
        set.schema = ExampleSchema::parse(set.manifest->schema, path);
      }
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      std::string_view what = error.what();
      if (what.starts_with(printable(path) + ": ")) what.remove_prefix(printable(path).size() + 2);
      add_error(set, path, error.code(), std::string(what));
      return;
    }
    if (set.manifest->task.count > 1) {
      add_error(set, path, Code::truncated,
                "is the manifest of one task of several; prep-pack --merge makes one of all");
    }
    find_dataset_indexes(set);
    add_shards_of_manifest(set);
    report_unknown(set, listing);
    for (const ExtraFile& file : set.manifest->files) {
      VerifyItem& item = add(VerifyItem::Kind::extra_file, set, set.path(file.name));
      item.file = &file;
    }
    add_dataset_indexes(set);
    add(VerifyItem::Kind::manifest, set, path);
  }

  void add_shards_of_manifest(const VerifySet& set) {
    const Manifest& manifest = *set.manifest;
    std::map<std::string, std::set<std::string>> repeated;
    for (const RepeatedSample& sample : manifest.repeated) {
      repeated[sample.shard].insert(sample.key);
    }
    for (const ShardRecord& record : manifest.shards) {
      const std::string path = set.path(record.name);
      if (!is_there(path)) {
        add_error(set, path, Code::not_found, "is missing; the manifest names it");
        continue;
      }
      VerifyItem& item =
          add_shard(set, path, record.name,
                    manifest.container == "tar" ? ShardContainer::tar : ShardContainer::tfrecord);
      item.shard.expected = &record;
      item.shard.schema = set.schema ? &*set.schema : nullptr;
      item.shard.repeated = std::move(repeated[record.name]);
    }
  }

  void report_unknown(const VerifySet& set, const Listing& listing) {
    std::set<std::string, std::less<>> known;
    for (const ShardRecord& record : set.manifest->shards) known.insert(record.name);
    for (const std::string& shard : listing.shards) {
      if (known.count(json_text(shard)) == 0) {
        add_error(set, set.path(shard), Code::duplicate,
                  "is a shard that the manifest does not name; loaders that list the directory "
                  "read it");
      }
    }
  }

  // --- items ----------------------------------------------------------------------------------

  VerifyItem& add(VerifyItem::Kind kind, const VerifySet& set, const std::string& path) {
    plan_.items.push_back({kind, path, "", &set, {}, nullptr, {}});
    return plan_.items.back();
  }

  VerifyItem& add_shard(const VerifySet& set, const std::string& path, const std::string& name,
                        std::optional<ShardContainer> container) {
    VerifyItem& item = add(VerifyItem::Kind::shard, set, path);
    item.name = name;
    item.shard.path = path;
    item.shard.container = container;
    item.shard.wants_md5 = set.has_wids;
    return item;
  }

  void add_finding(const VerifySet& set, Finding finding) {
    VerifyItem& item = add(VerifyItem::Kind::finding, set, finding.file);
    item.finding = std::move(finding);
  }

  void add_error(const VerifySet& set, const std::string& path, Code code, std::string message) {
    add_finding(set,
                {Finding::Severity::error, code, path, std::nullopt, "", "", std::move(message)});
  }

  static void find_dataset_indexes(VerifySet& set) {
    set.has_wids = is_there(set.path(kWidsIndexName));
    set.has_energon = is_there(set.path(kEnergonInfoName));
  }

  void add_dataset_indexes(const VerifySet& set) {
    if (set.has_wids) add(VerifyItem::Kind::wids_index, set, set.path(kWidsIndexName));
    if (set.has_energon) add(VerifyItem::Kind::energon_info, set, set.path(kEnergonInfoName));
  }

  VerifyPlan plan_;
  std::vector<std::pair<std::string, std::optional<ShardContainer>>> named_;
  std::set<std::string> named_paths_;
};

}  // namespace

std::string VerifySet::path(std::string_view name) const { return join_path(directory, name); }

VerifyPlan plan_verification(const std::vector<Spec>& words) { return Planner().run(words); }

}  // namespace prep
