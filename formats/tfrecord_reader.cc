#include "formats/tfrecord_reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "formats/foreign.h"
#include "formats/tar_header.h"
#include "formats/walk_window.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

// What is taken for a record from a stream before any of its bytes have come.
constexpr std::size_t kFirstBlock = 16 << 20;

// Memory that grows as a stream's bytes come.
class GrowingBlock {
 public:
  explicit GrowingBlock(std::size_t capacity) { grow(capacity); }
  GrowingBlock(const GrowingBlock&) = delete;
  ~GrowingBlock() { std::free(data_); }

  void grow(std::size_t capacity) {
    auto* grown =
        static_cast<std::uint8_t*>(std::realloc(data_, std::max<std::size_t>(capacity, 1)));
    if (!grown) throw std::bad_alloc();
    data_ = grown;
    capacity_ = capacity;
  }
  std::span<std::uint8_t> from(std::size_t begin) { return {data_ + begin, capacity_ - begin}; }
  Bytes take(std::size_t size) { return Bytes::take_malloc(std::exchange(data_, nullptr), size); }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace

TfRecordReader::TfRecordReader(std::unique_ptr<ByteReader> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)), buffer_(kWindow), window_(kWindow) {}

TfRecordReader::TfRecordReader(std::shared_ptr<const Fd> file, std::string name,
                               std::uint64_t begin, std::uint64_t end)
    : file_(std::move(file)),
      file_end_(std::max(begin, end)),
      name_(std::move(name)),
      start_(begin),
      position_(begin),
      buffer_(kWindow),
      window_(kWindow) {}

// --- errors -----------------------------------------------------------------------------------

void TfRecordReader::fail_record(Code code, Damage damage, std::string_view what) {
  damage_ = damage;
  fail(code, "{}: corrupted record at {}: {}", printable(name_), record_offset_, what);
}

void TfRecordReader::fail_cut(std::string_view inside, std::uint64_t have, std::uint64_t wanted) {
  fail_record(
      Code::truncated, Damage::cut,
      fmt::format("cut short: the file ends inside its {} ({} of {} bytes)", inside, have, wanted));
}

void TfRecordReader::fail_no_header(ByteView head) {
  if (record_offset_ == start_) {
    const std::string_view what = describe_foreign(peek(kTarBlock));
    damage_ = Damage::header;
    if (!what.empty()) fail(Code::unsupported, "{}: not a TFRecord: {}", printable(name_), what);
  }
  if (head.size() < kTfRecordHeader) fail_cut("header", head.size(), kTfRecordHeader);
  fail_record(Code::corrupt, Damage::header, "the checksum of its length does not fit");
}

void TfRecordReader::fail_cut_data(std::uint64_t length, std::uint64_t have) {
  if (have < length) fail_cut("data", have, length);
  fail_cut("checksum", have - length, kTfRecordFooter);
}

// --- records ----------------------------------------------------------------------------------

bool TfRecordReader::next(TfRecord& record) {
  if (!start_record(record)) return false;
  const auto size = static_cast<std::size_t>(record.length + kTfRecordFooter);
  const Bytes block = read_block(size);
  if (block.size() < size) {
    if (!file_) damaged_ = block;
    fail_cut_data(record.length, block.size());
  }
  record.data = block.slice(0, size - kTfRecordFooter);
  Crc32c crc;
  crc.update(record.data.view());
  if (!tfrecord_footer_fits(block.view().last(kTfRecordFooter), crc)) {
    if (!file_) damaged_ = block;
    fail_record(Code::corrupt, Damage::data, "the checksum of its data does not fit");
  }
  return true;
}

bool TfRecordReader::skip(TfRecord& record) {
  if (!file_) {
    const bool more = next(record);
    record.data = Bytes();
    return more;
  }
  window_ = record.length > kWalkBySkipping ? kSmallWindow : kWindow;
  if (!start_record(record)) return false;
  move_to(record.end());
  return true;
}

// Reads a header; false at the end of the input.
bool TfRecordReader::start_record(TfRecord& record) {
  damage_ = Damage::none;
  damaged_ = Bytes();
  record.data = Bytes();
  record_offset_ = record.offset = position_;
  const ByteView head = peek(kTfRecordHeader);
  if (head.empty()) {
    if (file_ && position_ < file_end_) fail_cut("header", 0, kTfRecordHeader);
    if (position_ != start_) return false;
    fail(Code::empty, "{}: empty; there is no record in it", printable(name_));
  }
  const auto length = parse_tfrecord_header(head);
  if (!length) fail_no_header(head);
  if (*length > kMaxTfRecord) {
    fail_record(Code::limit, Damage::header,
                fmt::format("{} bytes long; a record holds a protobuf message, and these are "
                            "smaller than 2 GiB",
                            *length));
  }
  record.length = *length;
  consume(kTfRecordHeader);
  if (file_ && record.end() > file_end_) {
    const std::uint64_t have = file_end_ - position_;
    move_to(file_end_);
    fail_cut_data(record.length, have);
  }
  return true;
}

// Data and footer, fewer bytes only at the end of the input.
Bytes TfRecordReader::read_block(std::size_t size) {
  GrowingBlock block(file_ ? size : std::min(size, kFirstBlock));
  std::size_t done = 0;
  for (;;) {
    const std::span<std::uint8_t> room = block.from(done);
    const std::size_t count = read(room);
    done += count;
    if (done == size || count < room.size()) return block.take(done);
    block.grow(std::min(size, 2 * done));
  }
}

// --- behind damage ----------------------------------------------------------------------------

bool TfRecordReader::resync() {
  switch (std::exchange(damage_, Damage::none)) {
    case Damage::none:
      return false;
    case Damage::header:
      consume(std::min<std::size_t>(1, peek(1).size()));
      return scan();
    case Damage::data: {
      // If another record follows, or nothing, then its length is right, and nothing was lost but
      // this one.
      const ByteView head = peek(kTfRecordHeader);
      if (head.empty()) return false;
      return parse_tfrecord_header(head) ? true : search_inside();
    }
    case Damage::cut:
      return search_inside();
  }
  return false;
}

// Looks for records in the data of the damaged one, and then behind it. Data that was searched once
// is not searched again, or a file made for it could take forever.
bool TfRecordReader::search_inside() {
  if (record_offset_ < searched_until_) return scan();
  searched_until_ = position_;
  const std::uint64_t begin = record_offset_ + kTfRecordHeader;
  if (file_) {
    move_to(begin);
  } else {
    put_back_.push_front(Bytes::copy(buffered()));
    put_back_.push_front(std::exchange(damaged_, Bytes()));
    begin_ = end_ = 0;
    position_ = begin;
  }
  return scan();
}

bool TfRecordReader::scan() {
  for (;;) {
    peek(kTfRecordHeader);
    const auto found = find_tfrecord_header(buffered());
    if (!found) {
      const std::size_t size = buffered().size();
      consume(size < kTfRecordHeader ? size : size - (kTfRecordHeader - 1));
      if (size < kTfRecordHeader) return false;
      continue;
    }
    consume(*found);
    const std::uint64_t length = *parse_tfrecord_header(buffered());
    if (length + kTfRecordOverhead <= file_end_ - position_) return true;
    consume(1);
  }
}

// --- bytes ------------------------------------------------------------------------------------

// At least `size` bytes, unless the input ends before.
ByteView TfRecordReader::peek(std::size_t size) {
  if (end_ - begin_ < size) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < size) {
    const std::size_t room = std::max(window_, size) - end_;
    const std::size_t count = read_underneath(std::span(buffer_).subspan(end_, room));
    if (count == 0) break;
    end_ += count;
  }
  return buffered().first(std::min(size, end_ - begin_));
}

void TfRecordReader::consume(std::size_t count) {
  begin_ += count;
  position_ += count;
}

// In a file.
void TfRecordReader::move_to(std::uint64_t position) {
  if (position >= position_ && position - position_ <= end_ - begin_) {
    consume(static_cast<std::size_t>(position - position_));
    return;
  }
  position_ = position;
  begin_ = end_ = 0;
}

// The next bytes, fewer than asked for only at the end of the input.
std::size_t TfRecordReader::read(std::span<std::uint8_t> out) {
  std::size_t done = std::min(out.size(), end_ - begin_);
  if (done > 0) std::memcpy(out.data(), buffer_.data() + begin_, done);
  consume(done);
  while (done < out.size()) {
    const std::size_t count = read_underneath(out.subspan(done));
    if (count == 0) break;
    done += count;
    position_ += count;
  }
  return done;
}

// What comes behind the buffer; 0 bytes only at the end of the input.
std::size_t TfRecordReader::read_underneath(std::span<std::uint8_t> out) {
  check_interrupt();
  if (file_) {
    const std::uint64_t at = position_ + (end_ - begin_);
    const std::uint64_t wanted = std::min<std::uint64_t>(out.size(), file_end_ - at);
    return pread_fully(file_->get(), out.data(), static_cast<std::size_t>(wanted), at, name_);
  }
  while (!put_back_.empty()) {
    Bytes& front = put_back_.front();
    const std::size_t count = std::min(out.size(), front.size());
    if (count > 0) std::memcpy(out.data(), front.data(), count);
    front = front.slice(count, front.size() - count);
    if (front.empty()) put_back_.pop_front();
    if (count > 0) return count;
  }
  return stream_->read(out);
}

}  // namespace prep
