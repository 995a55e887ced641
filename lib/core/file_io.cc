#include "lib/core/file_io.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>

namespace prep {
namespace {

constexpr std::uint64_t kCopyBlock = 1 << 20;
constexpr int kLockAttempts = 100;

// Calls f() until it is done or fails with something other than EINTR.
template <typename F>
auto retry(F f) -> decltype(f()) {
  for (;;) {
    const auto result = f();
    if (result >= 0 || errno != EINTR) return result;
    check_interrupt();
  }
}

// Whether the error lies in the name, so that another sample may well be written.
bool is_name_error(int error_number) {
  return error_number == ENAMETOOLONG || error_number == EISDIR || error_number == ENOTDIR ||
         error_number == EEXIST || error_number == ENOTEMPTY || error_number == EILSEQ ||
         error_number == ELOOP || error_number == EINVAL;
}

[[noreturn]] void fail_output(int error_number, std::string_view doing, const std::string& path) {
  if (is_name_error(error_number)) {
    throw BadSample(Code::name, fmt::format("{}: cannot {}: {}", printable(path), doing,
                                            os_message(error_number)));
  }
  fail(Code::io, "{}: cannot {}: {}", printable(path), doing, os_message(error_number));
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) reset(other.release());
  return *this;
}

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Fd open_file(const std::string& path, int flags, unsigned mode) {
  Fd fd(retry([&] { return open(path.c_str(), flags | O_CLOEXEC, mode); }));
  if (!fd) fail_errno(errno, "open", path);
  return fd;
}

std::size_t read_fully(int fd, std::uint8_t* out, std::size_t size, std::string_view name) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = retry([&] { return read(fd, out + done, size - done); });
    if (n < 0) fail_errno(errno, "read", name);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::size_t pread_fully(int fd, std::uint8_t* out, std::size_t size, std::uint64_t offset,
                        std::string_view name) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = retry(
        [&] { return pread(fd, out + done, size - done, static_cast<off_t>(offset + done)); });
    if (n < 0) fail_errno(errno, "read", name);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

void write_fully(int fd, ByteView data, std::string_view name) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t n = retry([&] { return write(fd, data.data() + done, data.size() - done); });
    if (n < 0 && errno == EPIPE) fail(Code::io, "{}: its reader went away", printable(name));
    if (n < 0) fail(Code::io, "{}: cannot write: {}", printable(name), os_message(errno));
    done += static_cast<std::size_t>(n);
    // A signal that comes in the middle shows only as a short count.
    if (done < data.size()) check_interrupt();
  }
}

namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

}  // namespace

std::int64_t mtime_ns(const struct stat& st) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / kNanoseconds - 1;
  return std::clamp<std::int64_t>(st.st_mtim.tv_sec, -kMost, kMost) * kNanoseconds +
         st.st_mtim.tv_nsec;
}

struct stat file_status(int fd, std::string_view name) {
  struct stat status {};
  if (fstat(fd, &status) != 0) fail_errno(errno, "stat", name);
  return status;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

bool is_named(const Fd& fd, const std::string& path) {
  const struct stat open_one = file_status(fd.get(), path);
  const auto named = find_file(path);
  return named && same_file(open_one, *named);
}

namespace {

// Whether the error says that nothing can have that path.
bool says_missing(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == ENAMETOOLONG ||
         error_number == ELOOP;
}

}  // namespace

std::optional<struct stat> find_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return status;
  if (says_missing(errno)) return std::nullopt;
  fail_errno(errno, "stat", path);
}

Fd open_if_there(const std::string& path) {
  Fd fd(retry([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!fd && !says_missing(errno)) fail_errno(errno, "open", path);
  return fd;
}

// --- contents ---------------------------------------------------------------------------------

int FileContent::fd() const {
  if (!fd_) {
    // O_NONBLOCK so that a FIFO among the files cannot hang the run; it does nothing to a file.
    fd_ = open_file(path_, O_RDONLY | O_NONBLOCK);
    if (fstat(fd_.get(), &status_) != 0) fail_errno(errno, "stat", path_);
    if (S_ISDIR(status_.st_mode)) fail(Code::io, "{}: is a directory", printable(path_));
    if (!S_ISREG(status_.st_mode)) {
      fail(Code::unsupported, "{}: is not a regular file", printable(path_));
    }
    if (expected_size_ && *expected_size_ != static_cast<std::uint64_t>(status_.st_size)) {
      fail(Code::io, "{}: has {} bytes, but had {} when the inputs were listed", printable(path_),
           status_.st_size, *expected_size_);
    }
    known_ = true;
  }
  return fd_.get();
}

const struct stat& FileContent::status() const {
  if (!known_) {
    if (stat(path_.c_str(), &status_) != 0) fail_errno(errno, "stat", path_);
    if (S_ISDIR(status_.st_mode)) fail(Code::io, "{}: is a directory", printable(path_));
    known_ = true;
  }
  return status_;
}

bool FileContent::is_file(const struct stat& other) const { return same_file(status(), other); }

Bytes FileContent::read(std::uint64_t offset, std::uint64_t length) const {
  const int file = fd();
  const std::uint64_t size = static_cast<std::uint64_t>(status_.st_size);
  const std::uint64_t begin = std::min(offset, size);
  const std::uint64_t wanted = std::min(length, size - begin);
  // One byte more than the file should have tells whether it has grown.
  const bool to_end = begin + wanted == size;
  auto* block = static_cast<std::uint8_t*>(std::malloc(wanted + 1));
  if (!block) throw std::bad_alloc();
  Bytes bytes = Bytes::take_malloc(block, wanted);
  if (pread_fully(file, block, wanted + (to_end ? 1 : 0), begin, path_) != wanted) {
    fail(Code::io, "{}: its size changed while it was read", printable(path_));
  }
  // A sample may have more parts than a process may have open files.
  if (to_end) fd_.reset();
  return bytes;
}

Bytes RangeContent::read(std::uint64_t offset, std::uint64_t length) const {
  const std::uint64_t begin = std::min(offset, size_);
  const std::uint64_t wanted = std::min(length, size_ - begin);
  auto* block = static_cast<std::uint8_t*>(std::malloc(wanted + 1));
  if (!block) throw std::bad_alloc();
  Bytes bytes = Bytes::take_malloc(block, wanted);
  if (pread_fully(file_->get(), block, wanted, offset_ + begin, origin_) != wanted) {
    fail(Code::truncated, "{}: the file ends inside it", printable(origin_));
  }
  return bytes;
}

// --- atomic files -----------------------------------------------------------------------------

namespace {

// Opens the temporary file; where its directory is missing, makes that first.
int open_temporary(const std::string& temporary) {
  const auto attempt = [&] {
    return retry(
        [&] { return open(temporary.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666); });
  };
  int fd = attempt();
  if (fd < 0 && errno == ENOENT) {
    make_directories(parent_directory(temporary));
    fd = attempt();
  }
  if (fd < 0) fail_output(errno, "create", temporary);
  return fd;
}

// Opens and locks. Between the two, a writer that has just finished may have renamed the file: then
// the lock is on its finished output, so look again.
int open_locked(const std::string& temporary, const std::string& path) {
  for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
    Fd fd(open_temporary(temporary));
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        fail(Code::io, "{}: another run is writing it", printable(path));
      }
      // A file system without locks: go on without that protection.
      return fd.release();
    }
    try {
      if (is_named(fd, temporary)) return fd.release();
    } catch (const Error&) {
      unlink(temporary.c_str());
      throw;
    }
  }
  fail(Code::io, "{}: cannot lock its temporary file", printable(path));
}

}  // namespace

void sync_file(int fd, std::string_view name) {
  if (retry([&] { return fsync(fd); }) != 0) fail_errno(errno, "sync", name);
}

void sync_file_system(int fd, std::string_view name) {
  if (retry([&] { return syncfs(fd); }) != 0) fail_errno(errno, "sync", name);
}

void sync_directory(const std::string& path) {
  const Fd directory(retry([&] { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  // One that may be written to, but not be read, cannot be synced.
  if (!directory && errno == EACCES) return;
  if (!directory) fail_errno(errno, "open", path);
  // Some file systems refuse fsync on a directory (EINVAL); there is nothing more to do there.
  if (retry([&] { return fsync(directory.get()); }) != 0 && errno != EINVAL) {
    fail_errno(errno, "sync", path);
  }
}

namespace {

// What fails while reading is the sample's fault, not the output's.
template <typename F>
auto as_bad_sample(F read_something) -> decltype(read_something()) {
  try {
    return read_something();
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    throw BadSample(error.code(), error.what());
  }
}

std::uint64_t source_size(const Content& content) {
  return as_bad_sample([&] { return content.size(); });
}

Bytes source_block(const Content& content, std::uint64_t offset, std::uint64_t length) {
  return as_bad_sample([&] {
    Bytes block = content.read(offset, length);
    if (block.empty()) {
      fail(Code::truncated, "{}: ends after {} bytes", printable(content.origin()), offset);
    }
    return block;
  });
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string temporary, Sharing sharing)
    : path_(std::move(path)), temporary_(std::move(temporary)) {
  const auto status = find_file(path_);
  is_device_ = status && !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode);
  if (is_device_) {
    fd_ = open_file(path_, O_WRONLY);
    return;
  }
  guard_ = std::make_unique<RemoveOnSignal>(temporary_);
  fd_.reset(sharing == Sharing::locked ? open_locked(temporary_, path_)
                                       : open_temporary(temporary_));
  if (retry([&] { return ftruncate(fd_.get(), 0); }) != 0) {
    const int error_number = errno;
    unlink(temporary_.c_str());
    fail_output(error_number, "truncate", temporary_);
  }
}

AtomicFile::~AtomicFile() {
  if (!committed_ && !is_device_) unlink(temporary_.c_str());
}

void AtomicFile::write(ByteView data) {
  write_fully(fd_.get(), data, path_);
  written_ += data.size();
}

void AtomicFile::write(const Content& content) {
  for (std::uint64_t offset = 0, size = source_size(content); offset < size;) {
    const Bytes block = source_block(content, offset, std::min(kCopyBlock, size - offset));
    write(block.view());
    offset += block.size();
  }
}

std::int64_t AtomicFile::sync() {
  struct stat status {};
  if (retry([&] { return fsync(fd_.get()); }) != 0) fail_output(errno, "sync", path_);
  if (fstat(fd_.get(), &status) != 0) fail_errno(errno, "stat", path_);
  return prep::mtime_ns(status);
}

void AtomicFile::close(std::int64_t mtime_ns) {
  if (is_device_) return;
  if (mtime_ns != 0) {
    std::int64_t seconds = mtime_ns / kNanoseconds, rest = mtime_ns % kNanoseconds;
    if (rest < 0) {
      rest += kNanoseconds;
      --seconds;
    }
    const struct timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(seconds), rest}};
    if (futimens(fd_.get(), times) != 0 && errno != EINVAL) {
      fail_output(errno, "set the time of", path_);
    }
  }
  if (::close(fd_.release()) != 0 && errno != EINTR) fail_output(errno, "close", path_);
}

void AtomicFile::commit(bool sync) {
  if (is_device_) return;
  if (sync && retry([&] { return fsync(fd_.get()); }) != 0) fail_output(errno, "sync", path_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_output(errno, "rename to", path_);
  committed_ = true;
  guard_.reset();
  fd_.reset();
  if (sync) sync_directory(parent_directory(path_));
}

const std::string& check_output_file(const std::string& path, std::string_view what,
                                     std::string_view stream_option) {
  const auto status = find_file(path);
  if (!status || S_ISREG(status->st_mode)) return path;
  if (S_ISDIR(status->st_mode)) {
    fail(Code::usage, "{}: is a directory, and the output is {}", printable(path), what);
  }
  fail(Code::usage, "{}: is not a regular file; to write to it, use {} and >", printable(path),
       stream_option);
}

std::string locked_temporary(std::string_view path) {
  constexpr std::size_t kLongestName = 255;
  std::string name(base_name(path));
  if (name.size() + std::string_view("..prep-tmp").size() > kLongestName) {
    name = fmt::format("{:016x}", std::hash<std::string>{}(name));
  }
  return join_path(parent_directory(path), "." + name + ".prep-tmp");
}

// --- paths ------------------------------------------------------------------------------------

void make_directories(const std::string& path) {
  if (mkdir(path.c_str(), 0777) == 0) return;
  int error_number = errno;
  if (error_number == ENOENT) {
    const std::string parent = parent_directory(path);
    if (parent == path) fail_output(error_number, "create", path);
    make_directories(parent);
    if (mkdir(path.c_str(), 0777) == 0) return;
    error_number = errno;
  }
  struct stat status {};
  const bool is_there = error_number == EEXIST && stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return;
  fail_output(is_there ? ENOTDIR : error_number, "create the directory", path);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 == 0
}

std::string parent_directory(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty() || directory == ".") return std::string(name);
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

}  // namespace prep
