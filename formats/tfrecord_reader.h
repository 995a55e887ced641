// Walks the records of a TFRecord file or stream, and finds its way again behind damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/compression.h"
#include "formats/tfrecord_record.h"
#include "lib/core/bytes.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {

struct TfRecord {
  std::uint64_t offset = 0;  // of the header, from the beginning of the file or the stream
  std::uint64_t length = 0;  // of the data
  Bytes data;                // in memory of its own; empty after skip()

  std::uint64_t data_offset() const { return offset + kTfRecordHeader; }
  std::uint64_t end() const { return offset + length + kTfRecordOverhead; }
};

class TfRecordReader {
 public:
  // A stream, decompressed already. `name` is for messages.
  TfRecordReader(std::unique_ptr<ByteReader> stream, std::string name);
  // The bytes [begin, end) of a regular file that is not compressed.
  TfRecordReader(std::shared_ptr<const Fd> file, std::string name, std::uint64_t begin,
                 std::uint64_t end);

  // The next record, both of its checksums compared; false at the end. Memory is taken only for a
  // length whose checksum fits, and from a stream only as its bytes come.
  // throws Error "x.tfrecord: corrupted record at OFFSET: …": corrupt, truncated, limit (over
  // kMaxTfRecord); empty if there is nothing at all; unsupported if there is something else than a
  // TFRecord, with a word on what it is.
  bool next(TfRecord& record);
  // The same without the data, which in a file is not even read: only whether it is all there.
  bool skip(TfRecord& record);

  // After an Error corrupt, truncated or limit: goes on to where the next record seems to start,
  // which then is position(); false if there is none, and then next() says so, too. Records that a
  // damaged one seems to hold are found as well: where two files were joined and the first was cut,
  // its last record appears to reach into the second. Any file is read twice at most.
  bool resync();

  // Where the next record starts, or should.
  std::uint64_t position() const { return position_; }
  // Where the record starts that next() or skip() gave or failed at.
  std::uint64_t record_offset() const { return record_offset_; }
  // How much of the file underneath was used, for progress.
  std::uint64_t consumed() const { return stream_ ? stream_->consumed() : position_; }

 private:
  // What next() or skip() threw for: a header that does not fit, of which nothing was consumed;
  // data that does not; a record that the end of the input cuts.
  enum class Damage { none, header, data, cut };

  [[noreturn]] void fail_record(Code code, Damage damage, std::string_view what);
  [[noreturn]] void fail_cut(std::string_view inside, std::uint64_t have, std::uint64_t wanted);
  [[noreturn]] void fail_no_header(ByteView head);
  [[noreturn]] void fail_cut_data(std::uint64_t length, std::uint64_t have);
  bool start_record(TfRecord& record);
  Bytes read_block(std::size_t size);
  bool search_inside();
  bool scan();

  ByteView buffered() const { return ByteView(buffer_).subspan(begin_, end_ - begin_); }
  ByteView peek(std::size_t size);
  void consume(std::size_t count);
  void move_to(std::uint64_t position);
  std::size_t read(std::span<std::uint8_t> out);
  std::size_t read_underneath(std::span<std::uint8_t> out);

  std::unique_ptr<ByteReader> stream_;  // or else
  std::shared_ptr<const Fd> file_;
  std::uint64_t file_end_ = UINT64_MAX;
  std::string name_;

  std::uint64_t start_ = 0, position_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // what is buffered, from position_ on
  std::size_t window_;               // how much is read ahead
  std::deque<Bytes> put_back_;       // comes behind the buffer, before the stream

  std::uint64_t record_offset_ = 0;
  Damage damage_ = Damage::none;
  Bytes damaged_;                     // data and footer, from a stream, to be searched
  std::uint64_t searched_until_ = 0;  // records that start before are not searched
};

}  // namespace prep
