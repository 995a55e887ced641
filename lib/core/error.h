// The one exception type of the project.
//
// An Error's message is written for the person at the terminal: it names the file, says what is
// wrong and, where there is something to do, what to do. The code is for programs: it stands in
// the JSON lines of --errors and decides the exit code.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "lib/core/text.h"

namespace prep {

enum class Code {
  usage,        // wrong options or specifiers: exit 2
  io,           // the operating system refused: open, read, write, rename, disk full
  not_found,    // a named input does not exist, or vanished
  empty,        // zero bytes, or nothing in it
  truncated,    // the data ends before it should
  corrupt,      // the bytes contradict their format
  unsupported,  // sound as far as can be told, but of a kind that is not treated
  limit,        // a guard against hostile or absurd input
  name,         // a name that cannot or must not be written
  duplicate,    // two samples or parts want one name
  interrupted,  // a signal asked the run to end
  internal,     // a fault of the program itself
};

// The code as it stands in JSON output: "truncated", "not-found", ….
std::string_view code_name(Code code);

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }

 private:
  Code code_;
};

// Thrown by a sink: this one sample cannot be written (its name, a collision), the run goes on.
// Any other Error that leaves a sink ends the run.
class BadSample final : public Error {
 public:
  using Error::Error;
};

// throws Error with a formatted message.
template <typename... Args>
[[noreturn]] void fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

// The operating system's words for errno value `error_number` ("No such file or directory").
std::string os_message(int error_number);

// throws Error about `path` with the words for errno: code not_found for ENOENT and ENOTDIR, io
// otherwise. `doing` completes "cannot …": fail_errno(errno, "open", path).
[[noreturn]] void fail_errno(int error_number, std::string_view doing, std::string_view path);

}  // namespace prep
