#include "formats/shard_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "formats/manifest.h"
#include "formats/run_lock.h"
#include "formats/tree.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

// How often a file that no run of ours seems to know is asked for again.
constexpr int kLookAgain = 4;
constexpr std::string_view kLogEnding = ".partial";

// Whether a live run holds this log.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for_each_entry(directory, [&](int, const dirent& entry) {
    names.emplace_back(entry.d_name);
    return true;
  });
  return names;
}

bool is_log(std::string_view name) {
  return name.starts_with(".prep-") && name.ends_with(kLogEnding);
}

// Removes a directory of ours that holds files only.
void remove_files(const std::string& path) {
  for_each_file(path, [](int directory, const std::string&, const char* name) {
    unlinkat(directory, name, 0);
  });
  rmdir(path.c_str());
}

}  // namespace

ShardDirectory::ShardDirectory(const ShardPattern& pattern, std::string tool, Task task,
                               std::vector<Spec> inputs)
    : pattern_(pattern),
      tool_(std::move(tool)),
      task_(task),
      inputs_(std::move(inputs)),
      staging_(staging_of(log_name(tool_, task_))) {}

// Where the run that keeps this log makes its shards.
std::string ShardDirectory::staging_of(std::string_view log) const {
  return join_path(path(), log.substr(0, log.size() - kLogEnding.size())) + ".tmp";
}

void ShardDirectory::remove_staging() const { remove_files(staging_); }

void ShardDirectory::check(const Names& planned, bool force) {
  look();
  refuse_inputs(planned);
  if (force) return;
  refuse_other_sets();
  refuse_foreign(planned);
}

bool ShardDirectory::may_give(const std::string& path) const {
  const bool hidden = path.starts_with('.') || path.find("/.") != std::string::npos;
  return !hidden && pattern_.may_give(path, splits_);
}

void ShardDirectory::look() {
  earlier_ = find_earlier_runs(path());
  EarlierRuns others = find_other_tasks(path(), tool_, task_);
  earlier_.files.merge(others.files);
  earlier_.shards.insert(earlier_.shards.end(), others.shards.begin(), others.shards.end());
}

// What will be removed or replaced must not be what is being read.
void ShardDirectory::refuse_inputs(const Names& planned) const {
  std::set<std::pair<dev_t, ino_t>> inputs;
  struct stat st {};
  for (const Spec& input : inputs_) {
    if (input.path == "-") {
      if (fstat(STDIN_FILENO, &st) == 0) inputs.emplace(st.st_dev, st.st_ino);
      continue;
    }
    const bool is_one = find_file(input.path).has_value();
    for (const std::string& path : is_one ? std::vector{input.path} : expand_braces(input.path)) {
      if (const auto found = find_file(path)) inputs.emplace(found->st_dev, found->st_ino);
    }
  }
  for_each_file(path(), [&](int, const std::string& file, const char*) {
    if (!planned.contains(file) && !earlier_.files.contains(file) && !may_give(file)) return;
    const std::string name = join_path(path(), file);
    const auto found = find_file(name);
    if (!found || !inputs.contains({found->st_dev, found->st_ino})) return;
    fail(Code::usage, "{}: is an input, and would be replaced; write to another directory",
         printable(name));
  });
}

// A directory has one manifest, and so holds one set.
void ShardDirectory::refuse_other_sets() const {
  for (const EarlierRuns::Shard& shard : earlier_.shards) {
    if (pattern_.may_give(shard.name, {shard.split})) continue;
    fail(Code::usage,
         "{}: is a shard of another set in that directory; write to a directory of its own, or "
         "give --force to remove the other set",
         printable(join_path(path(), shard.name)));
  }
}

// Shards that nobody knows would be taken for part of the new set, or be overwritten.
void ShardDirectory::refuse_foreign(const Names& planned) {
  std::vector<std::string> names;
  for_each_file(path(), [&](int, const std::string& file, const char*) {
    if (planned.contains(file) || may_give(file)) names.push_back(file);
  });
  // Other tasks may be at work: what they have written stands in their logs, but those may have
  // been read before that.
  const auto is_foreign = [&](const std::string& name) { return !earlier_.files.contains(name); };
  auto foreign = names.end();
  for (int attempt = 0; attempt < kLookAgain; ++attempt) {
    foreign = std::find_if(names.begin(), names.end(), is_foreign);
    if (foreign == names.end()) return;
    look();
  }
  fail(Code::usage,
       "{}: is there already, and is not known to be a run's of ours; remove it, write to another "
       "directory, or give --force to replace such files",
       printable(join_path(path(), *foreign)));
}

// What earlier runs have left, but for what this one need not make again and what the other tasks
// made or are making, with these settings or others: that is theirs to replace.
ShardDirectory::Names ShardDirectory::replaced_names(const Names& kept) const {
  Names names = find_earlier_runs(path()).files;
  for (const std::string& name : find_other_tasks(path(), tool_, task_).files) names.erase(name);
  for (const std::string& name : kept) names.erase(name);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("manifest."); });
  return names;
}

std::uint64_t ShardDirectory::replaced_bytes(const Names& kept) const {
  std::uint64_t bytes = 0;
  for (const std::string& name : replaced_names(kept)) {
    struct stat st {};
    if (lstat(join_path(path(), name).c_str(), &st) != 0) continue;
    if (S_ISREG(st.st_mode) && st.st_nlink == 1) {
      bytes += std::min(static_cast<std::uint64_t>(st.st_size),
                        static_cast<std::uint64_t>(st.st_blocks) * 512);
    }
  }
  return bytes;
}

// From here on, what was there is not complete any more. Shards that are not of this run would be
// taken for part of the new set.
void ShardDirectory::replace(ShardLog& log, const Names& planned, const Names& kept,
                             bool force) const {
  const Fd lock = lock_directory(path());
  refuse_live_runs();
  Names names = replaced_names(kept);
  log.add_replaced(names);
  // What says that the others are complete goes first.
  for (const std::string& name :
       {std::string(kManifestName), std::string(kSumsName), partial_manifest_name(task_)}) {
    names.erase(name);
    remove(name);
  }
  for (const std::string& name : names) remove(name);
  if (force) remove_forced(planned);
  remove_other_splits();
}

void ShardDirectory::remove(const std::string& name) const {
  const std::string file = join_path(path(), name);
  if (unlink(file.c_str()) != 0 && errno != ENOENT) fail_errno(errno, "remove", file);
}

// Shards of whatever origin.
void ShardDirectory::remove_forced(const Names& planned) const {
  for_each_file(path(), [&](int parent, const std::string& file, const char* name) {
    if (planned.contains(file) || !may_give(file)) return;
    if (unlinkat(parent, name, 0) != 0) fail_errno(errno, "remove", join_path(path(), file));
  });
}

// Whether it is a manifest or a log of one of as many tasks as there are now.
bool ShardDirectory::is_of_same_split(std::string_view name) const {
  const std::string ending = fmt::format("-of-{}.", task_.count);
  return task_.count > 1 && name.find(ending) != std::string_view::npos;
}

// Runs that share the work in another way must not be at work now.
void ShardDirectory::refuse_live_runs() const {
  for (const std::string& name : names_in(path())) {
    if (!is_log(name) || is_of_same_split(name) || staging_of(name) == staging_) {
      continue;
    }
    if (!is_locked(join_path(path(), name))) continue;
    fail(Code::io, "{}: another run is writing into it ({})", printable(path()), printable(name));
  }
}

// What such runs have left when they were ended, or finished, is history.
void ShardDirectory::remove_other_splits() const {
  for (const std::string& name : names_in(path())) {
    if (is_of_same_split(name)) continue;
    const bool is_other_log = is_log(name) && staging_of(name) != staging_;
    const bool is_part = name.starts_with("manifest.") && name.ends_with(".json") &&
                         name.find("-of-") != std::string::npos;
    if (is_other_log) remove_files(staging_of(name));
    if (is_part || is_other_log) remove(name);
  }
}

}  // namespace prep
