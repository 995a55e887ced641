// For LD_PRELOAD: file locks that are granted to everybody, as on file systems that have none.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>

#include <cstdarg>

namespace {

int control(const char* name, int fd, int command, void* argument) {
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return 0;
    default:
      using Fcntl = int (*)(int, int, ...);
      return reinterpret_cast<Fcntl>(dlsym(RTLD_NEXT, name))(fd, command, argument);
  }
}

}  // namespace

extern "C" int fcntl(int fd, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control("fcntl", fd, command, argument);
}

extern "C" int fcntl64(int fd, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  return control("fcntl64", fd, command, argument);
}

extern "C" int flock(int, int) noexcept { return 0; }
