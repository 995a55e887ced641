// TFRecords of tf.train.Example as sources and sinks of samples. docs/tfrecord.md says which
// feature is which part.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "formats/example_sample.h"
#include "formats/example_schema.h"
#include "formats/tfrecord_reader.h"
#include "formats/tfrecord_writer.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep {

// Whether a file starts with a record's header, itself or after decompression. What can't be read
// does not.
bool looks_like_tfrecord(const std::string& path);

// Reads TFRecords one after another, a record a sample. Each record is read whole, and its
// checksums are compared; a record that is sound but not what a sample can be made of is a faulty
// sample, and damage ends the run. In a regular file that is not compressed, contents are ranges of
// it, too.
class TfRecordSource final : public Source {
 public:
  // Files, or named pipes. Looks for all of them now, so that a missing one is not found out after
  // hours of work. throws Error not_found, io, or usage for a directory.
  explicit TfRecordSource(std::vector<std::string> paths);
  // A stream, or a regular file from where it stands: standard input. throws Error usage for a
  // terminal.
  TfRecordSource(Fd input, std::string name);
  // Any bytes, compressed or not.
  TfRecordSource(std::unique_ptr<ByteReader> input, std::string name);
  ~TfRecordSource() override;

  // throws Error as TfRecordReader::next().
  bool next(Sample& sample) override;
  bool is_rereadable() const override;
  Tally left_out() const override { return left_out_; }
  std::uint64_t expected_bytes() const override { return expected_bytes_; }
  std::uint64_t consumed_bytes() const override {
    return consumed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct File;

  bool open_next();
  void open(Fd input, std::string name);

  std::vector<std::string> paths_;
  std::size_t next_path_ = 0;
  std::unique_ptr<File> file_;
  Tally left_out_;
  std::uint64_t expected_bytes_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of the files before this one
  std::atomic<std::uint64_t> consumed_bytes_{0};
};

// Writes one TFRecord. The first sample decides what the records hold (ExampleSchema); samples that
// do not fit are bad ones. The same samples give the same bytes.
class TfRecordSink final : public Sink {
 public:
  // A file, compressed as its name says (compression_for_name). It appears when it is complete.
  // What a killed run left is taken over; a second writer is refused. throws Error io.
  explicit TfRecordSink(const std::string& path, ExampleOptions options = {});
  // A stream, not compressed: standard output. throws Error usage for a terminal.
  TfRecordSink(Fd output, std::string name, ExampleOptions options = {});
  ~TfRecordSink() override;

  // Refuses parts that cannot be features: without a name, or not UTF-8.
  void check(const Sample& sample) const override;
  // throws BadSample when the sample does not fit, or cannot be read; nothing of it is written
  // then.
  void put(const Sample& sample) override;
  // Writes the end of the last record and syncs; a file gets its name. throws Error empty if there
  // was no sample: a TFRecord without records can't be told from one that was lost.
  void commit() override;
  // A file is removed; the reader of a stream sees that it was cut short.
  void abandon() override;

 private:
  void encode(const Sample& sample, ExampleRecord& record);

  ExampleOptions options_;
  std::optional<ExampleSchema> schema_;
  std::unique_ptr<AtomicFile> file_;  // or else
  Fd stream_;
  std::string name_;
  std::unique_ptr<ByteWriter> writer_;
  std::optional<TfRecordWriter> records_;
};

}  // namespace prep
