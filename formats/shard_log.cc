#include "formats/shard_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "formats/run_lock.h"
#include "formats/tree.h"
#include "lib/core/error.h"
#include "lib/core/sample.h"

namespace prep {
namespace {

constexpr std::uint64_t kLargestLog = std::uint64_t{1} << 32;

std::string read_whole(const Fd& file, const std::string& path) {
  const struct stat st = file_status(file.get(), path);
  const auto size = static_cast<std::uint64_t>(st.st_size);
  if (size > kLargestLog) fail(Code::limit, "{}: absurdly large; remove it", printable(path));
  std::string text(size, '\0');
  text.resize(pread_fully(file.get(), reinterpret_cast<std::uint8_t*>(text.data()), size, 0, path));
  return text;
}

nlohmann::json to_json(const FinishedShard& shard) {
  nlohmann::json files = nlohmann::json::array();
  for (const ExtraFile& file : shard.files) files.push_back({file.name, file.bytes, file.sha256});
  const ShardRecord& record = shard.record;
  return {{"number", shard.number},    {"name", record.name},        {"split", record.split},
          {"samples", record.samples}, {"bytes", record.bytes},      {"sha256", record.sha256},
          {"md5", record.md5},         {"mtime_ns", shard.mtime_ns}, {"files", files},
          {"labels", shard.labels}};
}

// A name that leaves the directory is not ours: files of these names are removed and replaced.
std::string checked_name(const nlohmann::json& json) {
  const std::string name = json;
  if (clean_path(name) != name) fail(Code::corrupt, "{}: not a shard's name", printable(name));
  return name;
}

FinishedShard from_json(const nlohmann::json& json) {
  FinishedShard shard;
  shard.number = json.at("number");
  shard.record = {checked_name(json.at("name")),
                  json.at("split"),
                  json.at("samples"),
                  json.at("bytes"),
                  json.at("sha256"),
                  json.at("md5")};
  shard.mtime_ns = json.at("mtime_ns");
  shard.labels = json.at("labels");
  for (const nlohmann::json& file : json.at("files")) {
    shard.files.push_back({checked_name(file.at(0)), file.at(1), file.at(2)});
  }
  return shard;
}

struct LogContent {
  std::string fingerprint;            // of the last run
  std::vector<FinishedShard> shards;  // which it finished
  EarlierRuns all;                    // of every run
  std::size_t size = 0;               // up to where it makes sense
};

void add(const ShardRecord& shard, const std::vector<ExtraFile>& files, EarlierRuns& runs) {
  runs.files.insert(shard.name);
  runs.shards.push_back({shard.name, shard.split});
  for (const ExtraFile& file : files) runs.files.insert(file.name);
}

// What a killed run wrote last may be half a line: there the log ends.
LogContent parse_log(std::string_view text) {
  LogContent content;
  for (;;) {
    const std::size_t end = text.find('\n', content.size);
    if (end == std::string_view::npos) return content;
    const nlohmann::json line = nlohmann::json::parse(text.substr(content.size, end - content.size), nullptr,
                                  /*allow_exceptions=*/false);
    try {
      if (line.contains("fingerprint")) {
        content.fingerprint = line.at("fingerprint");
        content.shards.clear();
      } else if (line.contains("replaces")) {
        for (const nlohmann::json& name : line.at("replaces")) content.all.files.insert(checked_name(name));
      } else {
        content.shards.push_back(from_json(line));
        add(content.shards.back().record, content.shards.back().files, content.all);
      }
    } catch (const nlohmann::json::exception&) {
      return content;
    } catch (const Error&) {
      return content;
    }
    content.size = end + 1;
  }
}

bool is_as_left(const std::string& path, std::uint64_t size, std::optional<std::int64_t> mtime) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
         static_cast<std::uint64_t>(st.st_size) == size && (!mtime || *mtime == mtime_ns(st));
}

}  // namespace

std::string log_name(const std::string& tool, const Task& task) {
  return task.count == 1 ? fmt::format(".{}.partial", tool)
                         : fmt::format(".{}.{}-of-{}.partial", tool, task.index, task.count);
}

ShardLog::ShardLog(std::string directory, const std::string& tool, const Task& task)
    : directory_(std::move(directory)), path_(join_path(directory_, log_name(tool, task))) {
  make_directories(directory_);
  file_ = lock_for_run(path_, directory_);
  LogContent content = parse_log(read_whole(file_, path_));
  fingerprint_ = std::move(content.fingerprint);
  shards_ = std::move(content.shards);
  size_ = content.size;
  is_used_ = size_ > 0;
}

ShardLog::~ShardLog() {
  if (file_ && !is_used_) unlink(path_.c_str());
}

std::vector<FinishedShard> ShardLog::finished(const std::string& fingerprint) const {
  std::vector<FinishedShard> good;
  if (fingerprint != fingerprint_) return good;
  for (const FinishedShard& shard : shards_) {
    bool is_good =
        is_as_left(join_path(directory_, shard.record.name), shard.record.bytes, shard.mtime_ns);
    for (const ExtraFile& file : shard.files) {
      is_good = is_good && is_as_left(join_path(directory_, file.name), file.bytes, std::nullopt);
    }
    if (is_good) good.push_back(shard);
  }
  return good;
}

// Nothing is taken away from the log: until the new run is complete, somebody must know the old
// one's shards.
void ShardLog::start(const std::string& fingerprint) {
  is_used_ = true;  // until complete()
  const auto end = static_cast<off_t>(size_);
  if (ftruncate(file_.get(), end) != 0 || lseek(file_.get(), end, SEEK_SET) < 0) {
    fail_errno(errno, "write", path_);
  }
  if (fingerprint == fingerprint_) return;
  write_fully(file_.get(), as_bytes(nlohmann::json{{"fingerprint", fingerprint}}.dump() + "\n"), path_);
  fingerprint_ = fingerprint;
  shards_.clear();
}

void ShardLog::add_replaced(const std::set<std::string>& names) {
  if (names.empty()) return;
  write_fully(file_.get(), as_bytes(nlohmann::json{{"replaces", names}}.dump() + "\n"), path_);
  sync();
}

void ShardLog::add(const FinishedShard& shard) {
  if (!is_named(file_, path_)) {
    fail(Code::io, "{}: was removed or replaced while the run was writing into it",
         printable(directory_));
  }
  write_fully(file_.get(), as_bytes(to_json(shard).dump() + "\n"), path_);
}

void ShardLog::sync() { sync_file(file_.get(), path_); }

void ShardLog::complete() {
  if (!is_named(file_, path_)) {
    fail(Code::io, "{}: was removed or replaced while the run was writing into it",
         printable(directory_));
  }
  if (unlink(path_.c_str()) != 0) fail_errno(errno, "remove", path_);
  file_.reset();
}

namespace {

void add_manifest(const std::string& path, EarlierRuns& runs) {
  const Fd fd = open_if_there(path);
  if (!fd) return;
  const std::string text = read_whole(fd, path);
  try {
    const Manifest manifest = Manifest::parse(text, path);
    for (const ShardRecord& shard : manifest.shards) add(shard, {}, runs);
    for (const ExtraFile& file : manifest.files) runs.files.insert(file.name);
    runs.files.insert(std::string(base_name(path)));
    runs.files.insert(kSumsName);
  } catch (const Error&) {
    // Somebody else's file of that name.
  }
}

void add_log(const std::string& path, EarlierRuns& runs) {
  const Fd fd = open_if_there(path);
  if (!fd) return;
  EarlierRuns all = parse_log(read_whole(fd, path)).all;
  runs.files.merge(all.files);
  runs.shards.insert(runs.shards.end(), all.shards.begin(), all.shards.end());
}

}  // namespace

EarlierRuns find_earlier_runs(const std::string& directory) {
  EarlierRuns runs;
  for_each_entry(directory, [&](int, const dirent& entry) {
    const std::string_view name = entry.d_name;
    const std::string path = join_path(directory, name);
    if (name.starts_with("manifest.") && name.ends_with(".json")) {
      add_manifest(path, runs);
    } else if (name.starts_with(".prep-") && name.ends_with(".partial")) {
      add_log(path, runs);
    }
    return true;
  });
  return runs;
}

EarlierRuns find_other_tasks(const std::string& directory, const std::string& tool,
                             const Task& task) {
  EarlierRuns runs;
  for (std::uint64_t i = 0; i < task.count; ++i) {
    if (i == task.index) continue;
    // A task's log goes when its manifest is there, so in this order one of the two is found.
    const Task other{i, task.count};
    add_log(join_path(directory, log_name(tool, other)), runs);
    add_manifest(join_path(directory, partial_manifest_name(other)), runs);
  }
  return runs;
}

Fd lock_directory(const std::string& directory) {
  Fd fd = open_if_there(directory);
  if (fd) (void)flock(fd.get(), LOCK_EX);
  return fd;
}

}  // namespace prep
