// Objects that are costly to make and are used by one thread at a time: scratch memory, decoders.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace prep {

// Unlike thread_local objects, they live no longer than who uses them, and running out of memory
// for one is an exception (glibc aborts when it cannot register a destructor for a thread).
template <typename T>
class Spares {
 public:
  struct GiveBack {
    Spares* spares;
    void operator()(T* used) const noexcept { spares->take_back(std::unique_ptr<T>(used)); }
  };
  // Goes back at the end of its life, which must not be after that of the spares.
  using Lent = std::unique_ptr<T, GiveBack>;

  // The one that was used last, or a new one, made of `arguments`. throws what its constructor
  // does.
  template <typename... Arguments>
  Lent borrow(Arguments&&... arguments) {
    {
      const std::lock_guard lock(mutex_);
      if (!spares_.empty()) {
        Lent lent(spares_.back().release(), {this});
        spares_.pop_back();
        return lent;
      }
    }
    return Lent(new T(std::forward<Arguments>(arguments)...), {this});
  }

 private:
  void take_back(std::unique_ptr<T> used) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      spares_.push_back(std::move(used));
    } catch (const std::bad_alloc&) {
      // Then there is one less.
    }
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace prep
