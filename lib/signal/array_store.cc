#include "lib/signal/array_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unnamed_file.h"

namespace prep::signal {
namespace {

constexpr std::uint64_t kLargestArray = std::uint64_t{1} << 46;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kRowPiece = std::size_t{1} << 16;  // values
constexpr std::string_view kFileName = "a temporary file (TMPDIR says where)";

std::string make_header(NpyType type, const ArrayShape& shape, Layout layout) {
  const auto [c, f, t] = shape;
  switch (layout) {
    case Layout::cft:
      return npy_header(type, std::array<std::uint64_t, 3>{c, f, t});
    case Layout::ftc:
      return npy_header(type, std::array<std::uint64_t, 3>{f, t, c});
    case Layout::ctf:
      return npy_header(type, std::array<std::uint64_t, 3>{c, t, f});
  }
  return {};
}

std::uint64_t total_bytes(const ArrayShape& shape, std::size_t item_bytes) {
  std::uint64_t total = item_bytes;
  for (const std::size_t side : {shape.channels, shape.frequencies, shape.times}) {
    if (__builtin_mul_overflow(total, side, &total) || total > kLargestArray) {
      fail(Code::limit, "an array of {} x {} x {} values is more than is possible", shape.channels,
           shape.frequencies, shape.times);
    }
  }
  return total;
}

// Large arrays in huge pages, where the system has them: getting 4 KiB pages one by one, and giving
// them back, took a quarter of the time.
std::uint8_t* allocate(std::uint64_t bytes) {
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kAlignment;
  const std::size_t room = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, room);
  if (!memory) throw std::bad_alloc();
  if (alignment == kHugePage) (void)madvise(memory, room, MADV_HUGEPAGE);
  return static_cast<std::uint8_t*>(memory);
}

}  // namespace

void ArrayStore::FreeMemory::operator()(std::uint8_t* memory) const { std::free(memory); }

ArrayStore::ArrayStore(NpyType type, const ArrayShape& shape, Layout layout)
    : shape_(shape),
      layout_(layout),
      item_bytes_(npy_item_bytes(type)),
      header_(make_header(type, shape, layout)),
      bytes_(header_.size() + total_bytes(shape, item_bytes_)) {
  if (is_in_memory(type, shape)) {
    memory_.reset(allocate(bytes_));
    std::copy(header_.begin(), header_.end(), memory_.get());
    return;
  }
  Fd file = open_unnamed_file();
  // So that a disk that is too small shows before the work is done.
  if (const int error = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_))) {
    fail_errno(error, fmt::format("get {} bytes of room in", bytes_), kFileName);
  }
  file_ = std::make_shared<const Fd>(std::move(file));
  write_at(header_.data(), header_.size(), 0);
}

bool ArrayStore::is_in_memory(NpyType type, const ArrayShape& shape) {
  return total_bytes(shape, npy_item_bytes(type)) <= kLargestArrayInMemory;
}

std::uint64_t ArrayStore::offset_of(std::size_t channel, std::size_t frequency,
                                    std::size_t time) const {
  const auto [channels, frequencies, times] = shape_;
  const std::uint64_t place =
      layout_ == Layout::cft   ? (channel * frequencies + frequency) * times + time
      : layout_ == Layout::ftc ? (frequency * times + time) * channels + channel
                               : (channel * times + time) * frequencies + frequency;
  return header_.size() + place * item_bytes_;
}

void ArrayStore::write_at(const void* data, std::size_t bytes, std::uint64_t offset) const {
  const auto* from = static_cast<const std::uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(file_->get(), from, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(errno, "write", kFileName);
    from += written;
    offset += static_cast<std::uint64_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

template <typename T>
void ArrayStore::put(const T* block, std::size_t block_times, std::size_t first_time) {
  if (memory_) {
    place_block(block, block_times, first_time, layout_, shape_, elements<T>());
    return;
  }
  // The same block in the array's order, and then its runs that lie together in the file.
  const auto [channels, frequencies, times] = shape_;
  std::vector<T> turned;
  if (layout_ != Layout::cft) {
    turned.resize(channels * frequencies * block_times);
    place_block(block, block_times, 0, layout_, {channels, frequencies, block_times},
                turned.data());
    block = turned.data();
  }
  const bool by_channel = layout_ != Layout::ftc, by_frequency = layout_ != Layout::ctf;
  const std::size_t run =
      block_times * (by_channel ? 1 : channels) * (by_frequency ? 1 : frequencies);
  for (std::size_t c = 0; c < (by_channel ? channels : 1); ++c) {
    for (std::size_t f = 0; f < (by_frequency ? frequencies : 1); ++f) {
      write_at(block, run * sizeof(T), offset_of(c, f, first_time));
      block += run;
    }
  }
}

template void ArrayStore::put(const std::uint8_t*, std::size_t, std::size_t);
template void ArrayStore::put(const std::uint16_t*, std::size_t, std::size_t);
template void ArrayStore::put(const float*, std::size_t, std::size_t);
template void ArrayStore::put(const std::complex<float>*, std::size_t, std::size_t);

float* ArrayStore::row_in_memory(std::size_t channel, std::size_t frequency) {
  if (!memory_) return nullptr;
  return elements<float>() + (channel * shape_.frequencies + frequency) * shape_.times;
}

void ArrayStore::visit_row(std::size_t channel, std::size_t frequency, bool write,
                           const std::function<void(std::span<float>)>& f) {
  if (float* const row = row_in_memory(channel, frequency)) return f({row, shape_.times});
  std::vector<float> piece(std::min(kRowPiece, shape_.times));
  for (std::size_t time = 0; time < shape_.times; time += piece.size()) {
    const std::size_t count = std::min(piece.size(), shape_.times - time);
    const std::uint64_t offset = offset_of(channel, frequency, time);
    pread_fully(file_->get(), reinterpret_cast<std::uint8_t*>(piece.data()), count * sizeof(float),
                offset, kFileName);
    f({piece.data(), count});
    if (write) write_at(piece.data(), count * sizeof(float), offset);
  }
}

void ArrayStore::get(float* block, std::size_t block_times, std::size_t first_time) {
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    for (std::size_t f = 0; f < shape_.frequencies; ++f, block += block_times) {
      if (const float* const row = row_in_memory(c, f)) {
        std::copy_n(row + first_time, block_times, block);
      } else {
        pread_fully(file_->get(), reinterpret_cast<std::uint8_t*>(block),
                    block_times * sizeof(float), offset_of(c, f, first_time), kFileName);
      }
    }
  }
}

std::shared_ptr<const Content> ArrayStore::take(std::string origin, std::int64_t mtime_ns) {
  if (!memory_) {
    return std::make_shared<RangeContent>(std::exchange(file_, nullptr), 0, bytes_,
                                          std::move(origin), mtime_ns);
  }
  return std::make_shared<MemoryContent>(Bytes::take_malloc(memory_.release(), bytes_),
                                         std::move(origin), mtime_ns);
}

}  // namespace prep::signal
