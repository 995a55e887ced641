// One sample's work, divided among the threads that happen to be free.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "lib/core/jobs.h"

namespace prep {

// A number of independent pieces. Any thread may join in at any time.
class SharedWork {
 public:
  // `piece` is called with 0 to pieces - 1, from several threads at once.
  SharedWork(std::size_t pieces, std::function<void(std::size_t)> piece)
      : piece_(std::move(piece)), pieces_(pieces) {}

  // Does the next piece that nobody has taken; false if there is none.
  bool do_one();
  // Does pieces until none is left, then waits for those that others are at. throws what a piece
  // has thrown, of several the one of the lowest number: pieces are taken in order, and none after
  // one that threw, so that it is always the same.
  void join();

 private:
  const std::function<void(std::size_t)> piece_;
  const std::size_t pieces_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::size_t next_ = 0, running_ = 0;
  std::size_t failed_piece_ = 0;
  std::exception_ptr error_;
};

// Who does such work: the calling thread, and as many others as there are free slots.
class Crew {
 public:
  // Without slots, the calling thread does everything. They must outlive the crew.
  explicit Crew(JobSlots* slots = nullptr) : slots_(slots) {}

  // Comes back when all pieces are done. throws as SharedWork::join() does.
  void run(std::size_t pieces, std::function<void(std::size_t)> piece) const;
  // The same for work that other threads may have joined already.
  void run(SharedWork& work) const;

 private:
  JobSlots* slots_;
};

}  // namespace prep
