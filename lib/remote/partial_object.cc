#include "lib/remote/partial_object.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/report.h"

namespace prep {
namespace {

constexpr char kMagic[] = "prepprt1";
constexpr std::size_t kBootIdBytes = 40;
constexpr std::uint64_t kLargestPartCount = 1'000'000;

// The layout of PATH.state, without the counters behind it.
struct Header {
  char magic[8];
  char boot_id[kBootIdBytes];
  std::uint64_t identity, size, part_size;
  std::uint64_t wakeup;  // of which the first four bytes are a futex
};
static_assert(sizeof(Header) == 80);
static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

std::string boot_id() {
  try {
    const Fd file = open_file("/proc/sys/kernel/random/boot_id", O_RDONLY);
    std::uint8_t text[kBootIdBytes - 1];
    const std::size_t size = read_fully(file.get(), text, sizeof text, "boot_id");
    return std::string(reinterpret_cast<const char*>(text), size);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted) throw;
    return "";  // a system that does not tell: then a crash is not told from a kill
  }
}

std::uint64_t digest_of(std::string_view identity) {
  return std::stoull(hex_digest(Digest::Kind::sha256, as_bytes(identity)).substr(0, 16), nullptr,
                     16);
}

std::uint64_t count_parts(std::uint64_t size, std::uint64_t part_size) {
  return std::max<std::uint64_t>(1, (size + part_size - 1) / part_size);
}

Header make_header(std::string_view identity, std::uint64_t size, std::uint64_t part_size) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof header.magic);
  const std::string id = boot_id();
  std::memcpy(header.boot_id, id.data(), std::min(id.size(), kBootIdBytes - 1));
  header.identity = digest_of(identity);
  header.size = size;
  header.part_size = part_size;
  return header;
}

bool is_same(const Header& a, const Header& b) {
  return std::memcmp(a.magic, b.magic, sizeof a.magic) == 0 &&
         std::memcmp(a.boot_id, b.boot_id, sizeof a.boot_id) == 0 && a.identity == b.identity &&
         a.size == b.size && a.part_size == b.part_size;
}

long futex(std::uint64_t* word, int operation, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, timeout,
                 nullptr, 0);
}

[[noreturn]] void fail_full(const std::string& path, std::uint64_t size, std::uint64_t free) {
  fail(Code::io, "{}: the disk is full: {} are needed, {} are free", printable(path),
       human_bytes(size), human_bytes(free));
}

// In memory, taking room is clearing it, which costs as much as the download; there it is enough to
// know that there is some.
bool is_in_memory(int fd) {
  struct statfs fs {};
  return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

// Takes the room now, so that a disk that is too small shows before the download. Not with
// posix_fallocate(), which writes into every block where the file system cannot do it.
void reserve(int fd, std::uint64_t size, const std::string& path) {
  if (size == 0) return;
  struct statvfs space {};
  const bool is_known = fstatvfs(fd, &space) == 0;
  const std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
  int error = EOPNOTSUPP;
  if (!is_in_memory(fd)) {
    error = 0;
    while (fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0 && (error = errno) == EINTR) {
      check_interrupt();
      error = 0;
    }
  }
  if (error == 0) return;
  if (error == EOPNOTSUPP || error == ENOSYS) {
    struct stat st {};
    const bool is_new = fstat(fd, &st) == 0 && st.st_blocks == 0;
    if (is_known && is_new && space.f_blocks > 0 && size > free) fail_full(path, size, free);
    if (ftruncate(fd, static_cast<off_t>(size)) == 0) return;
    fail_errno(errno, "resize", path);
  }
  if (error == ENOSPC && is_known) fail_full(path, size, free);
  fail_errno(error, "get room for", path);
}

}  // namespace

struct PartialObject::State {
  std::string path;
  Fd file, state_file;
  Header* header = nullptr;
  std::size_t mapped = 0;
  std::uint64_t size = 0, part_size = 0,
                parts = 0;  // not from the mapping, which others can change

  ~State() {
    if (header) munmap(header, mapped);
  }

  std::uint64_t* counters() const { return reinterpret_cast<std::uint64_t*>(header + 1); }
  std::atomic_ref<std::uint64_t> counter(std::uint64_t part) const {
    return std::atomic_ref(counters()[part]);
  }
  static std::size_t state_bytes(std::uint64_t parts) {
    return sizeof(Header) + parts * sizeof(std::uint64_t);
  }

  void map(bool writable) {
    mapped = state_bytes(parts);
    void* const memory = mmap(nullptr, mapped, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED,
                              state_file.get(), 0);
    if (memory == MAP_FAILED) fail_errno(errno, "map", path + ".state");
    header = static_cast<Header*>(memory);
  }

  std::uint64_t part_bytes(std::uint64_t part) const {
    return std::min(part_size, size - part * part_size);
  }

  // What an earlier run has left, if it is of the same.
  bool adopt(const Header& wanted) {
    file = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    state_file = Fd(::open((path + ".state").c_str(), O_RDWR | O_CLOEXEC));
    if (!file || !state_file) return false;
    Header found{};
    return file_status(state_file.get(), path).st_size == static_cast<off_t>(state_bytes(parts)) &&
           file_status(file.get(), path).st_size == static_cast<off_t>(size) &&
           pread(state_file.get(), &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) &&
           is_same(found, wanted);
  }

  // New files rather than emptied ones: who still writes into the old ones (where locks do nothing)
  // does no harm there.
  void start(const Header& wanted) {
    const std::string state_path = path + ".state";
    unlink(state_path.c_str());
    unlink(path.c_str());
    file = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    const std::string fresh = state_path + ".new";
    unlink(fresh.c_str());
    state_file = open_file(fresh, O_RDWR | O_CREAT | O_EXCL, 0600);
    // Written, not left as a hole: on a full disk that would be a SIGBUS.
    std::vector<std::uint8_t> bytes(state_bytes(parts));
    std::memcpy(bytes.data(), &wanted, sizeof wanted);
    write_fully(state_file.get(), bytes, fresh);
    if (rename(fresh.c_str(), state_path.c_str()) != 0) fail_errno(errno, "rename", fresh);
  }

  // For a file that somebody removed in spite of us.
  void copy_to(const std::string& target) const {
    const Fd copy = open_file(target, O_WRONLY | O_CREAT | O_EXCL, 0600);
    std::vector<std::uint8_t> piece(
        std::min<std::uint64_t>(std::max<std::uint64_t>(size, 1), 1 << 20));
    try {
      for (std::uint64_t at = 0; at < size;) {
        const std::size_t got = pread_fully(
            file.get(), piece.data(), std::min<std::uint64_t>(piece.size(), size - at), at, path);
        if (got == 0) fail(Code::io, "{}: was cut off during the download", printable(path));
        write_fully(copy.get(), ByteView(piece).first(got), target);
        at += got;
      }
      if (fdatasync(copy.get()) != 0) fail_errno(errno, "sync", target);
    } catch (...) {
      unlink(target.c_str());
      throw;
    }
  }

  // Whether the file that has the name is still this.
  bool is_named() const { return prep::is_named(file, path); }
};

PartialObject::PartialObject(std::unique_ptr<State> state) : state_(std::move(state)) {}
PartialObject::PartialObject(PartialObject&&) noexcept = default;
PartialObject& PartialObject::operator=(PartialObject&&) noexcept = default;
PartialObject::~PartialObject() = default;

PartialObject PartialObject::create(const std::string& path, std::string_view identity,
                                    std::uint64_t size, std::uint64_t part_size) {
  part_size = std::max(part_size, (size + kLargestPartCount - 1) / kLargestPartCount);
  const Header wanted = make_header(identity, size, part_size);
  auto state = std::make_unique<State>();
  state->path = path;
  state->size = size;
  state->part_size = part_size;
  state->parts = count_parts(size, part_size);
  const bool is_new = !state->adopt(wanted);
  try {
    if (is_new) state->start(wanted);
    reserve(state->file.get(), size, path);
  } catch (...) {
    if (is_new) {
      unlink((path + ".state").c_str());
      unlink((path + ".state.new").c_str());
      unlink(path.c_str());
    }
    throw;
  }
  state->map(/*writable=*/true);
  return PartialObject(std::move(state));
}

std::optional<PartialObject> PartialObject::open(const std::string& path,
                                                 std::string_view identity) {
  auto state = std::make_unique<State>();
  state->path = path;
  // The counters of one file must not be taken for another's: start() removes the old state, then
  // the old file, and gives the new file's state its name last.
  const std::string state_path = path + ".state";
  state->state_file = Fd(::open(state_path.c_str(), O_RDONLY | O_CLOEXEC));
  state->file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!state->file || !state->state_file || !prep::is_named(state->state_file, state_path)) {
    return std::nullopt;
  }
  Header found{};
  if (pread(state->state_file.get(), &found, sizeof found, 0) !=
          static_cast<ssize_t>(sizeof found) ||
      found.part_size == 0 || !is_same(found, make_header(identity, found.size, found.part_size))) {
    return std::nullopt;
  }
  state->size = found.size;
  state->part_size = found.part_size;
  state->parts = count_parts(found.size, found.part_size);
  struct stat st {};
  if (state->parts > kLargestPartCount || fstat(state->state_file.get(), &st) != 0 ||
      st.st_size != static_cast<off_t>(State::state_bytes(state->parts))) {
    return std::nullopt;
  }
  state->map(/*writable=*/false);
  return PartialObject(std::move(state));
}

std::uint64_t PartialObject::size() const { return state_->size; }
std::uint64_t PartialObject::parts() const { return state_->parts; }
const std::string& PartialObject::path() const { return state_->path; }
int PartialObject::fd() const { return state_->file.get(); }

std::uint64_t PartialObject::part_offset(std::uint64_t part) const {
  return part * state_->part_size;
}

std::uint64_t PartialObject::part_bytes(std::uint64_t part) const {
  return state_->part_bytes(part);
}

std::uint64_t PartialObject::received(std::uint64_t part) const {
  const std::uint64_t bytes = state_->counter(part).load(std::memory_order_acquire);
  return std::min(bytes, state_->part_bytes(part));
}

void PartialObject::write(std::uint64_t part, std::uint64_t offset, ByteView bytes) {
  const std::uint64_t end = offset + bytes.size();
  if (end > state_->part_bytes(part)) {
    fail(Code::internal, "{}: more bytes than the part has", printable(state_->path));
  }
  off_t place = static_cast<off_t>(part_offset(part) + offset);
  for (ByteView rest = bytes; !rest.empty();) {
    const ssize_t written = pwrite(state_->file.get(), rest.data(), rest.size(), place);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(errno, "write", state_->path);
    rest = rest.subspan(static_cast<std::size_t>(written));
    place += written;
  }
  const auto counter = state_->counter(part);
  std::uint64_t now = counter.load(std::memory_order_relaxed);
  while (now >= offset && now < end &&
         !counter.compare_exchange_weak(now, end, std::memory_order_release)) {
  }
  std::atomic_ref(state_->header->wakeup).fetch_add(1, std::memory_order_release);
  futex(&state_->header->wakeup, FUTEX_WAKE, INT32_MAX, nullptr);
}

std::uint64_t PartialObject::available() const {
  std::uint64_t total = 0;
  for (std::uint64_t part = 0; part < state_->parts; ++part) {
    const std::uint64_t bytes = received(part);
    total += bytes;
    if (bytes < state_->part_bytes(part)) break;
  }
  return total;
}

std::uint64_t PartialObject::wait(std::uint64_t known, double seconds) const {
  // Looked at before the counters: what comes between is not missed.
  const auto seen = static_cast<std::uint32_t>(
      std::atomic_ref(state_->header->wakeup).load(std::memory_order_acquire));
  const std::uint64_t now = available();
  if (now > known || now == state_->size) return now;
  const auto whole = static_cast<std::time_t>(seconds);
  const timespec timeout{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  futex(&state_->header->wakeup, FUTEX_WAIT, seen, &timeout);
  return available();
}

void PartialObject::reset() {
  for (std::uint64_t part = 0; part < state_->parts; ++part) {
    state_->counter(part).store(0, std::memory_order_release);
  }
}

void PartialObject::publish(const std::string& final_path, bool sync) {
  if (sync && fdatasync(state_->file.get()) != 0) fail_errno(errno, "sync", state_->path);
  // By its descriptor, then renamed: the name may be another's by now.
  std::string staged = fmt::format("{}.{}.done", state_->path, getpid());
  const std::string self = fmt::format("/proc/self/fd/{}", state_->file.get());
  unlink(staged.c_str());
  if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, staged.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (state_->is_named()) {
      staged = state_->path;  // a file system that has no links
    } else {
      state_->copy_to(staged);
    }
  }
  if (rename(staged.c_str(), final_path.c_str()) != 0) {
    const int error = errno;
    if (staged != state_->path) unlink(staged.c_str());
    fail_errno(error, "give the name " + printable(final_path) + " to", state_->path);
  }
  if (staged == state_->path) {
    unlink((staged + ".state").c_str());
  } else {
    unlink(staged.c_str());  // which is still there if it was that file already
    remove();
  }
  if (sync) sync_directory(parent_directory(final_path));
}

void PartialObject::remove() {
  if (!state_->is_named()) return;
  unlink((state_->path + ".state").c_str());
  unlink(state_->path.c_str());
}

}  // namespace prep
