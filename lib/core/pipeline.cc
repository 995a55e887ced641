#include "lib/core/pipeline.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "lib/core/interrupt.h"

namespace prep {
namespace {

// How long a thread that holds one of make's tokens waits for work before it gives it back.
constexpr auto kIdleBeforeRelease = std::chrono::milliseconds(20);

// A thread takes as many samples at a time as it will be busy with for about this long, so that
// cheap stages are not outweighed by the hand-over.
constexpr auto kBatchTime = std::chrono::microseconds(200);
constexpr std::size_t kLargestBatch = 64;

// Parts up to this size are read in parallel for a sink that is not.
constexpr std::uint64_t kLargestPreload = 4 << 20;

struct Item {
  Sample sample;
  Outcome outcome;
};

struct Batch {
  std::vector<Item> items;
  std::uint64_t bytes = 0;  // what it adds to the bytes in flight
  bool ready = false;       // through the stage
};

std::uint64_t resident_bytes(const Sample& sample) {
  std::uint64_t sum = 0;
  for (const Part& part : sample.parts) sum += part.content->resident_bytes();
  return sum;
}

std::uint64_t resident_bytes(const Batch& batch) {
  std::uint64_t sum = 0;
  for (const Item& item : batch.items) sum += resident_bytes(item.sample);
  return sum;
}

std::uint64_t total_size(const Sample& sample) {
  std::uint64_t sum = 0;
  for (const Part& part : sample.parts) sum += part.content->size();
  return sum;
}

void set_failed(Outcome& outcome, Code code, const std::string& message) {
  outcome.kind = Outcome::Kind::failed;
  outcome.code = code;
  outcome.message = message;
  outcome.bytes_out = 0;
}

void set_skipped(Outcome& outcome, std::string reason) {
  outcome.kind = Outcome::Kind::skipped;
  outcome.message = std::move(reason);
  outcome.bytes_out = 0;
}

class Pipeline {
 public:
  Pipeline(Source& source, const Stage& stage, Sink& sink, JobSlots& slots,
           const PipelineOptions& options, const std::function<void(const Outcome&)>& done)
      : source_(source),
        stage_(stage),
        sink_(sink),
        slots_(slots),
        options_(options),
        done_(done),
        max_samples_(options.max_samples
                         ? options.max_samples
                         : 32 * static_cast<std::size_t>(std::max(slots.limit(), 1))),
        remember_keys_(!source.unique_keys()) {}

  void run() {
    work(/*first=*/true);
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    hired_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    if (error_) std::rethrow_exception(error_);
    if (source_error_) std::rethrow_exception(source_error_);
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // --- the crew ---------------------------------------------------------------------------------

  // The life of a thread beyond the first: works while it has a slot, then waits for another.
  void serve() {
    Lock lock(mutex_);
    for (;;) {
      hired_.wait(lock, [&] { return granted_ > 0 || closing_; });
      if (granted_ == 0) return;
      --granted_;
      lock.unlock();
      work(/*first=*/false);
      slots_.release();
      lock.lock();
      --helpers_;
    }
  }

  // Called when there may be work for one more: asks for a slot, and wakes or starts a thread.
  void invite(Lock&) {
    // Once the run is ending, nobody would wait for the new thread.
    if (finished() || helpers_ + 1 >= slots_.limit() || !slots_.try_acquire()) return;
    ++helpers_;
    ++granted_;
    if (helpers_ <= static_cast<int>(threads_.size())) {
      hired_.notify_one();
      return;
    }
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (...) {
      // No more threads to be had: those that are there do the work.
      --helpers_;
      --granted_;
      slots_.release();
    }
  }

  // Does what is to be done until all is done; a helper leaves earlier when its slot is wanted.
  void work(bool first) {
    const InterruptibleThread interruptible;
    Lock lock(mutex_);
    bool is_needed = true;
    while (is_needed && !finished()) {
      try {
        is_needed = do_something(lock, first);
      } catch (...) {
        // Ends the run, unless something ended it before. No other thread waits for what this one
        // had begun.
        if (!lock.owns_lock()) lock.lock();
        if (!error_) error_ = std::current_exception();
        changed_.notify_all();
      }
    }
  }

  // Takes the most urgent of the things to do, or waits for one; false if this thread has been idle
  // for so long that its slot should be another's.
  bool do_something(Lock& lock, bool first) {
    check_interrupt();
    if (can_write()) {
      write_oldest(lock);
    } else if (can_assist()) {
      assist(lock);
    } else if (can_read()) {
      read_and_process(lock);
    } else if (first || !slots_.shared()) {
      changed_.wait_for(lock, std::chrono::milliseconds(200));
    } else {
      return changed_.wait_for(lock, kIdleBeforeRelease) == std::cv_status::no_timeout;
    }
    return true;
  }

  bool finished() const { return error_ || (source_ended_ && !reading_ && batches_.empty()); }
  bool can_write() const { return !writing_ && !batches_.empty() && batches_.front()->ready; }
  bool can_assist() const { return !assisting_ && may_assist_; }
  bool can_read() const {
    return !reading_ && !source_ended_ &&
           (batches_.empty() ||
            (samples_in_flight_ < max_samples_ && bytes_in_flight_ < options_.max_bytes));
  }

  // --- the four things to do: what they throw ends the run --------------------------------------

  void read_and_process(Lock& lock) {
    reading_ = true;
    const std::size_t wanted = std::min(batch_size_, max_samples_ - samples_in_flight_);
    const std::uint64_t room = options_.max_bytes - bytes_in_flight_;
    lock.unlock();
    auto batch = std::make_unique<Batch>();
    std::exception_ptr error;
    bool more = true;
    try {
      while (more && batch->items.size() < wanted && batch->bytes < room) more = read_into(*batch);
    } catch (...) {
      // What was read before still goes its way, and then the run ends with this error.
      error = std::current_exception();
    }
    lock.lock();
    reading_ = false;
    source_ended_ = !more || error;
    if (error) source_error_ = error;
    if (batch->items.empty()) {
      changed_.notify_all();
      return;
    }
    Batch& mine = *batch;
    samples_in_flight_ += mine.items.size();
    bytes_in_flight_ += mine.bytes;
    batches_.push_back(std::move(batch));
    if (can_read()) {
      changed_.notify_one();
      invite(lock);
    }
    lock.unlock();
    process(lock, mine);
  }

  // Takes a batch through the stage; comes back with the lock.
  void process(Lock& lock, Batch& batch) {
    const auto start = std::chrono::steady_clock::now();
    for (Item& item : batch.items) process(item);
    const auto each = (std::chrono::steady_clock::now() - start) / batch.items.size();
    lock.lock();
    batch_size_ = std::clamp<std::size_t>(
        each.count() > 0 ? static_cast<std::size_t>(kBatchTime / each) : kLargestBatch, 1,
        kLargestBatch);
    const std::uint64_t now = resident_bytes(batch);
    bytes_in_flight_ += now - batch.bytes;
    batch.bytes = now;
    batch.ready = true;
    if (batches_.front().get() == &batch) changed_.notify_one();
  }

  // Adds the next sample that is this task's; false at the end. Keys are compared here, where
  // samples come in order, so that of two samples with one name it is always the second that fails.
  bool read_into(Batch& batch) {
    Item item;
    do {
      item.sample = Sample();
      if (!source_.next(item.sample)) return false;
    } while (!options_.task.has(item.sample.key));
    item.outcome.key = item.sample.key;
    if (!item.sample.parts.empty()) item.outcome.origin = item.sample.parts[0].content->origin();
    if (remember_keys_ && !item.sample.fault && !keys_.insert(item.sample.key)) {
      item.sample.fault = Error(
          Code::duplicate, fmt::format("{}: another sample before it has the key '{}' too",
                                       printable(item.outcome.origin), printable(item.sample.key)));
    }
    batch.bytes += resident_bytes(item.sample);
    batch.items.push_back(std::move(item));
    return true;
  }

  // In parallel. Errors mark the sample; only a sink's own failure leaves.
  void process(Item& item) {
    Outcome& outcome = item.outcome;
    try {
      if (item.sample.fault) throw *item.sample.fault;
      sink_.check_source(item.sample, stage_);
      if (sink_.up_to_date(item.sample, stage_)) {
        set_skipped(outcome, "up to date");
      } else {
        if (!options_.dry_run) sink_.remove_outdated(item.sample, stage_);
        outcome.bytes_in = total_size(item.sample);
        stage_.apply(item.sample, outcome.notes);
        if (!outcome.notes.skip_reason.empty()) {
          set_skipped(outcome, outcome.notes.skip_reason);
        } else {
          sink_.check(item.sample);
          if (!sink_.concurrent() && sink_.wants_bytes()) preload(item.sample);
        }
      }
    } catch (const Error& error) {
      if (error.code() == Code::interrupted) throw;
      set_failed(outcome, error.code(), error.what());
    } catch (const std::bad_alloc&) {
      set_failed(outcome, Code::limit,
                 fmt::format("{}: not enough memory", printable(outcome.origin)));
    } catch (const std::exception& error) {
      set_failed(outcome, Code::internal,
                 fmt::format("{}: {}", printable(outcome.origin), error.what()));
    }
    if (sink_.concurrent()) put(item);
    if (outcome.kind != Outcome::Kind::written) item.sample.parts.clear();
  }

  // The one thread that writes shall not have to read as well.
  static void preload(Sample& sample) {
    for (Part& part : sample.parts) {
      const Content& content = *part.content;
      if (content.resident_bytes() > 0 || content.size() > kLargestPreload) continue;
      Bytes bytes = content.load();  // first: a file that is open need not be asked by name
      part.content =
          std::make_shared<MemoryContent>(std::move(bytes), content.origin(), content.mtime_ns());
    }
  }

  void put(Item& item) {
    Outcome& outcome = item.outcome;
    if (outcome.kind == Outcome::Kind::written) {
      try {
        outcome.bytes_out = total_size(item.sample);
        if (!options_.dry_run) sink_.put(item.sample);
      } catch (const BadSample& error) {
        set_failed(outcome, error.code(), error.what());
      }
    }
    item.sample.parts.clear();
  }

  void write_oldest(Lock& lock) {
    writing_ = true;
    Batch& batch = *batches_.front();
    lock.unlock();
    for (Item& item : batch.items) {
      if (!sink_.concurrent()) put(item);
      done_(item.outcome);
    }
    lock.lock();
    writing_ = false;
    samples_in_flight_ -= batch.items.size();
    bytes_in_flight_ -= batch.bytes;
    batches_.pop_front();
    may_assist_ = true;
    // Others may wait for room, for the role of the writer, for what was put off, or for the end.
    changed_.notify_all();
  }

  void assist(Lock& lock) {
    assisting_ = true;
    may_assist_ = false;  // until more is written, or this finds that there is more to do
    lock.unlock();
    const bool did = sink_.assist();
    lock.lock();
    assisting_ = false;
    may_assist_ = may_assist_ || did;
  }

  Source& source_;
  const Stage& stage_;
  Sink& sink_;
  JobSlots& slots_;
  const PipelineOptions& options_;
  const std::function<void(const Outcome&)>& done_;
  const std::size_t max_samples_;
  const bool remember_keys_;
  KeySet keys_;  // of the reading thread

  std::mutex mutex_;
  std::condition_variable changed_;             // there may be something to do
  std::condition_variable hired_;               // a slot was granted, or the run is over
  std::deque<std::unique_ptr<Batch>> batches_;  // from the oldest that is not written yet
  std::size_t batch_size_ = 1;
  std::size_t samples_in_flight_ = 0;
  std::uint64_t bytes_in_flight_ = 0;
  bool reading_ = false, writing_ = false, source_ended_ = false, closing_ = false;
  bool assisting_ = false, may_assist_ = false;
  std::exception_ptr error_;         // ends the run at once
  std::exception_ptr source_error_;  // ends it once all that was read is through
  std::vector<std::thread> threads_;
  int helpers_ = 0;  // slots held for threads beyond the first
  int granted_ = 0;  // those of them that no thread has taken up yet
};

}  // namespace

void run_pipeline(Source& source, const Stage& stage, Sink& sink, JobSlots& slots,
                  const PipelineOptions& options, const std::function<void(const Outcome&)>& done) {
  Pipeline(source, stage, sink, slots, options, done).run();
}

}  // namespace prep
