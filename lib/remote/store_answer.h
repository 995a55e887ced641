// A result of the network thread that another thread waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {

// Set once, taken once.
template <typename T>
class StoreAnswer {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    is_set_.notify_all();
  }
  void set_error(const Error& error) {
    const std::lock_guard lock(mutex_);
    error_ = error;
    is_set_.notify_all();
  }
  // throws the error; Error interrupted as soon as a signal came.
  T take() {
    std::unique_lock lock(mutex_);
    // The handler of a signal can notify nobody.
    while (!is_set_.wait_for(lock, std::chrono::milliseconds(50),
                             [this] { return value_ || error_; })) {
      check_interrupt();
    }
    if (error_) throw *error_;
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable is_set_;
  std::optional<T> value_;
  std::optional<Error> error_;
};

}  // namespace prep
