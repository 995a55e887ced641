#include "lib/remote/fetcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lib/core/interrupt.h"
#include "lib/core/jobs.h"
#include "lib/remote/block_pool.h"
#include "lib/remote/connection_governor.h"
#include "lib/remote/fetch_task.h"

namespace prep {
namespace {

using TaskPtr = std::shared_ptr<FetchTask>;

constexpr int kMostConnections = 128;
// Jobs that wait hold files open.
constexpr std::size_t kMostWaiting = 64;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t block_count(const FetcherOptions& options) {
  return std::max<std::size_t>(options.max_buffered / BlockPool::kBlockSize, 4);
}

// Every stream holds a block that is not full, and those that are must find others.
int most_connections(const FetcherOptions& options) {
  return std::clamp(static_cast<int>(std::min<std::size_t>(block_count(options) / 2, INT32_MAX)), 1,
                    kMostConnections);
}

}  // namespace

struct Fetcher::State {
  State(ObjectStore& a_store, FetcherOptions options);
  ~State();

  void pump();  // with the mutex
  bool ask_one();
  void ask(const TaskPtr& task, FetchTask::Range range);
  void observe();
  void stream_ended();
  void schedule(FetchStreamPtr stream);
  void run_worker();
  void work(const FetchStreamPtr& stream);
  void ask_part_size(const TaskPtr& task);
  void cancel_all();
  template <typename Condition>
  void wait_until(Condition condition);
  class StreamReader;

  ObjectStore& store;
  BlockPool pool;
  std::atomic<std::uint64_t> received{0};

  std::mutex mutex;
  std::condition_variable changed;
  ConnectionGovernor governor;
  const std::size_t most_active;  // large objects that are read side by side
  std::deque<TaskPtr> waiting;    // nothing was asked for yet
  std::deque<TaskPtr> active;     // there may be more to ask for; the next one first
  std::vector<TaskPtr> unfinished;
  std::vector<ObjectStore::Id> questions;  // about sizes of parts; most are answered
  int reading = 0;
  std::uint64_t requests = 0;
  bool is_closing = false;

  std::mutex queue_mutex;
  std::condition_variable queue_changed;
  std::deque<FetchStreamPtr> queue;
  bool is_queue_closed = false;
  std::vector<std::thread> workers;
};

// Fills blocks on the network thread.
class Fetcher::State::StreamReader final : public ObjectStore::Reader {
 public:
  StreamReader(State& fetcher, FetchStreamPtr stream)
      : fetcher_(fetcher), stream_(std::move(stream)) {}

  void on_start(ObjectStore::Id id) override { stream_->id = id; }
  void on_object(const ObjectInfo& object) override { stream_->task->described(object); }

  Receiver::Take on_bytes(std::uint64_t offset, ByteView bytes) override {
    const std::size_t room = block_.data ? BlockPool::kBlockSize - block_.size : 0;
    std::unique_ptr<std::uint8_t[]> fresh;
    if (bytes.size() > room) {
      fresh = fetcher_.pool.take([&store = fetcher_.store, id = stream_->id] { store.resume(id); });
      if (!fresh) return Receiver::Take::later;
    }
    const std::size_t first = std::min(room, bytes.size());
    append(bytes.first(first));
    if (fresh) {
      flush();
      block_ = {std::move(fresh), 0, offset + first};
      append(bytes.subspan(first));
    }
    fetcher_.received += bytes.size();
    fetcher_.observe();
    return Receiver::Take::taken;
  }

  void on_done(const std::optional<Error>& error, bool changed) override {
    flush();
    if (stream_->task->end(*stream_, error, changed)) fetcher_.schedule(stream_);
    fetcher_.stream_ended();
  }

 private:
  void append(ByteView bytes) {
    if (bytes.empty()) return;
    std::memcpy(block_.data.get() + block_.size, bytes.data(), bytes.size());
    block_.size += bytes.size();
  }
  void flush() {
    if (!block_.data) return;
    if (stream_->task->add(*stream_, std::move(block_))) fetcher_.schedule(stream_);
    block_ = {};
  }

  State& fetcher_;
  const FetchStreamPtr stream_;
  Block block_;
};

Fetcher::State::State(ObjectStore& a_store, FetcherOptions options)
    : store(a_store),
      pool(block_count(options)),
      governor(options.max_connections, most_connections(options)),
      most_active(static_cast<std::size_t>(
          std::max(options.workers > 0 ? options.workers : available_cpus(), 2))) {
  const int count = options.workers > 0 ? options.workers : available_cpus();
  for (int i = 0; i < count; ++i) workers.emplace_back([this] { run_worker(); });
}

Fetcher::State::~State() {
  {
    std::unique_lock lock(mutex);
    is_closing = true;
    cancel_all();
    changed.wait(lock, [this] { return unfinished.empty() && reading == 0; });
  }
  {
    const std::lock_guard lock(queue_mutex);
    is_queue_closed = true;
  }
  queue_changed.notify_all();
  for (std::thread& worker : workers) worker.join();
}

// --- asking --------------------------------------------------------------------------------------

void Fetcher::State::pump() {
  while (reading < governor.target() && ask_one()) {
  }
}

// Objects take turns, and so do those that are not begun yet, while fewer are under way than there
// are threads that could hash them.
bool Fetcher::State::ask_one() {
  if (!waiting.empty() && active.size() < most_active) {
    active.push_front(std::move(waiting.front()));
    waiting.pop_front();
    changed.notify_all();
  }
  for (std::size_t i = active.size(); i > 0; --i) {
    const TaskPtr task = std::move(active.front());
    active.pop_front();
    const auto range = task->next_range();
    if (task->has_more()) active.push_back(task);
    if (!range) continue;
    ask(task, *range);
    return true;
  }
  return false;
}

void Fetcher::State::ask(const TaskPtr& task, FetchTask::Range range) {
  const auto stream = std::make_shared<FetchStream>(task);
  task->open(stream);
  ++reading;
  ++requests;
  store.read(task->job().url, task->object(), range.offset, range.length,
             std::make_shared<StreamReader>(*this, stream));
}

void Fetcher::State::observe() {
  const std::lock_guard lock(mutex);
  const int before = governor.target();
  governor.observe(steady_seconds(), received, requests, store.counters().slow_downs,
                   reading >= before);
  if (governor.target() > before) pump();
}

void Fetcher::State::stream_ended() {
  const std::lock_guard lock(mutex);
  --reading;
  pump();
  changed.notify_all();
}

// --- workers -------------------------------------------------------------------------------------

void Fetcher::State::schedule(FetchStreamPtr stream) {
  {
    const std::lock_guard lock(queue_mutex);
    queue.push_back(std::move(stream));
  }
  queue_changed.notify_one();
}

void Fetcher::State::run_worker() {
  const InterruptibleThread interruptible;
  std::unique_lock lock(queue_mutex);
  while (true) {
    queue_changed.wait(lock, [this] { return is_queue_closed || !queue.empty(); });
    if (queue.empty()) return;
    const FetchStreamPtr stream = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    work(stream);
    lock.lock();
  }
}

void Fetcher::State::work(const FetchStreamPtr& stream) {
  const TaskPtr& task = stream->task;
  if (task->work(stream, pool)) schedule(std::make_shared<FetchStream>(task));
  for (const ObjectStore::Id id : task->pointless()) store.cancel(id);
  const FetchTask::Outcome outcome = task->conclude();
  if (outcome == FetchTask::Outcome::unsure) ask_part_size(task);
  if (outcome == FetchTask::Outcome::undigested) schedule(std::make_shared<FetchStream>(task));
  const std::lock_guard lock(mutex);
  if (outcome == FetchTask::Outcome::again) active.push_front(task);
  if (outcome == FetchTask::Outcome::finished) {
    std::erase(unfinished, task);
    changed.notify_all();
  }
  pump();
}

void Fetcher::State::ask_part_size(const TaskPtr& task) {
  const std::lock_guard lock(mutex);
  ++reading;
  const auto use = [this, task](std::uint64_t part_size) {
    task->set_part_size(part_size);
    schedule(std::make_shared<FetchStream>(task));
    stream_ended();
  };
  const ObjectStore::Id id = store.find_part_size(task->job().url, task->object(), use);
  if (is_closing) store.cancel(id);
  questions.push_back(id);
}

// --- the public face -----------------------------------------------------------------------------

// A signal's handler can notify nobody.
template <typename Condition>
void Fetcher::State::wait_until(Condition condition) {
  std::unique_lock lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(50), condition)) {
    check_interrupt();
  }
  check_interrupt();
}

void Fetcher::State::cancel_all() {
  const Error error(Code::interrupted, "the download was ended");
  waiting.clear();
  active.clear();
  for (const ObjectStore::Id id : questions) store.cancel(id);
  for (const TaskPtr& task : unfinished) {
    task->stop(error);
    schedule(std::make_shared<FetchStream>(task));  // cancels its requests, and concludes
  }
}

Fetcher::Fetcher(ObjectStore& store, FetcherOptions options)
    : state_(std::make_unique<State>(store, options)) {}

Fetcher::~Fetcher() = default;

void Fetcher::submit(FetchJob job) {
  state_->wait_until([this] { return state_->waiting.size() < kMostWaiting; });
  const auto task = std::make_shared<FetchTask>(std::move(job));
  const bool has_more = task->has_more();
  const std::lock_guard lock(state_->mutex);
  state_->unfinished.push_back(task);
  if (has_more) {
    state_->waiting.push_back(task);
    state_->pump();
  } else {
    state_->schedule(std::make_shared<FetchStream>(task));  // only to be hashed, if at all
  }
}

void Fetcher::wait() {
  state_->wait_until([this] { return state_->unfinished.empty(); });
}

int Fetcher::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->governor.target();
}

std::uint64_t Fetcher::received() const { return state_->received; }

}  // namespace prep
