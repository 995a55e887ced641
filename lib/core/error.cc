#include "lib/core/error.h"

#include <cerrno>
#include <cstring>

namespace prep {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::usage:
      return "usage";
    case Code::io:
      return "io";
    case Code::not_found:
      return "not-found";
    case Code::empty:
      return "empty";
    case Code::truncated:
      return "truncated";
    case Code::corrupt:
      return "corrupt";
    case Code::unsupported:
      return "unsupported";
    case Code::limit:
      return "limit";
    case Code::name:
      return "name";
    case Code::duplicate:
      return "duplicate";
    case Code::interrupted:
      return "interrupted";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

std::string os_message(int error_number) {
  char buffer[256];
  // The GNU variant, which may return a pointer to something other than the buffer.
  return strerror_r(error_number, buffer, sizeof buffer);
}

void fail_errno(int error_number, std::string_view doing, std::string_view path) {
  const bool missing = error_number == ENOENT || error_number == ENOTDIR;
  throw Error(missing ? Code::not_found : Code::io,
              fmt::format("{}: cannot {}: {}", printable(path), doing, os_message(error_number)));
}

}  // namespace prep
