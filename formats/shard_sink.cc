#include "formats/shard_sink.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "formats/shard_set.h"
#include "formats/tar_sample_writer.h"
#include "formats/tree.h"
#include "lib/core/error.h"
#include "lib/core/report.h"
#include "lib/core/version.h"

namespace prep {
namespace {

constexpr std::uint64_t kLargestManifest = std::uint64_t{4} << 30;
constexpr char kStreamFingerprint[] = "a stream, which no run can take up again";
// Shards that are written, but not yet digested and synced.
constexpr std::size_t kMaxClosing = 2;

std::string task_suffix(const Task& task) {
  return task.count == 1 ? "" : fmt::format(".{}-of-{}", task.index, task.count);
}

// Removes a directory of ours that holds files only.
void remove_staging(const std::string& path) {
  for_each_file(path, [](int directory, const std::string&, const char* name) {
    unlinkat(directory, name, 0);
  });
  rmdir(path.c_str());
}

// Whether a live run holds this log.
bool is_locked(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* raw = opendir(directory.c_str());
  if (!raw) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(raw, closedir);
  while (const dirent* entry = readdir(raw)) names.emplace_back(entry->d_name);
  return names;
}

std::string compression_name(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return "gzip";
    case Compression::zstd:
      return "zstd";
    case Compression::none:
      break;
  }
  return "none";
}

}  // namespace

ShardSink::ShardSink(std::string_view pattern, ShardSinkOptions options)
    : pattern_(pattern), options_(std::move(options)) {
  if (!has_plan() && (pattern_.needs_total() || pattern_.needs_split())) {
    fail(
        Code::usage,
        "{}: how many shards there will be, and of which split, is known only when all samples are "
        "listed before; prep-pack does that",
        printable(pattern));
  }
  staging_ =
      join_path(directory(), fmt::format(".{}{}.tmp", options_.tool, task_suffix(options_.task)));
  known_ = files_of_earlier_runs(directory());
  if (options_.dry_run) return;
  log_ = std::make_unique<ShardLog>(directory(), options_.tool, options_.task);
}

ShardSink::~ShardSink() {
  current_.file.reset();
  closing_.clear();
  sealed_.clear();
  if (started_) remove_staging(staging_);
}

// --- before the first sample
// ----------------------------------------------------------------------

std::string ShardSink::shard_name(std::uint64_t number) const {
  if (!has_plan()) return pattern_.name("", number, 0);
  const ShardSetPlan::Shard& shard = plan_.shards[number];
  return pattern_.name(shard.split, shard.index, shard.total);
}

// The shards of all tasks and their indexes; of a stream, as far as they are known.
std::set<std::string> ShardSink::planned_names() const {
  std::set<std::string> names;
  const std::uint64_t count = has_plan() ? plan_.shards.size() : next_number_;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = shard_name(i);
    names.insert(name);
    for (const IndexKind kind : options_.format.indexes) {
      if (const std::string index = shard_index_name(kind, name); !index.empty()) {
        names.insert(index);
      }
    }
  }
  return names;
}

void ShardSink::set_plan(ShardSetPlan plan) {
  plan_ = std::move(plan);
  fingerprint_ = hex_digest(
      Digest::Kind::sha256,
      as_bytes(nlohmann::json{{"settings", options_.settings}, {"listing", plan_.listing}}.dump(
          -1, ' ', true, nlohmann::json::error_handler_t::replace)));
  if (!options_.force) {
    recall();
    refuse_foreign(planned_names());
  }
  check_space();
}

// What an earlier run with the same settings and inputs has done: by its manifest, or by its log.
void ShardSink::recall() {
  complete_ = recall_manifest();
  if (complete_ || !log_) return;
  for (FinishedShard& shard : log_->finished(fingerprint_)) {
    if (shard.number < plan_.shards.size() && shard.record.name == shard_name(shard.number) &&
        shard.record.samples == plan_.shards[shard.number].samples) {
      recalled_.insert(shard.number);
      finished_.emplace(shard.number, std::move(shard));
    }
  }
}

// A task looks for its own manifest, and for the whole one, into which it may have been merged.
bool ShardSink::recall_manifest() {
  for (const std::string& name :
       {partial_manifest_name(options_.task), std::string(kManifestName)}) {
    const std::string path = join_path(directory(), name);
    if (access(path.c_str(), F_OK) != 0) continue;
    try {
      if (!is_whole(Manifest::parse(read_text_file(path, kLargestManifest), path))) continue;
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      continue;  // not one of ours, or damaged
    }
    found_manifest_ = path;
    return true;
  }
  return false;
}

// Whether a manifest tells of this task's shards, made from the same, and they are there.
bool ShardSink::is_whole(const Manifest& manifest) const {
  if (manifest.listing != plan_.listing || manifest.tool_version != kVersion ||
      manifest.settings != options_.published_settings ||
      manifest.container != container_name(options_.format.container)) {
    return false;
  }
  std::set<std::string> there;
  for (const ShardRecord& shard : manifest.shards) {
    struct stat st {};
    const std::string path = join_path(directory(), shard.name);
    if (stat(path.c_str(), &st) == 0 && static_cast<std::uint64_t>(st.st_size) == shard.bytes) {
      there.insert(shard.name);
    }
  }
  for (std::uint64_t i = 0; i < plan_.shards.size(); ++i) {
    if (is_mine(i) && !there.contains(shard_name(i))) return false;
  }
  return true;
}

// Shards that nobody knows would be taken for part of the new set, or be overwritten.
void ShardSink::refuse_foreign(const std::set<std::string>& planned) const {
  for_each_file(directory(), [&](int, const std::string& path, const char*) {
    const bool hidden = path.starts_with('.') || path.find("/.") != std::string::npos;
    if (hidden || known_.contains(path)) return;
    if (!planned.contains(path) && !pattern_.may_give(path, plan_.splits)) return;
    fail(
        Code::usage,
        "{}: is there already, and is not known to be a run's of ours; remove it, write to another "
        "directory, or give --force to replace such files",
        printable(join_path(directory(), path)));
  });
}

void ShardSink::check_space() const {
  if (!log_ || plan_.bytes == 0 || options_.force || complete_) return;
  std::uint64_t done = 0;
  for (const auto& [number, shard] : finished_) done += shard.record.bytes;
  struct statvfs space {};
  if (statvfs(directory().c_str(), &space) != 0) return;
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  const std::uint64_t needed = plan_.bytes - std::min(done, plan_.bytes);
  if (needed <= free) return;
  fail(Code::io,
       "{}: the shards need {}, and {} are free: {} are missing (--force writes all the same)",
       printable(directory()), human_bytes(needed), human_bytes(free), human_bytes(needed - free));
}

void ShardSink::start() {
  started_ = true;
  if (has_plan()) {
    log_->start(fingerprint_);
    replace_earlier_runs();
  } else if (!options_.force) {
    refuse_foreign({});
  }
  remove_staging(staging_);
}

// From here on, what was there is not complete any more. Shards that will not be overwritten would
// be taken for part of the new set.
void ShardSink::replace_earlier_runs() {
  for (const std::string& name :
       {std::string(kManifestName), std::string(kSumsName), partial_manifest_name(options_.task)}) {
    const std::string path = join_path(directory(), name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno(errno, "remove", path);
  }
  const std::set<std::string> planned = planned_names();
  for (const std::string& name : known_) {
    const std::string path = join_path(directory(), name);
    if (planned.contains(name) || name.starts_with("manifest.")) continue;
    if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno(errno, "remove", path);
  }
  if (options_.force) {
    for_each_file(directory(), [&](int, const std::string& path, const char* name) {
      if (name[0] != '.' && !planned.contains(path) && pattern_.may_give(path, plan_.splits)) {
        unlink(join_path(directory(), path).c_str());
      }
    });
  }
  remove_other_splits();
}

// Runs that shared the work in another way are history, unless they are alive.
void ShardSink::remove_other_splits() {
  const std::string same_split =
      options_.task.count == 1 ? "" : fmt::format("-of-{}.", options_.task.count);
  for (const std::string& name : names_in(directory())) {
    const std::string path = join_path(directory(), name);
    if (!same_split.empty() && name.find(same_split) != std::string::npos) continue;
    const bool is_part = name.starts_with("manifest.") && name.ends_with(".json") &&
                         name.find("-of-") != std::string::npos;
    if (is_part) unlink(path.c_str());
    if (!name.starts_with(".prep-") || !name.ends_with(".partial")) continue;
    const std::string staging =
        path.substr(0, path.size() - std::string_view(".partial").size()) + ".tmp";
    if (staging == staging_) continue;
    if (is_locked(path)) {
      fail(Code::io, "{}: another run is writing into it ({})", printable(directory()),
           printable(name));
    }
    remove_staging(staging);
    unlink(path.c_str());
  }
}

// --- samples
// --------------------------------------------------------------------------------------

bool ShardSink::up_to_date(const Sample& sample, const Stage&) const {
  return complete_ || recalled_.contains(sample.destination);
}

void ShardSink::check(const Sample& sample) const {
  if (options_.format.container == ShardContainer::tar) TarSampleWriter::check(sample);
  for (const IndexKind kind : options_.format.indexes) {
    for (const Part& part : sample.parts) check_indexable(kind, part_path(sample.key, part.name));
  }
}

void ShardSink::open(std::uint64_t number) {
  if (!started_) start();
  const std::string split = has_plan() ? plan_.shards[number].split : "";
  current_.number = number;
  auto file =
      std::make_shared<ShardFile>(directory(), shard_name(number), split,
                                  join_path(staging_, std::to_string(number)), options_.format);
  const std::lock_guard lock(mutex_);
  current_.file = std::move(file);
}

void ShardSink::decide_schema(const Sample& sample) {
  if (options_.format.container == ShardContainer::tar || options_.format.schema) return;
  try {
    set_schema(std::make_shared<ExampleSchema>(ExampleSchema::decide(sample, options_.example)));
  } catch (const Error& error) {
    if (error.code() == Code::interrupted || error.code() == Code::usage) throw;
    throw BadSample(error.code(), error.what());
  }
}

void ShardSink::put(const Sample& sample) {
  decide_schema(sample);
  try {
    const bool is_next = has_plan() ? current_.number != sample.destination : is_full(sample);
    if (current_.file && is_next) close_current();
    if (!current_.file) open(has_plan() ? sample.destination : next_number_++);
    current_.file->add(sample);
  } catch (const BadSample&) {
    throw;
  } catch (const Error& error) {
    fail_write(error);
  }
}

// Whether a shard of a stream is full before this sample.
bool ShardSink::is_full(const Sample& sample) const {
  if (!current_.file || current_.file->samples() == 0) return false;
  if (options_.max_count > 0 && current_.file->samples() >= options_.max_count) return true;
  std::vector<ExampleSchema::PartSize> parts;
  for (const Part& part : sample.parts) parts.push_back({part.name, part.content->size()});
  const ShardContainer container = options_.format.container;
  return options_.max_size > 0 &&
         empty_shard_size(container) + current_.file->size() +
                 sample_size(container, options_.format.schema.get(), sample.key, parts) >
             options_.max_size;
}

// A full disk: says how much more is needed.
void ShardSink::fail_write(const Error& error) const {
  struct statvfs space {};
  if (error.code() != Code::io || plan_.bytes == 0 || statvfs(directory().c_str(), &space) != 0) {
    throw Error(error.code(), error.what());
  }
  std::uint64_t done = current_.file ? current_.file->size() : 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, shard] : finished_) done += shard.record.bytes;
    for (const Open& shard : closing_) done += shard.file->size();
  }
  const std::uint64_t left = plan_.bytes - std::min(done, plan_.bytes);
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (left <= free) throw Error(error.code(), error.what());
  throw Error(error.code(),
              fmt::format("{}; {} of {} were still to be written, and {} are free", error.what(),
                          human_bytes(left), human_bytes(plan_.bytes), human_bytes(free)));
}

void ShardSink::close_current() {
  current_.file->finish();
  if (const std::uint64_t pax = current_.file->pax_members()) warnings_[kPaxWarning] += pax;
  std::unique_lock lock(mutex_);
  closing_.push_back({current_.number, std::move(current_.file)});
  current_.file = nullptr;
  if (closing_.size() <= kMaxClosing) return;
  Open oldest = std::move(closing_.front());
  closing_.pop_front();
  lock.unlock();
  seal(std::move(oldest));
}

bool ShardSink::assist() {
  std::unique_lock lock(mutex_);
  if (closing_.empty()) {
    const std::shared_ptr<ShardFile> file = current_.file;
    lock.unlock();
    return file && file->digest();
  }
  Open shard = std::move(closing_.front());
  closing_.pop_front();
  lock.unlock();
  seal(std::move(shard));
  return true;
}

void ShardSink::seal(Open shard) {
  FinishedShard finished = shard.file->seal(shard.number);
  if (!has_plan()) {
    const std::lock_guard lock(mutex_);
    sealed_.emplace(shard.number, std::move(shard));
    finished_.emplace(finished.number, std::move(finished));
    return;
  }
  // A shard that lacks samples is not taken for finished by another run.
  const bool whole = finished.record.samples == plan_.shards[shard.number].samples;
  const std::lock_guard lock(mutex_);
  if (whole) log_->add(finished);
  shard.file->publish();
  finished_.emplace(finished.number, std::move(finished));
}

// --- the end
// --------------------------------------------------------------------------------------

void ShardSink::seal_all() {
  if (current_.file) close_current();
  while (!closing_.empty()) {
    Open shard = std::move(closing_.front());
    closing_.pop_front();
    seal(std::move(shard));
  }
}

// A stream came to its end: all shards get their names.
void ShardSink::publish_stream() {
  log_->start(kStreamFingerprint);
  replace_earlier_runs();
  for (auto& [number, shard] : sealed_) {
    log_->add(finished_.at(number));
    shard.file->publish();
  }
  sealed_.clear();
}

// Shards of another size than planned are what --equal is there to prevent, and one without any
// sample would be a gap.
void ShardSink::check_counts() const {
  for (std::uint64_t i = 0; has_plan() && i < plan_.shards.size(); ++i) {
    if (!is_mine(i)) continue;
    const auto shard = finished_.find(i);
    const std::uint64_t samples = shard == finished_.end() ? 0 : shard->second.record.samples;
    if (samples == plan_.shards[i].samples || (samples > 0 && !plan_.equal)) continue;
    fail(Code::io, "{}: {} of its {} samples failed{}; remove them from the input, and run again",
         printable(shard_name(i)), plan_.shards[i].samples - samples, plan_.shards[i].samples,
         samples > 0 ? ", and shards of equal size were asked for" : "");
  }
}

std::uint64_t ShardSink::failed_samples() const {
  if (!has_plan()) return options_.failed ? options_.failed() : 0;
  std::uint64_t failed = options_.task.index == 0 ? plan_.failed : 0;
  for (const auto& [number, shard] : finished_) {
    failed += plan_.shards[number].samples - shard.record.samples;
  }
  return failed;
}

Manifest ShardSink::make_manifest() const {
  Manifest manifest;
  manifest.tool = options_.tool;
  manifest.tool_version = kVersion;
  manifest.settings = options_.published_settings;
  manifest.listing = plan_.listing;
  manifest.task = options_.task;
  manifest.container = container_name(options_.format.container);
  manifest.compression = compression_name(options_.format.compression);
  if (options_.format.schema) manifest.schema = options_.format.schema->to_json();
  std::map<std::int64_t, ClassRecord> classes;
  for (std::size_t i = 0; i < plan_.class_names.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    classes[index] = {plan_.class_names[i], index, 0};
  }
  for (const auto& [number, shard] : finished_) {
    manifest.shards.push_back(shard.record);
    manifest.files.insert(manifest.files.end(), shard.files.begin(), shard.files.end());
    for (const auto& [label, samples] : shard.labels) {
      std::int64_t index = 0;
      std::from_chars(label.data(), label.data() + label.size(), index);
      classes[index].index = index;
      classes[index].samples += samples;
    }
  }
  for (auto& [index, record] : classes) manifest.classes.push_back(std::move(record));
  manifest.dropped = plan_.dropped;
  manifest.repeated = plan_.repeated;
  manifest.failed = failed_samples();
  return manifest;
}

void ShardSink::commit() {
  if (complete_) {
    // Whoever goes by its time (make) shall see that it was looked at.
    utimensat(AT_FDCWD, found_manifest_.c_str(), nullptr, 0);
    return;
  }
  if (!started_) start();
  seal_all();
  check_counts();
  if (!has_plan()) publish_stream();
  Manifest manifest = make_manifest();
  if (options_.task.count == 1) {
    write_shard_set(directory(), std::move(manifest), options_.format.indexes);
  } else {
    write_partial_manifest(directory(), std::move(manifest));
  }
  log_->complete();
}

// Shards that are complete stay, for a rerun to go on from; of a stream there is nothing to keep.
void ShardSink::abandon() {
  if (!has_plan()) {
    current_.file.reset();
    closing_.clear();
    sealed_.clear();
    return;
  }
  const bool whole =
      current_.file && current_.file->samples() == plan_.shards[current_.number].samples;
  if (!whole) current_.file.reset();
  seal_all();
}

}  // namespace prep
