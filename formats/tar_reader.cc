#include "formats/tar_reader.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "formats/foreign.h"
#include "formats/walk_window.h"
#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

}  // namespace

// --- inputs -----------------------------------------------------------------------------------

TarFileInput::TarFileInput(std::shared_ptr<const Fd> file, std::string name, std::uint64_t begin,
                           std::uint64_t end)
    : file_(std::move(file)),
      name_(std::move(name)),
      position_(begin),
      end_(std::max(begin, end)),
      window_(kWindow) {}

ByteView TarFileInput::peek(std::size_t size) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(size, end_ - position_));
  const bool inside =
      position_ >= window_begin_ && position_ + wanted <= window_begin_ + window_size_;
  if (!inside) {
    check_interrupt();
    window_begin_ = position_;
    const std::uint64_t length = last_skip_ > kWalkBySkipping ? kSmallWindow : kWindow;
    window_size_ =
        pread_fully(file_->get(), window_.data(),
                    static_cast<std::size_t>(std::min(length, end_ - position_)), position_, name_);
  }
  const auto begin = static_cast<std::size_t>(position_ - window_begin_);
  return ByteView(window_).subspan(begin, std::min(wanted, window_size_ - begin));
}

std::size_t TarFileInput::read(std::span<std::uint8_t> out) {
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), end_ - position_));
  const std::size_t count = pread_fully(file_->get(), out.data(), wanted, position_, name_);
  position_ += count;
  return count;
}

std::uint64_t TarFileInput::skip(std::uint64_t size) {
  const std::uint64_t count = std::min(size, end_ - position_);
  position_ += count;
  if (size > kTarBlock) last_skip_ = size;
  return count;
}

TarStreamInput::TarStreamInput(std::unique_ptr<ByteReader> stream)
    : stream_(std::move(stream)), buffer_(kWindow) {}

// Reads once more behind what is buffered; false at the end.
bool TarStreamInput::fill() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t count = stream_->read(std::span(buffer_).subspan(end_));
  end_ += count;
  return count > 0;
}

ByteView TarStreamInput::peek(std::size_t size) {
  while (end_ - begin_ < size && fill()) {
  }
  return ByteView(buffer_).subspan(begin_, std::min(size, end_ - begin_));
}

std::size_t TarStreamInput::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::span<std::uint8_t> rest = out.subspan(done);
    std::size_t count = std::min(end_ - begin_, rest.size());
    if (count > 0) {
      std::memcpy(rest.data(), buffer_.data() + begin_, count);
      begin_ += count;
    } else if (rest.size() >= buffer_.size() / 2) {
      count = stream_->read(rest);  // large data goes where it belongs at once
      if (count == 0) break;
    } else if (!fill()) {
      break;
    }
    done += count;
  }
  position_ += done;
  return done;
}

std::uint64_t TarStreamInput::skip(std::uint64_t size) {
  std::uint64_t done = 0;
  while (done < size && (begin_ < end_ || fill())) {
    const std::size_t count = std::min<std::uint64_t>(end_ - begin_, size - done);
    begin_ += count;
    done += count;
  }
  position_ += done;
  return done;
}

// --- the walk ---------------------------------------------------------------------------------

TarReader::TarReader(TarInput& input, std::string name)
    : input_(input), name_(std::move(name)), start_(input.position()) {}

void TarReader::fail_at(Code code, std::uint64_t offset, std::string_view what) const {
  fail(code, "{}: {} (at byte {})", printable(name_), what, offset);
}

void TarReader::fail_no_header(ByteView block, const Error& why) const {
  const std::uint64_t offset = input_.position();
  if (offset != start_) fail_at(why.code(), offset, why.what());
  const std::string_view what = has_tar_checksum(block) ? "" : describe_foreign(block);
  if (!what.empty()) fail(Code::unsupported, "{}: not a tar: {}", printable(name_), what);
  if (why.code() == Code::truncated) fail_at(why.code(), offset, why.what());
  if (has_tar_checksum(block)) fail_at(why.code(), offset, why.what());
  fail(Code::corrupt, "{}: not a tar: it does not start with a tar header", printable(name_));
}

void TarReader::fail_in_data() const {
  fail_at(Code::truncated, input_.end() == UINT64_MAX ? input_.position() : input_.end(),
          fmt::format("cut short: it ends inside {}", printable(member_)));
}

bool TarReader::next(TarMember& member) {
  finish_member();
  TarExtension extension;
  bool extended = false;
  member.header_offset = input_.position();
  for (;;) {
    const ByteView block = input_.peek(kTarBlock);
    if (block.size() == kTarBlock && is_zero(block)) {
      if (extended) fail_at(Code::corrupt, input_.position(), "an extension without its member");
      if (!next_archive()) return false;
      member.header_offset = input_.position();
      continue;
    }
    TarHeader header = read_header();
    if (!take_extension(header, extension)) {
      begin_member(std::move(header), std::move(extension), member);
      return true;
    }
    extended = true;
  }
}

void TarReader::finish_member() {
  const std::uint64_t rest = std::exchange(data_left_, 0) + std::exchange(padding_, 0);
  if (input_.skip(rest) != rest) fail_in_data();
}

// Reads the end of an archive, of which the first zero block is next. False when nothing but zeros
// follows.
bool TarReader::next_archive() {
  const std::uint64_t offset = input_.position();
  input_.skip(kTarBlock);
  const ByteView second = input_.peek(kTarBlock);
  if (!is_zero(second)) {
    fail_at(Code::corrupt, offset, "a single zero block between members; a part was overwritten");
  }
  if (second.size() < kTarBlock) {
    fail_at(Code::truncated, input_.position() + second.size(),
            "cut short: it ends inside its end mark");
  }
  for (ByteView block = second; !block.empty(); block = input_.peek(kTarBlock)) {
    if (!is_zero(block)) {
      if (block.size() < kTarBlock || !has_tar_checksum(block)) {
        fail_at(Code::corrupt, input_.position(), "something that is no tar follows its end mark");
      }
      ++more_archives_;
      return true;
    }
    input_.skip(block.size());
  }
  return false;
}

TarHeader TarReader::read_header() {
  const ByteView block = input_.peek(kTarBlock);
  try {
    if (block.empty() && input_.position() == start_) {
      fail(Code::empty, "{}: empty; even a tar without members has an end mark", printable(name_));
    }
    if (block.empty()) {
      fail(Code::truncated, "cut short: its end mark is missing, so members may be, too");
    }
    if (block.size() < kTarBlock) fail(Code::truncated, "cut short: it ends inside a header");
    TarHeader header = parse_tar_header(block);
    input_.skip(kTarBlock);
    return header;
  } catch (const Error& error) {
    if (error.code() == Code::empty) throw;
    fail_no_header(block, error);
  }
}

Bytes TarReader::read_payload(const TarHeader& header) {
  const std::uint64_t offset = input_.position();
  if (header.size > kMaxTarExtension) {
    fail_at(Code::limit, offset,
            fmt::format("an extension header of {} bytes; {} are the limit", header.size,
                        kMaxTarExtension));
  }
  std::vector<std::uint8_t> payload(static_cast<std::size_t>(header.size));
  member_ = "an extension header";
  if (input_.read(payload) != payload.size()) fail_in_data();
  const std::uint64_t padding = tar_padding(header.size);
  if (input_.skip(padding) != padding) fail_in_data();
  return Bytes::take(std::move(payload));
}

// Whether the header belongs to an extension, which then is read.
bool TarReader::take_extension(const TarHeader& header, TarExtension& extension) {
  if (std::string_view("xXgLK").find(header.type) == std::string_view::npos) return false;
  const std::uint64_t offset = input_.position();
  const Bytes payload = read_payload(header);
  try {
    switch (header.type) {
      case 'L':
        extension.path = parse_gnu_name(payload.view());
        break;
      case 'K':
        extension.link = parse_gnu_name(payload.view());
        break;
      case 'g': {
        // Comments and times; anything more would be one name for all.
        TarExtension global;
        parse_pax(payload.view(), global);
        if (global.path || global.link || global.size || global.sparse) {
          fail(Code::unsupported, "a global PAX header that sets a name or a size");
        }
        break;
      }
      default:
        parse_pax(payload.view(), extension);
    }
  } catch (const Error& error) {
    fail_at(error.code(), offset, error.what());
  }
  return true;
}

void TarReader::begin_member(TarHeader header, TarExtension extension, TarMember& member) {
  skip_sparse_map(header);
  member.type = header.type;
  member.sparse = header.type == 'S' || extension.sparse;
  member.name = extension.path ? std::move(*extension.path) : std::move(header.name);
  member.link = extension.link ? std::move(*extension.link) : std::move(header.link);
  member.size = tar_type_has_data(header.type) ? extension.size.value_or(header.size) : 0;
  member.mtime_ns = extension.mtime_ns.value_or(header.mtime_ns);
  member.data_offset = input_.position();
  member_ = member.name;
  data_left_ = member.size;
  padding_ = tar_padding(member.size);
  // Known at once for a file: nobody need start on a member that isn't whole.
  if (data_left_ + padding_ > input_.end() - input_.position()) fail_in_data();
}

void TarReader::skip_sparse_map(const TarHeader& header) {
  member_ = header.name;
  for (bool more = header.more_sparse_blocks; more;) {
    const ByteView block = input_.peek(kTarBlock);
    more = block.size() == kTarBlock && more_sparse_blocks(block);
    if (input_.skip(kTarBlock) != kTarBlock) fail_in_data();
  }
}

std::size_t TarReader::read(std::span<std::uint8_t> out) {
  const std::size_t wanted = std::min<std::uint64_t>(out.size(), data_left_);
  if (input_.read(out.first(wanted)) != wanted) fail_in_data();
  data_left_ -= wanted;
  return wanted;
}

}  // namespace prep
