// Whole files in, whole files out. Every path may hold any byte but NUL; every system call is
// retried after EINTR unless the run was asked to stop.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"
#include "lib/core/interrupt.h"
#include "lib/core/sample.h"

namespace prep {

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// throws Error not_found or io. `flags` as for open(2); O_CLOEXEC is added.
Fd open_file(const std::string& path, int flags, unsigned mode = 0666);

// Reads up to `size` bytes; returns how many, less only at the end of the file. throws Error io, or
// interrupted when a signal asked the run to end. `name` is for messages.
std::size_t read_fully(int fd, std::uint8_t* out, std::size_t size, std::string_view name);
std::size_t pread_fully(int fd, std::uint8_t* out, std::size_t size, std::uint64_t offset,
                        std::string_view name);
// throws Error io ("disk full: wrote 10 of 20 MB to x.tar").
void write_fully(int fd, ByteView data, std::string_view name);

// Nanoseconds since 1970, negative before; times that do not fit (before 1678, after 2262) are the
// nearest that does.
std::int64_t mtime_ns(const struct stat& st);
// Of an open file. throws Error io; `name` is for the message.
struct stat file_status(int fd, std::string_view name);
bool same_file(const struct stat& a, const struct stat& b);
// Of what has this path, links followed; nullopt where nothing has. throws Error io where that
// cannot be told.
std::optional<struct stat> find_file(const std::string& path);
inline bool is_there(const std::string& path) { return find_file(path).has_value(); }
// Opens for reading; no descriptor where nothing has this path. throws Error io.
Fd open_if_there(const std::string& path);
// Whether `path` names the open file; false if it names another or none. throws Error io.
bool is_named(const Fd& fd, const std::string& path);

// A part that is a file of its own, opened when first read and closed when it was read to its end.
// A file whose size changes while it is read is Error io.
class FileContent final : public Content {
 public:
  explicit FileContent(std::string path) : path_(std::move(path)) {}
  // A file that was seen before, with this size: another one is Error io.
  FileContent(std::string path, std::uint64_t size)
      : path_(std::move(path)), expected_size_(size) {}
  std::uint64_t size() const override {
    return expected_size_ ? *expected_size_ : static_cast<std::uint64_t>(status().st_size);
  }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override;
  std::int64_t mtime_ns() const override { return prep::mtime_ns(status()); }
  bool is_file(const struct stat& other) const override;
  std::optional<FileRange> range() const override { return FileRange{nullptr, path_, 0, 0}; }
  std::string origin() const override { return path_; }

 private:
  int fd() const;
  const struct stat& status() const;
  std::string path_;
  std::optional<std::uint64_t> expected_size_;
  mutable Fd fd_;
  mutable bool known_ = false;
  mutable struct stat status_ {};
};

// A range of a file that stays open for the whole run (a member of an uncompressed tar).
class RangeContent final : public Content {
 public:
  RangeContent(std::shared_ptr<const Fd> file, std::uint64_t offset, std::uint64_t size,
               std::string origin, std::int64_t mtime_ns)
      : file_(std::move(file)),
        offset_(offset),
        size_(size),
        origin_(std::move(origin)),
        mtime_ns_(mtime_ns) {}
  std::uint64_t size() const override { return size_; }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override;
  std::int64_t mtime_ns() const override { return mtime_ns_; }
  std::optional<FileRange> range() const override { return FileRange{file_, "", offset_, size_}; }
  std::string origin() const override { return origin_; }

 private:
  std::shared_ptr<const Fd> file_;
  std::uint64_t offset_, size_;
  std::string origin_;
  std::int64_t mtime_ns_;
};

// A file that appears under its final name only when commit() is called; until then it is a hidden
// temporary file in the same directory, which the destructor removes, and so does a second signal.
// Where something that is no regular file has that name (/dev/null, a pipe), it is written to
// instead.
class AtomicFile {
 public:
  enum class Sharing {
    none,    // the temporary name is this process's own
    locked,  // the name is the same for everybody: a lock tells a live writer from a dead one's
             // rest
  };
  // Opens `temporary` (which must be in path's directory), creating directories as needed; what a
  // dead run left under that name is overwritten. throws Error io (another live writer, if locked);
  // BadSample where it is the name that the file system refuses (too long, a file where a directory
  // must be).
  AtomicFile(std::string path, std::string temporary, Sharing sharing = Sharing::none);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  void write(ByteView data);
  // Copies everything that `content` holds, in bounded memory. throws BadSample when the content
  // cannot be read or delivers less than its size.
  void write(const Content& content);
  // Brings what was written to the disk, and returns the file's modification time. throws Error io.
  std::int64_t sync();
  // All is written: gives the file its modification time (0: as it is; a time that the file system
  // cannot hold is not an error) and closes it, which is when some file systems report a failed
  // write. Optional; nothing can be written afterwards. Not for a locked file, whose lock it would
  // end.
  void close(std::int64_t mtime_ns = 0);
  // Renames to the final name; with `sync`, the file is synced before and its directory after.
  void commit(bool sync = false);
  std::uint64_t written() const { return written_; }

 private:
  std::string path_, temporary_;
  std::unique_ptr<RemoveOnSignal> guard_;
  Fd fd_;
  std::uint64_t written_ = 0;
  bool is_device_ = false;  // there is no temporary file
  bool committed_ = false;
};

// Returns `path`, at which one file is to be written that is `what` ("a tar"): found out now, not
// by the rename after hours of work, and nobody's /dev/null is replaced. throws Error usage for a
// directory or a device; `stream_option` is how to write to the standard output instead.
const std::string& check_output_file(const std::string& path, std::string_view what,
                                     std::string_view stream_option);

// The temporary name that goes with an output file that only one run may write at a time:
// ".NAME.prep-tmp" in the same directory (a hash stands for a NAME that is too long).
std::string locked_temporary(std::string_view path);

// Brings what was written to a file to the disk, or with all of its file system. throws Error io;
// `name` is for the message.
void sync_file(int fd, std::string_view name);
void sync_file_system(int fd, std::string_view name);
// Makes renames and removals in a directory durable, as far as its file system can. throws Error
// io.
void sync_directory(const std::string& path);

// mkdir -p. throws Error io, or BadSample where a file is in the way.
void make_directories(const std::string& path);
// "a/b" → "a", "a" → ".", "/a" → "/".
std::string parent_directory(std::string_view path);
std::string_view base_name(std::string_view path);
std::string join_path(std::string_view directory, std::string_view name);

}  // namespace prep
