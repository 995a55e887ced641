#include "lib/signal/scratch_rows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/unnamed_file.h"

namespace prep::signal {
namespace {

constexpr std::size_t kLargestInMemory = 64 << 20;
constexpr std::string_view kFileName = "a temporary file (TMPDIR says where)";

}  // namespace

ScratchRows::ScratchRows(const std::vector<std::size_t>& lengths) {
  std::size_t total = 0;
  for (const std::size_t length : lengths) {
    offsets_.push_back(total);
    total += length;
  }
  offsets_.push_back(total);
  if (total * sizeof(double) > kLargestInMemory) {
    map_file(total * sizeof(double));
  } else {
    memory_ = std::make_unique_for_overwrite<double[]>(total);
    data_ = memory_.get();
  }
}

void ScratchRows::map_file(std::size_t bytes) {
  const Fd file = open_unnamed_file();
  // A disk that is full has to show now: later, it would be a signal.
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes))) {
    fail_errno(error, fmt::format("get {} bytes of room in", bytes), kFileName);
  }
  void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) fail_errno(errno, "map", kFileName);
  mapped_bytes_ = bytes;
  data_ = static_cast<double*>(map);
}

ScratchRows::~ScratchRows() {
  if (mapped_bytes_ > 0) munmap(data_, mapped_bytes_);
}

void ScratchRows::put_away(std::span<const double> values) const {
  if (mapped_bytes_ == 0 || values.empty()) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  // Pages shared with a neighbour may go as well: what is in them stays in the file.
  const auto first = reinterpret_cast<std::uintptr_t>(values.data()) / page * page;
  const auto last = reinterpret_cast<std::uintptr_t>(values.data() + values.size());
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

}  // namespace prep::signal
