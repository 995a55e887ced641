#include "tools/stage_sync.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"
#include "lib/remote/fetch_target.h"
#include "lib/remote/local_name.h"
#include "lib/remote/mirror_state.h"

namespace prep {
namespace {

// These are fetched in one piece, and not taken up again.
constexpr std::uint64_t kSmallObject = 1 << 20;
// Objects whose records wait for one before them.
constexpr std::size_t kMostPending = 100'000;

// An object that was met in the listing, until its record is written.
struct Item {
  MirrorRecord record;
  bool is_settled = false, is_known = false;  // known: the file is this version
};

std::string state_path(const std::string& directory, const std::string& source) {
  const std::string hash = hex_digest(Digest::Kind::sha256, as_bytes(source)).substr(0, 16);
  return join_path(directory, ".prep-stage-" + hash);
}

// What is written until it is complete, in the same directory.
std::string temporary_for(const std::string& path) {
  std::string name(base_name(path));
  if (name.size() > 200) name = hex_digest(Digest::Kind::sha256, as_bytes(name)).substr(0, 32);
  return join_path(parent_directory(path), "." + name + ".prep-stage");
}

class Mirror {
 public:
  Mirror(ObjectUrl source, std::string directory, const StageOptions& options, int jobs,
         Reporter& reporter)
      : source_(std::move(source)),
        directory_(std::move(directory)),
        options_(options),
        part_size_(options.part_bytes()),
        reporter_(reporter),
        store_(options.store()) {
    if (!source_.key.empty() && !source_.key.ends_with('/')) source_.key += '/';
    make_directories(directory_);
    state_ = std::make_unique<MirrorWriter>(state_path(directory_, source_.text()));
    fetcher_ = std::make_unique<Fetcher>(store_, options.fetcher(jobs));
    old_ = state_->old().next();
  }

  void run() {
    store_.list(source_, [&](ObjectInfo&& object) {
      check_interrupt();
      visit(std::move(object));
      return true;
    });
    while (old_) pass_vanished();
    fetcher_->wait();
    if (options_.dry_run) return;
    finish();
  }

 private:
  void visit(ObjectInfo object);
  bool is_chosen(const std::string& name) const;
  void pass_vanished();
  bool is_up_to_date(const ObjectInfo& object, const std::string& name, const std::string& path);
  void keep(const MirrorRecord& record);
  void fetch(ObjectInfo object, const std::string& name, const std::string& path);
  void fetch_small(FetchJob job, std::shared_ptr<Item> item, const std::string& path);
  void fetch_large(FetchJob job, std::shared_ptr<Item> item, const std::string& path);
  void submit(FetchJob job, std::shared_ptr<Item> item, std::shared_ptr<FetchTarget> target,
              std::function<void(bool is_whole)> end);
  std::string file_in_the_way_of(const std::string& path) const;
  void check_is_no_directory(const std::string& path, const std::string& key) const;
  std::string path_of(const Item& item) const;
  void settle(Item& item, const std::optional<Error>& error);
  std::shared_ptr<Item> add_item(MirrorRecord record);
  void write_records();
  void report(const std::string& name, Outcome::Kind kind, std::uint64_t bytes, Code code,
              const std::string& message);
  void finish();

  ObjectUrl source_;
  const std::string directory_;
  const StageOptions& options_;
  const std::uint64_t part_size_;
  Reporter& reporter_;
  ObjectStore store_;
  std::unique_ptr<MirrorWriter> state_;
  std::optional<MirrorRecord> old_;
  std::string last_key_;

  std::mutex mutex_;  // of what follows, the state and the reporter
  std::condition_variable settled_;
  std::deque<std::shared_ptr<Item>> items_;
  // Last, so that its threads end first.
  std::unique_ptr<Fetcher> fetcher_;
};

bool Mirror::is_chosen(const std::string& name) const {
  const auto matches = [&](const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
      if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    }
    return false;
  };
  return (options_.include.empty() || matches(options_.include)) && !matches(options_.exclude);
}

void Mirror::report(const std::string& name, Outcome::Kind kind, std::uint64_t bytes, Code code,
                    const std::string& message) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.key = name;
  outcome.origin = ObjectUrl{source_.scheme, source_.bucket, source_.key + name}.text();
  outcome.code = code;
  outcome.message = message;
  if (kind == Outcome::Kind::written) outcome.bytes_in = outcome.bytes_out = bytes;
  const std::lock_guard lock(mutex_);
  reporter_.add(outcome);
}

// A record of the state whose object is not in the listing.
void Mirror::pass_vanished() {
  const MirrorRecord record = *std::exchange(old_, state_->old().next());
  if (!options_.remove || !is_chosen(record.key)) return;
  std::string why;
  const auto place = mirror_path(record.key, &why);
  if (!place || place->empty()) return;
  const std::string path = join_path(directory_, *place);
  struct stat st {};
  // What was changed since is somebody's own.
  if (lstat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || mtime_ns(st) != record.mtime_ns) {
    return;
  }
  if (!options_.dry_run && unlink(path.c_str()) != 0) fail_errno(errno, "remove", path);
  report(record.key, Outcome::Kind::skipped, 0, Code{}, "gone from the bucket, removed");
}

void Mirror::visit(ObjectInfo object) {
  if (!last_key_.empty() && object.key <= last_key_) {
    fail(Code::unsupported, "{}: the server lists keys in no order, and a mirror needs one",
         printable(source_.text()));
  }
  last_key_ = object.key;
  const std::string name = object.key.substr(source_.key.size());
  while (old_ && old_->key < name) pass_vanished();
  if (!is_chosen(name)) {
    if (old_ && old_->key == name) keep(*std::exchange(old_, state_->old().next()));
    report(name, Outcome::Kind::skipped, 0, Code{}, "left out by a pattern");
    return;
  }
  std::string why;
  const auto place = mirror_path(name, &why);
  if (!place) {
    report(name, Outcome::Kind::failed, 0, Code::name,
           printable(ObjectUrl{source_.scheme, source_.bucket, object.key}.text()) + ": " + why);
    return;
  }
  if (place->empty()) return;  // the prefix itself
  const std::string path = join_path(directory_, *place);
  if (place->ends_with('/') && object.size == 0) {
    if (!options_.dry_run) make_directories(path);
    report(name, Outcome::Kind::skipped, 0, Code{}, "directories");
    return;
  }
  if (is_up_to_date(object, name, path)) {
    report(name, Outcome::Kind::skipped, 0, Code{}, "up to date");
    return;
  }
  try {
    if (place->ends_with('/')) {
      fail(Code::name, "{}: has bytes, and a name that only a directory can have",
           printable(ObjectUrl{source_.scheme, source_.bucket, object.key}.text()));
    }
    if (options_.dry_run) {
      report(name, Outcome::Kind::written, object.size, Code{}, "");
    } else {
      fetch(std::move(object), name, path);
    }
  } catch (const BadSample& error) {
    report(name, Outcome::Kind::failed, 0, error.code(), error.what());
  } catch (const Error& error) {
    if (error.code() != Code::name) throw;
    report(name, Outcome::Kind::failed, 0, error.code(), error.what());
  }
}

// By what the state says, and by the file's own size and time.
bool Mirror::is_up_to_date(const ObjectInfo& object, const std::string& name,
                           const std::string& path) {
  if (!old_ || old_->key != name) return false;
  const MirrorRecord record = *std::exchange(old_, state_->old().next());
  struct stat st {};
  const bool is_same = record.size == object.size && record.etag == object.etag &&
                       stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) &&
                       static_cast<std::uint64_t>(st.st_size) == object.size &&
                       mtime_ns(st) == record.mtime_ns;
  if (!is_same) return false;
  if (options_.checksum) {
    ObjectChecker checker(object);
    const FileContent file(path, object.size);
    constexpr std::uint64_t kPiece = 1 << 20;
    for (std::uint64_t at = 0; at < object.size; at += kPiece) {
      checker.update(file.read(at, kPiece).view());
    }
    if (checker.finish() == ObjectChecker::Verdict::wrong) return false;
  }
  keep(record);
  return true;
}

// The file is what its record says.
void Mirror::keep(const MirrorRecord& record) {
  const auto item = add_item(record);
  const std::lock_guard lock(mutex_);
  item->is_settled = item->is_known = true;
  write_records();
}

std::shared_ptr<Item> Mirror::add_item(MirrorRecord record) {
  std::unique_lock lock(mutex_);
  while (items_.size() >= kMostPending) {
    settled_.wait_for(lock, std::chrono::milliseconds(100));
    check_interrupt();
  }
  items_.push_back(std::make_shared<Item>(Item{std::move(record)}));
  return items_.back();
}

// As far as everything before is settled.
void Mirror::write_records() {
  while (!items_.empty() && items_.front()->is_settled) {
    if (items_.front()->is_known) state_->add(items_.front()->record);
    items_.pop_front();
  }
  settled_.notify_all();
}

void Mirror::fetch(ObjectInfo object, const std::string& name, const std::string& path) {
  try {
    make_directories(parent_directory(path));
  } catch (const Error&) {
    const std::string file = file_in_the_way_of(path);
    if (file.empty()) throw;
    fail(Code::name, "{}: a file is where its directory would be ({})",
         printable(ObjectUrl{source_.scheme, source_.bucket, object.key}.text()), printable(file));
  }
  check_is_no_directory(path, object.key);
  FetchJob job;
  job.url = {source_.scheme, source_.bucket, object.key};
  auto item = add_item({name, object.etag, object.size, 0});
  const bool is_small = object.size <= std::min(kSmallObject, part_size_);
  job.object = std::move(object);
  is_small ? fetch_small(std::move(job), std::move(item), path)
           : fetch_large(std::move(job), std::move(item), path);
}

// What is no directory and has the name of one that `path` lies in; "" if there is none.
std::string Mirror::file_in_the_way_of(const std::string& path) const {
  for (std::string above = parent_directory(path); above.size() > directory_.size();
       above = parent_directory(above)) {
    struct stat st {};
    if (lstat(above.c_str(), &st) == 0 && !S_ISDIR(st.st_mode)) return above;
  }
  return "";
}

// Both "d" and "d/f" are keys that a bucket can have, and a directory cannot.
void Mirror::check_is_no_directory(const std::string& path, const std::string& key) const {
  struct stat st {};
  if (lstat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return;
  fail(Code::name, "{}: would be a file where there is a directory ({}); fetch it through the cache",
       printable(ObjectUrl{source_.scheme, source_.bucket, key}.text()), printable(path));
}

std::string Mirror::path_of(const Item& item) const {
  std::string why;
  return join_path(directory_, *mirror_path(item.record.key, &why));
}

// Notes what became of an object. Its file has its final name, if all went well.
void Mirror::settle(Item& item, const std::optional<Error>& error) {
  struct stat st {};
  const std::string path = path_of(item);
  const bool is_known = !error && stat(path.c_str(), &st) == 0;
  report(item.record.key, error ? Outcome::Kind::failed : Outcome::Kind::written, item.record.size,
         error ? error->code() : Code{}, error ? error->what() : "");
  const std::lock_guard lock(mutex_);
  item.is_settled = true;
  item.is_known = is_known;
  if (is_known) item.record.mtime_ns = mtime_ns(st);
  write_records();
}

void Mirror::fetch_small(FetchJob job, std::shared_ptr<Item> item, const std::string& path) {
  const auto target = std::make_shared<SmallFileTarget>(path, temporary_for(path), job.object.size);
  const std::int64_t mtime_ns = job.object.mtime_ns;
  submit(std::move(job), std::move(item), target,
         [target, mtime_ns](bool) { target->publish(mtime_ns); });
}

void Mirror::fetch_large(FetchJob job, std::shared_ptr<Item> item, const std::string& path) {
  const ObjectInfo& object = job.object;
  const std::string identity = source_.text() + '\n' + object.key + '\n' + object.etag;
  const auto partial = std::make_shared<PartialObject>(
      PartialObject::create(temporary_for(path), identity, object.size, part_size_));
  const std::int64_t mtime_ns = object.mtime_ns;
  submit(std::move(job), std::move(item), std::make_shared<PartialTarget>(partial),
         [partial, path, mtime_ns](bool is_whole) {
           if (!is_whole) return partial->remove();
           const timespec times[2] = {{0, UTIME_OMIT},
                                      {mtime_ns / 1'000'000'000, mtime_ns % 1'000'000'000}};
           if (mtime_ns != 0) (void)futimens(partial->fd(), times);
           partial->publish(path, /*sync=*/false);
         });
}

// `end` gives the file its name, or takes away what is of no use to a later run.
void Mirror::submit(FetchJob job, std::shared_ptr<Item> item, std::shared_ptr<FetchTarget> target,
                    std::function<void(bool is_whole)> end) {
  job.target = std::move(target);
  job.done = [this, key = job.url.key, item = std::move(item), end = std::move(end)](const std::optional<Error>& error,
                                                                  const Fetched&, bool changed) {
    std::optional<Error> failure = error;
    try {
      if (!error || changed) end(!error);
    } catch (const Error& writing) {
      failure = writing;
      try {  // a directory may have come since
        check_is_no_directory(path_of(*item), key);
      } catch (const Error& conflict) {
        failure = conflict;
      }
    }
    settle(*item, failure);
  };
  fetcher_->submit(std::move(job));
}

// The state says what is there, so that must be on the disk first.
void Mirror::finish() {
  const Fd directory = open_file(directory_, O_RDONLY | O_DIRECTORY);
  if (syncfs(directory.get()) != 0) fail_errno(errno, "sync", directory_);
  const std::lock_guard lock(mutex_);
  write_records();
  state_->commit();
}

}  // namespace

void sync_mirror(const ObjectUrl& source, const std::string& directory, const StageOptions& options,
                 int jobs, Reporter& reporter) {
  if (source.scheme != ObjectUrl::Scheme::s3) {
    fail(Code::usage, "{}: only S3 servers can be asked what is below a prefix; fetch by name",
         printable(source.text()));
  }
  Mirror(source, directory, options, jobs, reporter).run();
}

}  // namespace prep
