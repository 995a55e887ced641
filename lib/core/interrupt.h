// Ending on a signal without leaving half-made files behind.
//
// The first SIGINT, SIGTERM or SIGHUP only raises a flag: system calls that wait return EINTR, the
// run unwinds, destructors remove what is unfinished. A second one removes the registered temporary
// files from the handler and ends the process at once.
#pragma once

#include <string>

namespace prep {

void install_signal_handlers();

// The signal that asked the run to end, or 0.
int interrupt_signal();

// throws Error interrupted if a signal came.
void check_interrupt();

// What a second signal does, for where no orderly way out is left: removes the registered temporary
// files, gives the registered tokens back, and ends the process.
[[noreturn]] void end_at_once(int exit_code);

// While it lives, a second signal unlinks `path`. Up to 1,024 at a time; beyond that a file is only
// removed by the orderly way out.
class RemoveOnSignal {
 public:
  explicit RemoveOnSignal(const std::string& path);
  RemoveOnSignal(const RemoveOnSignal&) = delete;
  RemoveOnSignal& operator=(const RemoveOnSignal&) = delete;
  ~RemoveOnSignal();

 private:
  int slot_ = -1;
  char* path_ = nullptr;
};

// While it lives, a second signal writes `byte` to `fd`: a jobserver's token that must go back.
// Same number of places.
class WriteOnSignal {
 public:
  WriteOnSignal(int fd, char byte);
  WriteOnSignal(WriteOnSignal&& other) noexcept;
  WriteOnSignal& operator=(WriteOnSignal&& other) noexcept;
  ~WriteOnSignal();

 private:
  int slot_ = -1;
};

// A thread that may wait in system calls says so, and the first signal interrupts it too.
class InterruptibleThread {
 public:
  InterruptibleThread();
  InterruptibleThread(const InterruptibleThread&) = delete;
  InterruptibleThread& operator=(const InterruptibleThread&) = delete;
  ~InterruptibleThread();

 private:
  int slot_ = -1;
};

}  // namespace prep
