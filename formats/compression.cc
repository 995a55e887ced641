#include "formats/compression.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/interrupt.h"

namespace prep {
namespace {

constexpr std::size_t kBuffer = 256 << 10;
// Writes of this size and more are not copied into the buffer first.
constexpr std::size_t kLargeWrite = 64 << 10;
constexpr int kPipeSize = 1 << 20;

std::uint32_t load_le32(ByteView bytes) {
  return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

bool is_gzip(ByteView head) { return head.size() >= 2 && head[0] == 0x1F && head[1] == 0x8B; }

// A frame of data, or a skippable one (RFC 8878, 3.1).
bool is_zstd(ByteView head) {
  if (head.size() < 4) return false;
  const std::uint32_t magic = load_le32(head);
  return magic == ZSTD_MAGICNUMBER ||
         (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

// A pipe's 64 KiB make two programs wait for each other more often than need be. The kernel may
// refuse more (the user's limit): then it stays as it is.
void widen_pipe(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  if (fcntl(fd, F_GETPIPE_SZ) < kPipeSize) fcntl(fd, F_SETPIPE_SZ, kPipeSize);
}

}  // namespace

Compression detect_compression(ByteView head) {
  if (is_gzip(head)) return Compression::gzip;
  if (is_zstd(head)) return Compression::zstd;
  return Compression::none;
}

bool is_plain_file(const std::string& path) {
  const auto status = find_file(path);
  if (!status || !S_ISREG(status->st_mode)) return false;
  const Fd file = open_file(path, O_RDONLY);
  std::uint8_t head[4];
  const std::size_t size = pread_fully(file.get(), head, sizeof head, 0, path);
  return detect_compression(ByteView(head).first(size)) == Compression::none;
}

Compression compression_for_name(std::string_view path) {
  const auto ends_with = [&](std::string_view ending) {
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    };
    return path.size() >= ending.size() &&
           std::equal(path.end() - static_cast<std::ptrdiff_t>(ending.size()), path.end(),
                      ending.begin(), same);
  };
  if (ends_with(".gz") || ends_with(".tgz")) return Compression::gzip;
  if (ends_with(".zst") || ends_with(".tzst")) return Compression::zstd;
  return Compression::none;
}

// --- readers ----------------------------------------------------------------------------------

std::size_t MemoryReader::read(std::span<std::uint8_t> out) {
  const std::size_t count = std::min(out.size(), bytes_.size() - position_);
  if (count > 0) std::memcpy(out.data(), bytes_.data() + position_, count);
  position_ += count;
  return count;
}

FdReader::FdReader(std::shared_ptr<const Fd> fd, std::string name)
    : fd_(std::move(fd)), name_(std::move(name)) {
  widen_pipe(fd_->get());
}

std::size_t FdReader::read(std::span<std::uint8_t> out) {
  for (;;) {
    check_interrupt();
    const ssize_t count = ::read(fd_->get(), out.data(), out.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno(errno, "read", name_);
    consumed_ += static_cast<std::uint64_t>(count);
    return static_cast<std::size_t>(count);
  }
}

namespace {

// Compressed bytes on their way into a decoder.
class InputBuffer {
 public:
  explicit InputBuffer(std::unique_ptr<ByteReader> input)
      : input_(std::move(input)), buffer_(kBuffer) {}

  ByteView view() const { return ByteView(buffer_).subspan(begin_, end_ - begin_); }
  void consume(std::size_t count) { begin_ += count; }
  std::uint64_t consumed() const { return input_->consumed(); }

  // At least `size` bytes (of kBuffer at most), fewer only at the end of the input.
  ByteView peek(std::size_t size) {
    if (end_ - begin_ < size) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    while (end_ - begin_ < size) {
      const std::size_t count = input_->read(std::span(buffer_).subspan(end_));
      if (count == 0) break;
      end_ += count;
    }
    return view();
  }

  // Past the buffered bytes, without a copy.
  std::size_t read(std::span<std::uint8_t> out) {
    if (begin_ == end_) return input_->read(out);
    const std::size_t count = std::min(out.size(), end_ - begin_);
    std::memcpy(out.data(), buffer_.data() + begin_, count);
    begin_ += count;
    return count;
  }

 private:
  std::unique_ptr<ByteReader> input_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

class PlainReader final : public ByteReader {
 public:
  explicit PlainReader(InputBuffer input) : input_(std::move(input)) {}
  std::size_t read(std::span<std::uint8_t> out) override { return input_.read(out); }
  std::uint64_t consumed() const override { return input_.consumed(); }

 private:
  InputBuffer input_;
};

[[noreturn]] void fail_truncated(std::string_view name, std::string_view format) {
  fail(Code::truncated, "{}: the {} data is cut short", printable(name), format);
}
[[noreturn]] void fail_corrupt(std::string_view name, std::string_view format,
                               std::string_view detail) {
  fail(Code::corrupt, "{}: the {} data is damaged ({})", printable(name), format, detail);
}

// RFC 1952. zlib checks each member's CRC-32 and length.
class GzipReader final : public ByteReader {
 public:
  GzipReader(InputBuffer input, std::string name)
      : input_(std::move(input)), name_(std::move(name)) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  GzipReader(const GzipReader&) = delete;
  ~GzipReader() override { inflateEnd(&stream_); }

  std::size_t read(std::span<std::uint8_t> out) override {
    for (;;) {
      if (!in_member_ && !start_member()) return 0;
      const bool at_end = input_.peek(1).empty();
      if (const std::size_t count = inflate_some(out)) return count;
      if (in_member_ && at_end) fail_truncated(name_, "gzip");
    }
  }
  std::uint64_t consumed() const override { return input_.consumed(); }

 private:
  std::size_t inflate_some(std::span<std::uint8_t> out) {
    const ByteView in = input_.view();
    const std::size_t room = std::min<std::size_t>(out.size(), 1 << 30);
    stream_.next_in = const_cast<std::uint8_t*>(in.data());
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = out.data();
    stream_.avail_out = static_cast<uInt>(room);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) {
      fail_corrupt(name_, "gzip", stream_.msg ? stream_.msg : "it needs a dictionary");
    }
    input_.consume(in.size() - stream_.avail_in);
    in_member_ = status != Z_STREAM_END;
    return room - stream_.avail_out;
  }

  // False at the end of the input. Zeros up to there are what tapes and block devices add.
  bool start_member() {
    ByteView head = input_.peek(2);
    if (is_gzip(head)) {
      inflateReset(&stream_);
      in_member_ = true;
      return true;
    }
    for (; !head.empty(); head = input_.peek(1)) {
      if (head[0] == 0x1F && head.size() == 1) fail_truncated(name_, "gzip");
      const auto is_zero = [](std::uint8_t byte) { return byte == 0; };
      if (!std::all_of(head.begin(), head.end(), is_zero)) {
        fail_corrupt(name_, "gzip", "something else follows its end");
      }
      input_.consume(head.size());
    }
    return false;
  }

  InputBuffer input_;
  std::string name_;
  z_stream stream_{};
  bool in_member_ = false;
};

// RFC 8878.
class ZstdReader final : public ByteReader {
 public:
  ZstdReader(InputBuffer input, std::string name)
      : input_(std::move(input)), name_(std::move(name)), context_(ZSTD_createDCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kWindowLog);
  }

  std::size_t read(std::span<std::uint8_t> out) override {
    for (;;) {
      if (!in_frame_ && !start_frame()) return 0;
      const bool at_end = input_.peek(1).empty();
      if (const std::size_t count = decompress_some(out)) return count;
      if (in_frame_ && at_end) fail_truncated(name_, "zstd");
    }
  }
  std::uint64_t consumed() const override { return input_.consumed(); }

 private:
  static constexpr int kWindowLog = 27;

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };

  std::size_t decompress_some(std::span<std::uint8_t> out) {
    const ByteView view = input_.view();
    ZSTD_inBuffer in{view.data(), view.size(), 0};
    ZSTD_outBuffer room{out.data(), out.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context_.get(), &room, &in);
    if (ZSTD_isError(status)) fail_status(status);
    input_.consume(in.pos);
    in_frame_ = status != 0;
    return room.pos;
  }

  [[noreturn]] void fail_status(std::size_t status) const {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(status);
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      fail(Code::limit,
           "{}: its zstd window is over {} MiB; decompress it first with 'zstd -d --long=31'",
           printable(name_), (1 << kWindowLog) >> 20);
    }
    fail_corrupt(name_, "zstd", ZSTD_getErrorString(code));
  }

  // False at the end of the input. The magic is checked here because the library would also take
  // frames of its formats before 1.0, whose decoders know no limit on memory.
  bool start_frame() {
    const ByteView head = input_.peek(4);
    if (head.empty()) return false;
    if (head.size() < 4) fail_truncated(name_, "zstd");
    if (!is_zstd(head)) fail_corrupt(name_, "zstd", "something else follows its end");
    in_frame_ = true;
    return true;
  }

  InputBuffer input_;
  std::string name_;
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  bool in_frame_ = false;
};

}  // namespace

std::unique_ptr<ByteReader> decompress(std::unique_ptr<ByteReader> input, std::string name) {
  InputBuffer buffer(std::move(input));
  switch (detect_compression(buffer.peek(4))) {
    case Compression::gzip:
      return std::make_unique<GzipReader>(std::move(buffer), std::move(name));
    case Compression::zstd:
      return std::make_unique<ZstdReader>(std::move(buffer), std::move(name));
    case Compression::none:
      break;
  }
  return std::make_unique<PlainReader>(std::move(buffer));
}

// --- writers ----------------------------------------------------------------------------------

namespace {

// Gathers small writes; large ones go out as they are.
class PlainWriter final : public ByteWriter {
 public:
  PlainWriter(int fd, std::string name) : fd_(fd), name_(std::move(name)) {
    widen_pipe(fd_);
    buffer_.reserve(kBuffer);
  }

  void write(ByteView data) override {
    if (buffer_.size() + data.size() > kBuffer || data.size() >= kLargeWrite) flush();
    if (data.size() >= kLargeWrite) {
      out(data);
    } else {
      buffer_.insert(buffer_.end(), data.begin(), data.end());
    }
  }
  void finish() override { flush(); }
  std::uint64_t written() const override { return written_; }

 private:
  void out(ByteView data) {
    check_interrupt();
    write_fully(fd_, data, name_);
    written_ += data.size();
  }
  void flush() {
    out(buffer_);
    buffer_.clear();
  }

  int fd_;
  std::string name_;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t written_ = 0;
};

class GzipWriter final : public ByteWriter {
 public:
  explicit GzipWriter(std::unique_ptr<ByteWriter> out) : out_(std::move(out)), buffer_(kBuffer) {
    constexpr int kGzip = 16, kMemoryLevel = 8;
    // Without a header of our own, zlib writes one with no name and no time.
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, MAX_WBITS + kGzip, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  GzipWriter(const GzipWriter&) = delete;
  ~GzipWriter() override { deflateEnd(&stream_); }

  void write(ByteView data) override {
    while (!data.empty()) {
      const std::size_t count = std::min<std::size_t>(data.size(), 1 << 30);
      deflate_all(data.first(count), Z_NO_FLUSH);
      data = data.subspan(count);
    }
  }
  void finish() override {
    deflate_all({}, Z_FINISH);
    out_->finish();
  }
  std::uint64_t written() const override { return out_->written(); }

 private:
  static constexpr int kLevel = 6;

  void deflate_all(ByteView data, int flush) {
    stream_.next_in = const_cast<std::uint8_t*>(data.data());
    stream_.avail_in = static_cast<uInt>(data.size());
    do {
      stream_.next_out = buffer_.data();
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      deflate(&stream_, flush);
      out_->write(ByteView(buffer_).first(buffer_.size() - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  std::unique_ptr<ByteWriter> out_;
  std::vector<std::uint8_t> buffer_;
  z_stream stream_{};
};

class ZstdWriter final : public ByteWriter {
 public:
  explicit ZstdWriter(std::unique_ptr<ByteWriter> out)
      : out_(std::move(out)), buffer_(kBuffer), context_(ZSTD_createCCtx()) {
    if (!context_) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void write(ByteView data) override {
    ZSTD_inBuffer in{data.data(), data.size(), 0};
    while (in.pos < in.size) compress_some(in, ZSTD_e_continue);
  }
  void finish() override {
    ZSTD_inBuffer in{nullptr, 0, 0};
    while (compress_some(in, ZSTD_e_end) != 0) {
    }
    out_->finish();
  }
  std::uint64_t written() const override { return out_->written(); }

 private:
  static constexpr int kLevel = 3;

  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  // How much is still to come out, at least.
  std::size_t compress_some(ZSTD_inBuffer& in, ZSTD_EndDirective directive) {
    ZSTD_outBuffer room{buffer_.data(), buffer_.size(), 0};
    const std::size_t status = ZSTD_compressStream2(context_.get(), &room, &in, directive);
    // Only for want of memory: the data cannot be wrong.
    if (ZSTD_isError(status)) throw std::bad_alloc();
    out_->write(ByteView(buffer_).first(room.pos));
    return status;
  }

  std::unique_ptr<ByteWriter> out_;
  std::vector<std::uint8_t> buffer_;
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

}  // namespace

std::unique_ptr<ByteWriter> compress(std::unique_ptr<ByteWriter> out, Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return std::make_unique<GzipWriter>(std::move(out));
    case Compression::zstd:
      return std::make_unique<ZstdWriter>(std::move(out));
    case Compression::none:
      break;
  }
  return out;
}

std::unique_ptr<ByteWriter> make_writer(int fd, Compression compression, std::string name) {
  return compress(std::make_unique<PlainWriter>(fd, std::move(name)), compression);
}

}  // namespace prep
