#include "formats/shard_sink.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "formats/published_settings.h"
#include "formats/shard_set.h"
#include "formats/tar_sample_writer.h"
#include "formats/tree.h"
#include "lib/core/error.h"
#include "lib/core/report.h"
#include "lib/core/version.h"

namespace prep {
namespace {

constexpr char kStreamFingerprint[] = "a stream, which no run can take up again";
// Shards that are written, but not yet digested and synced.
constexpr std::size_t kMaxClosing = 2;
constexpr char kOversized[] = "larger than --max-size, and so is the shard of each";
constexpr char kFailedBefore[] = "bad when an earlier run made the shards, and not in them";

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

ShardSink::ShardSink(const Spec& output, ShardSinkOptions options)
    : pattern_(output.path),
      options_(std::move(options)),
      directory_(pattern_, options_.tool, options_.task, options_.inputs) {
  if (!has_plan() && (pattern_.needs_total() || pattern_.needs_split())) {
    fail(
        Code::usage,
        "{}: how many shards there will be, and of which split, is known only when all samples are "
        "listed before; prep-pack does that",
        printable(output.path));
  }
  published_ = published_settings(options_.inputs, output, options_.settings);
  if (options_.dry_run) return;
  log_ = std::make_unique<ShardLog>(directory(), options_.tool, options_.task);
}

ShardSink::~ShardSink() {
  current_.file.reset();
  closing_.clear();
  sealed_.clear();
  if (!started_) return;
  try {
    directory_.remove_staging();
  } catch (const std::exception&) {
    // Without memory to look into it; it should be empty by now. Otherwise the next run does it.
    rmdir(directory_.staging().c_str());
  }
}

// --- before the first sample --------------------------------------------------------------------

std::string ShardSink::shard_name(std::uint64_t number) const {
  if (!has_plan()) return pattern_.name("", number, 0);
  const ShardSetPlan::Shard& shard = plan_.shards[number];
  return pattern_.name(shard.split, shard.index, shard.total);
}

// A shard's name, and those of its indexes.
void ShardSink::add_names(std::uint64_t number, std::set<std::string>& names) const {
  const std::string name = shard_name(number);
  names.insert(name);
  for (const IndexKind kind : options_.format.indexes) {
    if (std::string index = shard_index_name(kind, name); !index.empty()) {
      names.insert(std::move(index));
    }
  }
}

// Those of all tasks; of a stream, as far as they are known.
std::set<std::string> ShardSink::planned_names() const {
  std::set<std::string> names;
  const std::uint64_t count = has_plan() ? plan_.shards.size() : next_number_;
  for (std::uint64_t i = 0; i < count; ++i) add_names(i, names);
  return names;
}

std::set<std::string> ShardSink::recalled_names() const {
  std::set<std::string> names;
  for (const std::uint64_t number : recalled_) add_names(number, names);
  return names;
}

void ShardSink::set_plan(ShardSetPlan plan) {
  plan_ = std::move(plan);
  fingerprint_ = hex_digest(
      Digest::Kind::sha256,
      as_bytes(nlohmann::json{{"settings", options_.settings}, {"listing", plan_.listing}}.dump(
          -1, ' ', true, nlohmann::json::error_handler_t::replace)));
  if (plan_.oversized > 0) warnings_[kOversized] += plan_.oversized;
  // No task may be about to remove what is looked at here.
  const Fd lock = lock_directory(directory());
  if (!options_.force) recall();
  if (complete_) return;
  directory_.set_splits(plan_.splits);
  directory_.check(planned_names(), options_.force);
  if (!options_.force) check_space();
}

// What an earlier run with the same settings and inputs has done: by its manifest, or by its log.
void ShardSink::recall() {
  complete_ = recall_manifest();
  if (complete_ || !log_) return;
  for (FinishedShard& shard : log_->finished(fingerprint_)) {
    if (shard.number < plan_.shards.size() && shard.record.name == shard_name(shard.number) &&
        is_whole(shard)) {
      recalled_.insert(shard.number);
      finished_.emplace(shard.number, std::move(shard));
    }
  }
}

// A task looks for its own manifest, and for the whole one, into which it may have been merged.
bool ShardSink::recall_manifest() {
  for (const std::string& name :
       {partial_manifest_name(options_.task), std::string(kManifestName)}) {
    found_manifest_ = join_path(directory(), name);
    std::optional<Manifest> manifest;
    try {
      manifest = Manifest::parse(read_text_file(found_manifest_, Manifest::kLargest), name);
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      continue;  // there is none, or it is not one of ours, or damaged
    }
    if (!is_whole(*manifest)) continue;
    check_failed_before(*manifest);
    return true;
  }
  return false;
}

// Nothing would be gained by packing the same bad samples once more, and shards might be lost.
void ShardSink::check_failed_before(const Manifest& manifest) {
  const std::uint64_t listed = std::min(manifest.failed, plan_.failed);
  if (manifest.failed > listed) warnings_[kFailedBefore] += manifest.failed - listed;
  std::uint64_t samples = manifest.failed;
  for (const ShardRecord& shard : manifest.shards) samples += shard.samples;
  if (!options_.tolerates || options_.tolerates(manifest.failed, samples)) return;
  fail(Code::corrupt,
       "{}: these shards were made without {} bad {}, more than --max-errors allows now; --force "
       "packs them again",
       printable(found_manifest_), manifest.failed, manifest.failed == 1 ? "sample" : "samples");
}

// Whether a manifest tells of this task's shards, made from the same, and they are there.
bool ShardSink::is_whole(const Manifest& manifest) const {
  if (manifest.listing != plan_.listing || manifest.tool_version != kVersion ||
      manifest.settings != published_ ||
      manifest.container != container_name(options_.format.container)) {
    return false;
  }
  const auto is_there = [&](const std::string& name, std::uint64_t bytes) {
    struct stat st {};
    return stat(join_path(directory(), name).c_str(), &st) == 0 &&
           static_cast<std::uint64_t>(st.st_size) == bytes;
  };
  std::set<std::string> there;
  for (const ShardRecord& shard : manifest.shards) {
    if (is_there(shard.name, shard.bytes)) there.insert(shard.name);
  }
  for (std::uint64_t i = 0; i < plan_.shards.size(); ++i) {
    if (is_mine(i) && !there.contains(shard_name(i))) return false;
  }
  return std::all_of(manifest.files.begin(), manifest.files.end(),
                     [&](const ExtraFile& file) { return is_there(file.name, file.bytes); });
}

void ShardSink::check_space() const {
  struct statvfs space {};
  if (!log_ || plan_.bytes == 0 || statvfs(directory().c_str(), &space) != 0) return;
  std::uint64_t done = 0;
  for (const auto& [number, shard] : finished_) done += shard.record.bytes;
  const std::uint64_t needed = plan_.bytes - std::min(done, plan_.bytes);
  std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (needed > free) free += directory_.replaced_bytes(recalled_names());
  if (needed <= free) return;
  fail(Code::io,
       "{}: the shards need {}, and {} are free: {} are missing (--force writes all the same)",
       printable(directory()), human_bytes(needed), human_bytes(free), human_bytes(needed - free));
}

void ShardSink::start() {
  started_ = true;
  if (has_plan()) {
    log_->start(fingerprint_);
    directory_.replace(*log_, planned_names(), recalled_names(), options_.force);
  } else {
    directory_.check({}, options_.force);
  }
  directory_.remove_staging();
}

// --- samples ------------------------------------------------------------------------------------

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
  auto file = std::make_shared<ShardFile>(directory(), shard_name(number), split,
                                          join_path(directory_.staging(), std::to_string(number)),
                                          options_.format);
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
    choose_shard(sample);
  } catch (const Error& error) {
    fail_write(error);
  }
  try {
    current_.file->add(sample);
  } catch (const BadSample&) {
    throw;
  } catch (const Error& error) {
    fail_write(error);
  }
}

// The sample's shard is the one that is open, after this.
void ShardSink::choose_shard(const Sample& sample) {
  const bool is_next = has_plan() ? current_.number != sample.destination : is_full(sample);
  if (current_.file && is_next) close_current();
  if (current_.file) return;
  open(has_plan() ? sample.destination : next_number_++);
  if (!has_plan() && is_too_large_with(sample)) ++warnings_[kOversized];
}

std::uint64_t ShardSink::size_of(const Sample& sample) const {
  std::vector<ExampleSchema::PartSize> parts;
  for (const Part& part : sample.parts) parts.push_back({part.name, part.content->size()});
  return sample_size(options_.format.container, options_.format.schema.get(), sample.key, parts);
}

// Whether a shard of a stream is full before this sample.
bool ShardSink::is_full(const Sample& sample) const {
  if (!current_.file || current_.file->samples() == 0) return false;
  if (options_.max_count > 0 && current_.file->samples() >= options_.max_count) return true;
  return is_too_large_with(sample);
}

bool ShardSink::is_too_large_with(const Sample& sample) const {
  const std::uint64_t used = empty_shard_size(options_.format.container) + current_.file->size();
  return options_.max_size > 0 && used + size_of(sample) > options_.max_size;
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
  try {
    finish(std::move(shard));
  } catch (const Error& error) {
    fail_write(error);
  }
}

void ShardSink::finish(Open shard) {
  FinishedShard finished = shard.file->seal(shard.number);
  if (!has_plan()) {
    const std::lock_guard lock(mutex_);
    sealed_.emplace(shard.number, std::move(shard));
    finished_.emplace(finished.number, std::move(finished));
    return;
  }
  const std::lock_guard lock(mutex_);
  log_->add(finished);
  log_->sync();
  shard.file->publish();
  finished_.emplace(finished.number, std::move(finished));
}

// --- the end ------------------------------------------------------------------------------------

// A stream's last shard, if it was begun for samples that turned out bad.
void ShardSink::drop_empty() {
  if (has_plan() || !current_.file || current_.file->samples() > 0) return;
  current_.file.reset();
  next_number_ = current_.number;
}

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
  directory_.replace(*log_, planned_names(), {}, options_.force);
  for (const auto& [number, shard] : finished_) log_->add(shard);
  log_->sync();
  for (const auto& [number, shard] : sealed_) shard.file->publish();
  sealed_.clear();
}

// The names of shards below the manifest's directory; its own are synced with the manifest.
void ShardSink::sync_directories() const {
  std::set<std::string> directories;
  for (const auto& [number, shard] : finished_) {
    directories.insert(parent_directory(join_path(directory(), shard.record.name)));
  }
  for (const std::string& path : directories) sync_directory(path);
}

bool ShardSink::is_whole(const FinishedShard& shard) const {
  return shard.record.samples == plan_.shards[shard.number].samples;
}

// Shards that lack bad samples, when those turn out to be too many.
void ShardSink::remove_lacking() {
  for (const auto& [number, shard] : finished_) {
    if (is_whole(shard)) continue;
    std::set<std::string> names;
    add_names(number, names);
    for (const std::string& name : names) {
      const std::string path = join_path(directory(), name);
      if (unlink(path.c_str()) != 0 && errno != ENOENT) fail_errno(errno, "remove", path);
    }
  }
}

// Shards of another size than planned are what --equal is there to prevent, and one without any
// sample would be a gap.
void ShardSink::check_counts() {
  for (std::uint64_t i = 0; has_plan() && i < plan_.shards.size(); ++i) {
    if (!is_mine(i)) continue;
    const auto shard = finished_.find(i);
    const std::uint64_t samples = shard == finished_.end() ? 0 : shard->second.record.samples;
    if (samples == plan_.shards[i].samples || (samples > 0 && !plan_.equal)) continue;
    remove_lacking();
    fail(Code::io, "{}: {} of its {} samples failed{}; remove them from the input, and run again",
         printable(join_path(directory(), shard_name(i))), plan_.shards[i].samples - samples,
         plan_.shards[i].samples, samples > 0 ? ", and shards of equal size were asked for" : "");
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
  manifest.settings = published_;
  manifest.listing = plan_.listing;
  manifest.task = options_.task;
  manifest.container = container_name(options_.format.container);
  manifest.compression = compression_name(options_.format.compression);
  if (options_.format.schema) manifest.schema = options_.format.schema->to_json();
  std::map<std::int64_t, ClassRecord> classes;
  const auto& names = has_plan() ? plan_.class_names : options_.class_names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    classes[index] = {names[i], index, 0};
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
    // What is left of a run that was killed behind its last shard, or before it had done anything.
    directory_.remove_staging();
    log_->complete();
    return;
  }
  drop_empty();
  if (has_plan() ? plan_.shards.empty() : next_number_ == 0) {
    fail(Code::empty, "there is no sample for any shard");
  }
  if (!started_) start();
  seal_all();
  check_counts();
  if (!has_plan()) publish_stream();
  sync_directories();
  Manifest manifest = make_manifest();
  if (options_.task.count == 1) {
    write_shard_set(directory(), std::move(manifest), options_.format.indexes);
  } else {
    write_partial_manifest(directory(), std::move(manifest));
  }
  // While the log is still the lock.
  directory_.remove_staging();
  started_ = false;
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
  remove_lacking();
}

}  // namespace prep
