#include "lib/core/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::size_t kSlots = 1024;

// Slots that a signal handler may read: each is empty (zero) or holds one value.
template <typename T>
class SignalSlots {
 public:
  static_assert(std::atomic<T>::is_always_lock_free, "read in a signal handler");

  // The slot taken, or -1 when all are.
  int add(T value) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      T empty{};
      if (slots_[i].load(std::memory_order_relaxed) == T{} &&
          slots_[i].compare_exchange_strong(empty, value)) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  void remove(int slot) {
    if (slot >= 0) slots_[static_cast<std::size_t>(slot)].store(T{});
  }
  template <typename F>
  void for_each(F f) {
    for (auto& slot : slots_) {
      if (const T value = slot.load()) f(value);
    }
  }

 private:
  std::array<std::atomic<T>, kSlots> slots_{};
};

std::atomic<int> g_signal{0};
SignalSlots<char*> g_paths;
SignalSlots<std::uint64_t> g_tokens;  // fd << 9 | 256 | byte, so that no token is zero
SignalSlots<pthread_t> g_threads;

// Only there to make system calls return EINTR.
constexpr int kWakeSignal = SIGURG;
extern "C" void handle_wake(int) {}

extern "C" void handle_signal(int signal_number) {
  int expected = 0;
  if (!g_signal.compare_exchange_strong(expected, signal_number)) {
    end_at_once(128 + signal_number);
  }
  const int saved = errno;
  g_threads.for_each([](pthread_t thread) {
    if (!pthread_equal(thread, pthread_self())) pthread_kill(thread, kWakeSignal);
  });
  errno = saved;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = handle_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // nohup and background shells have it ignored: that stays so.
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  struct sigaction wake {};
  wake.sa_handler = handle_wake;
  sigaction(kWakeSignal, &wake, nullptr);
  // A closed pipe is an error that write() reports, not a death without a word.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

void end_at_once(int exit_code) {
  g_paths.for_each([](const char* path) { unlink(path); });
  g_tokens.for_each([](std::uint64_t token) {
    const char byte = static_cast<char>(token & 0xFF);
    // Nothing can be done about a failure here.
    [[maybe_unused]] const auto n = write(static_cast<int>(token >> 9), &byte, 1);
  });
  _exit(exit_code);
}

int interrupt_signal() { return g_signal.load(std::memory_order_relaxed); }

void check_interrupt() {
  if (const int number = interrupt_signal()) {
    fail(Code::interrupted, "ended by signal {} ({})", number, strsignal(number));
  }
}

RemoveOnSignal::RemoveOnSignal(const std::string& path) : path_(strdup(path.c_str())) {
  if (!path_) throw std::bad_alloc();
  slot_ = g_paths.add(path_);
}

RemoveOnSignal::~RemoveOnSignal() {
  g_paths.remove(slot_);
  std::free(path_);
}

WriteOnSignal::WriteOnSignal(int fd, char byte)
    : slot_(g_tokens.add(static_cast<std::uint64_t>(fd) << 9 | 256 |
                         static_cast<unsigned char>(byte))) {}

WriteOnSignal::WriteOnSignal(WriteOnSignal&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

WriteOnSignal& WriteOnSignal::operator=(WriteOnSignal&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

WriteOnSignal::~WriteOnSignal() { g_tokens.remove(slot_); }

InterruptibleThread::InterruptibleThread() : slot_(g_threads.add(pthread_self())) {}

InterruptibleThread::~InterruptibleThread() { g_threads.remove(slot_); }

}  // namespace prep
