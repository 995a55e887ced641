// For LD_PRELOAD: makes the n-th call of one kind fail, once main() has begun.
//
// FAULT="KIND N ERRNO HOW": KIND is one of those below; N counts from 1, and 0 only counts; HOW is
// "once", "on" (that call and all later ones) or "short" (a read or write moves half of its bytes,
// instead of failing). FAULT_STATE names a file for the driver, which must hold a State: how many
// calls there were, how many failed, and what the first of those was. It is mapped, so that it
// tells of a process that was killed, too.
//
// Calls that libc makes inside itself (the read() behind fgets()) do not pass here. What libc
// allocates does.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

enum Kind {
  kRead,
  kWrite,
  kSync,
  kRename,
  kOpen,
  kMalloc,
  kClose,
  kTruncate,
  kMap,
  kUnlink,
  kStat,
  kList,
  kMkdir,
  kTime,
  kLock,
  kThread,
  kSeek,
  kKinds
};
constexpr const char* kKindNames[kKinds] = {"read",  "write",    "sync", "rename", "open", "malloc",
                                            "close", "truncate", "map",  "unlink", "stat", "list",
                                            "mkdir", "time",     "lock", "thread", "seek"};

struct State {
  std::atomic<std::uint64_t> calls, failed;
  char what[496];
};
static_assert(sizeof(State) == 512);

State g_nowhere;
State* g_state = &g_nowhere;
Kind g_kind = kKinds;
std::uint64_t g_nth = 0;
int g_errno = 0;
bool g_goes_on = false, g_is_short = false, g_traps = false;
std::atomic<bool> g_counts{false};

// Looking a function up may allocate; that is none of the program's calls.
[[gnu::tls_model("initial-exec")]] thread_local bool t_looks_up = false;

// The library that made the call, by the address that it returns to.
const char* caller(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || !info.dli_fname) return "";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash ? slash + 1 : info.dli_fname;
}

// Without anything that might allocate, and once: others may be failing at the same time.
void describe(const char* call, const char* path, int fd) {
  char* out = g_state->what;
  char* const end = out + sizeof g_state->what - 1;
  const auto add = [&](const char* text) {
    while (*text && out < end) *out++ = *text++;
  };
  add(call);
  add(" ");
  if (path) add(path);
  if (fd >= 0 && end - out > 64) {
    char link[32];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const long length = syscall(SYS_readlink, link, out, end - out);
    if (length > 0) out += length;
  }
  *out = '\0';
}

// Whether this call of `kind` is one that must fail; then errno is set.
bool fails(Kind kind, const char* call, const char* path, int fd = -1) {
  if (kind != g_kind || t_looks_up || !g_counts.load(std::memory_order_relaxed)) return false;
  const std::uint64_t number = ++g_state->calls;
  if (g_nth == 0 || number < g_nth || (number > g_nth && !g_goes_on)) return false;
  if (g_state->failed++ == 0) {
    describe(call, path, fd);
    if (g_traps) raise(SIGTRAP);
  }
  errno = g_errno;
  return true;
}

// The next definition of a function, looked up at its first call.
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  void* get() {
    if (void* found = found_.load(std::memory_order_acquire)) return found;
    t_looks_up = true;
    void* const found = dlsym(RTLD_NEXT, name_);
    t_looks_up = false;
    found_.store(found, std::memory_order_release);
    return found;
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// Declares `next`, which calls what `name` would be without this library.
#define NEXT(name)                     \
  static constinit Next lookup{#name}; \
  const auto next = reinterpret_cast<decltype(&::name)>(lookup.get())

void read_settings() {
  const char* text = std::getenv("FAULT");
  const char* state = std::getenv("FAULT_STATE");
  if (!text || !state) return;
  char kind[16] = "", how[16] = "";
  unsigned long long nth = 0;
  if (std::sscanf(text, "%15s %llu %d %15s", kind, &nth, &g_errno, how) != 4) std::abort();
  const int fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, state, O_RDWR));
  void* const map =
      fd < 0 ? MAP_FAILED
             : reinterpret_cast<void*>(syscall(SYS_mmap, nullptr, sizeof(State),
                                               PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  if (map == MAP_FAILED) std::abort();
  syscall(SYS_close, fd);
  g_state = static_cast<State*>(map);
  g_nth = nth;
  g_goes_on = std::strcmp(how, "on") == 0;
  g_is_short = std::strcmp(how, "short") == 0;
  g_traps = std::getenv("FAULT_TRAP") != nullptr;
  for (int i = 0; i < kKinds; ++i) {
    if (std::strcmp(kind, kKindNames[i]) == 0) g_kind = static_cast<Kind>(i);
  }
  if (g_kind == kKinds) std::abort();
}

using Main = int(int, char**, char**);
Main* g_main;

int counted_main(int argc, char** argv, char** environment) {
  read_settings();
  g_counts = true;
  const int result = g_main(argc, argv, environment);
  g_counts = false;
  return result;
}

mode_t mode_of(int flags, std::va_list arguments) {
  const bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

bool no_memory(const char* call, void* address) {
  // Only what is to fail is looked up: there are very many calls.
  if (g_kind != kMalloc || !fails(kMalloc, call, nullptr)) return false;
  if (g_state->failed == 1) describe(call, caller(address), -1);
  errno = g_errno;
  return true;
}

// How many bytes of a read or write shall be moved; -1: it fails.
ssize_t allowed(Kind kind, const char* call, int fd, std::size_t size) {
  if (!fails(kind, call, nullptr, fd)) return static_cast<ssize_t>(size);
  return g_is_short ? static_cast<ssize_t>((size + 1) / 2) : -1;
}

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  g_main = main;
  auto* const real = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

// --- bytes --------------------------------------------------------------------------------------

#define MOVES_BYTES(kind, name, buffer_type)                   \
  ssize_t name(int fd, buffer_type buffer, std::size_t size) { \
    NEXT(name);                                                \
    const ssize_t count = allowed(kind, #name, fd, size);      \
    if (count < 0) return -1;                                  \
    return next(fd, buffer, static_cast<std::size_t>(count));  \
  }
#define MOVES_BYTES_AT(kind, name, buffer_type)                              \
  ssize_t name(int fd, buffer_type buffer, std::size_t size, off_t offset) { \
    NEXT(name);                                                              \
    const ssize_t count = allowed(kind, #name, fd, size);                    \
    if (count < 0) return -1;                                                \
    return next(fd, buffer, static_cast<std::size_t>(count), offset);        \
  }
MOVES_BYTES(kRead, read, void*)
MOVES_BYTES(kWrite, write, const void*)
MOVES_BYTES_AT(kRead, pread, void*)
MOVES_BYTES_AT(kRead, pread64, void*)
MOVES_BYTES_AT(kWrite, pwrite, const void*)
MOVES_BYTES_AT(kWrite, pwrite64, const void*)

// A short one moves the first piece only.
#define MOVES_PIECES(kind, name)                                \
  ssize_t name(int fd, const struct iovec* pieces, int count) { \
    NEXT(name);                                                 \
    const ssize_t n = allowed(kind, #name, fd, count);          \
    return n < 0 ? -1 : next(fd, pieces, static_cast<int>(n));  \
  }
MOVES_PIECES(kRead, readv)
MOVES_PIECES(kWrite, writev)

// --- calls with a descriptor --------------------------------------------------------------------

#define ON_FD(kind, result, name, declared, passed) \
  result name declared {                            \
    NEXT(name);                                     \
    if (fails(kind, #name, nullptr, fd)) return -1; \
    return next passed;                             \
  }
ON_FD(kSync, int, fsync, (int fd), (fd))
ON_FD(kSync, int, fdatasync, (int fd), (fd))
ON_FD(kSync, int, syncfs, (int fd) noexcept, (fd))
ON_FD(kTruncate, int, ftruncate, (int fd, off_t size) noexcept, (fd, size))
ON_FD(kTruncate, int, ftruncate64, (int fd, off_t size) noexcept, (fd, size))
ON_FD(kTruncate, int, fallocate, (int fd, int mode, off_t begin, off_t size),
      (fd, mode, begin, size))
ON_FD(kTruncate, int, fallocate64, (int fd, int mode, off_t begin, off_t size),
      (fd, mode, begin, size))
ON_FD(kStat, int, fstat, (int fd, struct stat* out) noexcept, (fd, out))
ON_FD(kStat, int, fstat64, (int fd, struct stat64* out) noexcept, (fd, out))
ON_FD(kTime, int, futimens, (int fd, const struct timespec times[2]) noexcept, (fd, times))
ON_FD(kLock, int, flock, (int fd, int operation) noexcept, (fd, operation))
ON_FD(kSeek, off_t, lseek, (int fd, off_t offset, int whence) noexcept, (fd, offset, whence))
ON_FD(kSeek, off_t, lseek64, (int fd, off_t offset, int whence) noexcept, (fd, offset, whence))

// As in Linux: the descriptor is gone, whatever close() says.
int close(int fd) {
  NEXT(close);
  const bool bad = fails(kClose, "close", nullptr, fd);
  const int result = next(fd);
  if (!bad) return result;
  errno = g_errno;
  return -1;
}

// --- calls with a path --------------------------------------------------------------------------

#define ON_PATH(kind, name, declared, passed) \
  int name declared {                         \
    NEXT(name);                               \
    if (fails(kind, #name, path)) return -1;  \
    return next passed;                       \
  }
ON_PATH(kRename, rename, (const char* path, const char* to) noexcept, (path, to))
ON_PATH(kRename, renameat, (int a, const char* path, int b, const char* to) noexcept,
        (a, path, b, to))
ON_PATH(kRename, renameat2,
        (int a, const char* path, int b, const char* to, unsigned flags) noexcept,
        (a, path, b, to, flags))
ON_PATH(kRename, link, (const char* path, const char* to) noexcept, (path, to))
ON_PATH(kRename, linkat, (int a, const char* path, int b, const char* to, int flags) noexcept,
        (a, path, b, to, flags))
ON_PATH(kUnlink, unlink, (const char* path) noexcept, (path))
ON_PATH(kUnlink, unlinkat, (int fd, const char* path, int flags) noexcept, (fd, path, flags))
ON_PATH(kUnlink, rmdir, (const char* path) noexcept, (path))
ON_PATH(kStat, stat, (const char* path, struct stat* out) noexcept, (path, out))
ON_PATH(kStat, stat64, (const char* path, struct stat64* out) noexcept, (path, out))
ON_PATH(kStat, lstat, (const char* path, struct stat* out) noexcept, (path, out))
ON_PATH(kStat, lstat64, (const char* path, struct stat64* out) noexcept, (path, out))
ON_PATH(kStat, fstatat, (int fd, const char* path, struct stat* out, int flags) noexcept,
        (fd, path, out, flags))
ON_PATH(kStat, fstatat64, (int fd, const char* path, struct stat64* out, int flags) noexcept,
        (fd, path, out, flags))
ON_PATH(kStat, access, (const char* path, int mode) noexcept, (path, mode))
ON_PATH(kMkdir, mkdir, (const char* path, mode_t mode) noexcept, (path, mode))
ON_PATH(kTime, utimensat,
        (int fd, const char* path, const struct timespec times[2], int flags) noexcept,
        (fd, path, times, flags))

#define OPENS(name)                                \
  int name(const char* path, int flags, ...) {     \
    NEXT(name);                                    \
    std::va_list arguments;                        \
    va_start(arguments, flags);                    \
    const mode_t mode = mode_of(flags, arguments); \
    va_end(arguments);                             \
    if (fails(kOpen, #name, path)) return -1;      \
    return next(path, flags, mode);                \
  }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name)                                        \
  int name(int directory, const char* path, int flags, ...) { \
    NEXT(name);                                               \
    std::va_list arguments;                                   \
    va_start(arguments, flags);                               \
    const mode_t mode = mode_of(flags, arguments);            \
    va_end(arguments);                                        \
    if (fails(kOpen, #name, path)) return -1;                 \
    return next(directory, path, flags, mode);                \
  }
OPENS_AT(openat)
OPENS_AT(openat64)

FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  return fails(kOpen, "fopen", path) ? nullptr : next(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  NEXT(fopen64);
  return fails(kOpen, "fopen64", path) ? nullptr : next(path, mode);
}

DIR* opendir(const char* path) {
  NEXT(opendir);
  return fails(kList, "opendir", path) ? nullptr : next(path);
}
DIR* fdopendir(int fd) {
  NEXT(fdopendir);
  return fails(kList, "fdopendir", nullptr, fd) ? nullptr : next(fd);
}
struct dirent* readdir(DIR* directory) {
  NEXT(readdir);
  return fails(kList, "readdir", nullptr, dirfd(directory)) ? nullptr : next(directory);
}
struct dirent64* readdir64(DIR* directory) {
  NEXT(readdir64);
  return fails(kList, "readdir64", nullptr, dirfd(directory)) ? nullptr : next(directory);
}

// --- memory and threads -------------------------------------------------------------------------

void* malloc(std::size_t size) noexcept {
  return no_memory("malloc", __builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return no_memory("calloc", __builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) noexcept {
  return no_memory("realloc", __builtin_return_address(0)) ? nullptr : __libc_realloc(block, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return no_memory("memalign", __builtin_return_address(0)) ? nullptr
                                                            : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return no_memory("aligned_alloc", __builtin_return_address(0)) ? nullptr
                                                                 : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (no_memory("posix_memalign", __builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

void* mmap(void* address, std::size_t size, int protection, int flags, int fd,
           off_t offset) noexcept {
  NEXT(mmap);
  if (fails(kMap, "mmap", nullptr, fd)) return MAP_FAILED;
  return next(address, size, protection, flags, fd, offset);
}
void* mmap64(void* address, std::size_t size, int protection, int flags, int fd,
             off_t offset) noexcept {
  NEXT(mmap64);
  if (fails(kMap, "mmap64", nullptr, fd)) return MAP_FAILED;
  return next(address, size, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  NEXT(pthread_create);
  if (fails(kThread, "pthread_create", nullptr)) return g_errno;
  return next(thread, attributes, run, argument);
}

}  // extern "C"
