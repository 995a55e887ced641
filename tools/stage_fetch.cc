#include "tools/stage_fetch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/file_io.h"
#include "lib/core/interrupt.h"
#include "lib/core/spec.h"
#include "lib/remote/fetch_target.h"
#include "lib/remote/fetcher.h"

namespace prep {
namespace {

constexpr std::size_t kPiece = 256 << 10;
// How long to read along without anything coming before asking whether the other process is alive.
constexpr double kPatience = 0.25;
// Objects that change on the server while they are fetched are begun again so often.
constexpr int kVersions = 3;
constexpr std::size_t kWarmAtOnce = 16;

// Gives the bytes [read, end) of a file to the reader.
void pass_on(int fd, std::uint64_t& read, std::uint64_t end, const CachedObjects::Reader& reader,
             const std::string& name) {
  std::vector<std::uint8_t> piece(std::min<std::uint64_t>(kPiece, end - read));
  while (reader && read < end) {
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), end - read);
    if (pread_fully(fd, piece.data(), wanted, read, name) != wanted) {
      fail(Code::truncated, "{}: is shorter than it was", printable(name));
    }
    reader(ByteView(piece).first(wanted));
    read += wanted;
  }
}

// What becomes of a download, for the thread that waits for it.
struct Ending {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false, object_changed = false;
  std::optional<Error> error;
  Fetched fetched;

  void set(const std::optional<Error>& e, const Fetched& f, bool c) {
    const std::lock_guard lock(mutex);
    error = e;
    fetched = f;
    object_changed = c;
    is_done = true;
    changed.notify_all();
  }
};

// The object on the server is another one by now.
class VersionChanged final : public Error {
 public:
  using Error::Error;
};

}  // namespace

// Made when it is first needed: a hit needs none.
struct CachedObjects::Network {
  Network(const StageOptions& options, int jobs)
      : store(options.store()), fetcher(store, options.fetcher(jobs)) {}
  ObjectStore store;
  Fetcher fetcher;
};

CachedObjects::CachedObjects(const StageOptions& options, int jobs)
    : options_(options), jobs_(jobs), cache_(options.cache_options()) {}

CachedObjects::~CachedObjects() = default;

CachedObjects::Network& CachedObjects::network() {
  std::call_once(network_made_, [this] { network_ = std::make_unique<Network>(options_, jobs_); });
  return *network_;
}

std::string CachedObjects::endpoint_name(const ObjectUrl& url) const {
  if (url.scheme == ObjectUrl::Scheme::http) return "";
  return resolve_endpoint(options_.store().endpoint).url_of("", "");
}

std::unique_ptr<Cache::Hold> CachedObjects::get(const ObjectUrl& url, bool* was_there,
                                                const Reader& reader) {
  *was_there = true;
  if (!options_.revalidate) {
    auto hold = cache_.find(endpoint_name(url), url.bucket, url.key);
    if (hold) {
      std::uint64_t read = 0;
      pass_on(hold->fd(), read, hold->size(), reader, hold->path());
      return hold;
    }
  }
  for (int version = 1;; ++version) {
    const ObjectInfo object = network().store.head(url);
    try {
      return get(url, object, was_there, reader);
    } catch (const VersionChanged& error) {
      // What the reader has seen cannot be taken back.
      if (reader || version == kVersions) throw Error(error.code(), error.what());
    }
  }
}

std::unique_ptr<Cache::Hold> CachedObjects::get(const ObjectUrl& url, const ObjectInfo& object,
                                                bool* was_there, const Reader& reader) {
  const CacheKey key{endpoint_name(url), url.bucket, url.key, object.etag, object.size};
  std::uint64_t read = 0;
  for (;;) {
    check_interrupt();
    Cache::Outcome outcome = cache_.acquire(key);
    if (outcome.hold) {
      pass_on(outcome.hold->fd(), read, outcome.hold->size(), reader, outcome.hold->path());
      return std::move(outcome.hold);
    }
    *was_there = false;
    if (outcome.download) return fetch(url, object, *outcome.download, read, reader);
    if (!outcome.growing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      continue;
    }
    // Another process is at it: until it is done, or seems to be gone.
    const PartialObject& growing = *outcome.growing;
    for (std::uint64_t seen = growing.available(); !growing.is_complete();) {
      check_interrupt();
      if (reader) pass_on(growing.fd(), read, std::max(read, seen), reader, growing.path());
      const std::uint64_t available = growing.wait(seen, kPatience);
      if (available <= seen) break;
      seen = available;
    }
    if (growing.is_complete()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::unique_ptr<Cache::Hold> CachedObjects::fetch(const ObjectUrl& url, const ObjectInfo& object,
                                                  Cache::Download& download, std::uint64_t& read,
                                                  const Reader& reader) {
  auto ending = std::make_shared<Ending>();
  FetchJob job;
  job.url = url;
  job.object = object;
  // The download outlives the job: this waits for its end.
  job.target = std::make_shared<PartialTarget>(
      std::shared_ptr<PartialObject>(std::shared_ptr<void>(), &download.partial()));
  job.want_sha256 = true;
  job.done = [ending](const std::optional<Error>& error, const Fetched& fetched, bool changed) {
    ending->set(error, fetched, changed);
  };
  network().fetcher.submit(std::move(job));
  PartialObject& partial = download.partial();
  std::optional<Error> reading;
  std::unique_lock lock(ending->mutex);
  while (!ending->is_done) {
    if (reader && !reading) {
      lock.unlock();
      try {
        const std::uint64_t available = partial.wait(read, kPatience);
        pass_on(partial.fd(), read, std::max(read, available), reader, partial.path());
      } catch (const Error& error) {
        reading = error;  // the download is of use all the same, to others
      }
      lock.lock();
    } else {
      ending->changed.wait_for(lock, std::chrono::milliseconds(200));
    }
  }
  lock.unlock();
  if (ending->object_changed) {
    download.discard();
    throw VersionChanged(ending->error->code(), ending->error->what());
  }
  if (ending->error) throw Error(ending->error->code(), ending->error->what());
  auto hold = download.finish(ending->fetched.sha256,
                              ending->fetched.verdict == ObjectChecker::Verdict::verified);
  if (reading) throw Error(reading->code(), reading->what());
  pass_on(hold->fd(), read, hold->size(), reader, hold->path());
  return hold;
}

// --- commands -----------------------------------------------------------------------------------

namespace {

// One a line; empty lines are none.
std::vector<std::string> read_list(const std::string& path) {
  const Fd opened = path == "-" ? Fd() : open_file(path, O_RDONLY);
  const int fd = path == "-" ? STDIN_FILENO : opened.get();
  std::string text;
  std::vector<std::uint8_t> piece(kPiece);
  while (const std::size_t size = read_fully(fd, piece.data(), piece.size(), path)) {
    text.append(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size));
  }
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Outcome outcome_of(const ObjectUrl& url, std::uint64_t bytes, bool was_there) {
  Outcome outcome;
  outcome.kind = was_there ? Outcome::Kind::skipped : Outcome::Kind::written;
  outcome.key = outcome.origin = url.text();
  if (was_there) outcome.message = "in the cache already";
  if (!was_there) outcome.bytes_in = outcome.bytes_out = bytes;
  return outcome;
}

}  // namespace

std::vector<ObjectUrl> objects_named(const std::vector<Spec>& words) {
  std::vector<ObjectUrl> urls;
  const auto add = [&](const std::string& word) {
    for (const std::string& one : expand_braces(word)) {
      urls.push_back(parse_object_url(one));
      const ObjectUrl& url = urls.back();
      if (url.scheme == ObjectUrl::Scheme::s3 && url.key.empty()) {
        fail(Code::usage, "{}: names a bucket, not an object", printable(one));
      }
    }
  };
  for (const Spec& word : words) {
    if (word.kind != SpecKind::list) {
      add(word.text);
      continue;
    }
    for (const std::string& line : read_list(word.path)) add(line);
  }
  if (urls.empty())
    fail(Code::usage, "which objects? give URLs, as in s3://bucket/a-{{000..099}}.tar");
  return urls;
}

void get_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, Reporter& reporter) {
  for (const ObjectUrl& url : urls) {
    bool was_there = false;
    const auto hold = objects.get(url, &was_there);
    reporter.add(outcome_of(url, hold->size(), was_there));
    write_fully(STDOUT_FILENO, as_bytes(hold->path() + "\n"), "standard output");
  }
}

void cat_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, Reporter& reporter) {
  for (const ObjectUrl& url : urls) {
    bool was_there = false;
    const auto hold = objects.get(url, &was_there, [](ByteView bytes) {
      write_fully(STDOUT_FILENO, bytes, "standard output");
    });
    reporter.add(outcome_of(url, hold->size(), was_there));
  }
}

void warm_objects(const std::vector<ObjectUrl>& urls, CachedObjects& objects, bool pin,
                  Reporter& reporter) {
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::optional<Error> interrupted;
  const auto work = [&] {
    const InterruptibleThread interruptible;
    for (std::size_t i = next++; i < urls.size(); i = next++) {
      Outcome outcome;
      try {
        bool was_there = false;
        const auto hold = objects.get(urls[i], &was_there);
        if (pin) objects.cache().pin(hold->path(), true);
        outcome = outcome_of(urls[i], hold->size(), was_there);
      } catch (const Error& error) {
        outcome = outcome_of(urls[i], 0, false);
        outcome.kind = Outcome::Kind::failed;
        outcome.code = error.code();
        outcome.message = error.what();
        if (error.code() == Code::interrupted) {
          const std::lock_guard lock(mutex);
          interrupted = error;
          return;
        }
      }
      const std::lock_guard lock(mutex);
      reporter.add(outcome);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(kWarmAtOnce, urls.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (interrupted) throw Error(interrupted->code(), interrupted->what());
}

}  // namespace prep
