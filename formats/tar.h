// Tar files and streams as sources and sinks of samples.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "formats/tar_reader.h"
#include "formats/tar_sample_writer.h"
#include "lib/core/file_io.h"
#include "lib/core/sample.h"
#include "lib/core/stream.h"

namespace prep {

// Reads tars one after another; samples are members that follow each other and share a key, and
// never span two tars. Names are cleaned (clean_path), else kept as they are. Links, devices,
// sparse files and names with ".." make their sample faulty; directories and what is hidden, or
// below a hidden directory, are left out.
//
// In a regular file that is not compressed only headers are read, and the contents are ranges of
// it. Otherwise a part's bytes are held in memory; what goes beyond 64 MiB in one sample lies in an
// unlinked temporary file in $TMPDIR or /var/tmp. Nothing grows with the number of members.
class TarSource final : public Source {
 public:
  // Files, or named pipes. Looks for all of them now, so that a missing one is not found out after
  // hours of work. throws Error not_found, io, or usage for a directory.
  explicit TarSource(std::vector<std::string> paths);
  // A stream, or a regular file from where it stands: standard input. throws Error usage for a
  // terminal.
  TarSource(Fd input, std::string name);
  // Any bytes, compressed or not.
  TarSource(std::unique_ptr<ByteReader> input, std::string name);
  ~TarSource() override;

  // throws Error as TarReader::next().
  bool next(Sample& sample) override;
  bool is_rereadable() const override;
  Tally left_out() const override { return left_out_; }
  std::uint64_t expected_bytes() const override { return expected_bytes_; }
  std::uint64_t consumed_bytes() const override {
    return consumed_bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct Archive;

  bool open_next();
  void open(Fd input, std::string name);
  std::optional<Sample> take(const TarMember& member);
  std::optional<Sample> add_part(const std::string& path, const TarMember& member,
                                 std::optional<Error> fault);
  std::optional<Sample> close();
  std::optional<Sample> with_fault(std::optional<Sample> sample);
  void count_part(const std::string& path);
  std::shared_ptr<const Content> load(const TarMember& member, std::string origin);
  std::shared_ptr<const Content> spill(const TarMember& member, std::string origin);

  std::vector<std::string> paths_;
  std::size_t next_path_ = 0;
  std::unique_ptr<Archive> archive_;
  Tally left_out_;
  std::uint64_t expected_bytes_ = 0;
  std::uint64_t finished_bytes_ = 0;  // of the archives before this one
  std::atomic<std::uint64_t> consumed_bytes_{0};

  // The sample that is being put together.
  Grouper grouper_;
  std::string key_;
  std::size_t parts_ = 0;
  std::uint64_t memory_ = 0;
  std::optional<Error> fault_;
  std::shared_ptr<const Fd> spilled_;
  std::uint64_t spilled_size_ = 0;
};

// Writes one tar: ustar with fixed metadata, so that the same samples give the same bytes.
class TarSink final : public Sink {
 public:
  // A file, compressed as its name says (compression_for_name). It appears when it is complete.
  // What a killed run left is taken over; a second writer is refused. throws Error io.
  explicit TarSink(const std::string& path);
  // A stream, not compressed: standard output. throws Error usage for a terminal.
  TarSink(Fd output, std::string name);
  ~TarSink() override;

  // As TarSampleWriter::check().
  void check(const Sample& sample) const override;
  // throws BadSample when a part can't be read and nothing of the sample was written yet.
  void put(const Sample& sample) override;
  // Writes the end mark and syncs; a file gets its name.
  void commit() override;
  // No end mark: a file is removed, and the reader of a stream sees that it was cut short.
  void abandon() override;

  // How many members needed a PAX header.
  Tally warnings() const override;

 private:
  std::unique_ptr<AtomicFile> file_;  // or else
  Fd stream_;
  std::string name_;
  std::unique_ptr<ByteWriter> writer_;
  std::optional<TarSampleWriter> tar_;
};

}  // namespace prep
