#include "lib/core/shared_work.h"

#include <thread>
#include <utility>
#include <vector>

#include "lib/core/interrupt.h"

namespace prep {

bool SharedWork::do_one() {
  std::unique_lock lock(mutex_);
  if (error_ || next_ == pieces_) return false;
  const std::size_t mine = next_++;
  ++running_;
  lock.unlock();
  std::exception_ptr error;
  try {
    check_interrupt();
    piece_(mine);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (error && (!error_ || mine < failed_piece_)) {
    error_ = error;
    failed_piece_ = mine;
  }
  if (--running_ == 0) done_.notify_all();
  return true;
}

void SharedWork::join() {
  while (do_one()) {
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

namespace {

// Threads that came to help, each with a slot; joined on every way out.
class Helpers {
 public:
  Helpers(JobSlots* slots, SharedWork& work) : slots_(slots), work_(work) {}
  ~Helpers() {
    for (std::thread& thread : threads_) thread.join();
  }

  void invite() {
    if (slots_ == nullptr || static_cast<int>(threads_.size()) + 1 >= slots_->limit()) return;
    if (!slots_->try_acquire()) return;
    try {
      threads_.emplace_back([this] {
        const InterruptibleThread interruptible;
        while (work_.do_one()) {
        }
        slots_->release();
      });
    } catch (...) {
      slots_->release();  // no more threads to be had: those that are there do the work
    }
  }

 private:
  JobSlots* slots_;
  SharedWork& work_;
  std::vector<std::thread> threads_;
};

}  // namespace

void Crew::run(SharedWork& work) const {
  Helpers helpers(slots_, work);
  do {
    helpers.invite();  // a slot may become free at any time
  } while (work.do_one());
  work.join();
}

void Crew::run(std::size_t pieces, std::function<void(std::size_t)> piece) const {
  SharedWork work(pieces, std::move(piece));
  if (pieces > 1) return run(work);
  work.join();
}

}  // namespace prep
