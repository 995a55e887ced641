#include "formats/tfrecord.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "lib/core/error.h"

namespace prep {
namespace {

std::unique_ptr<ByteReader> open_stream(std::shared_ptr<const Fd> file, const std::string& name) {
  return decompress(std::make_unique<FdReader>(std::move(file), name), name);
}

}  // namespace

bool looks_like_tfrecord(const std::string& path) {
  try {
    const auto file = std::make_shared<const Fd>(open_file(path, O_RDONLY | O_NONBLOCK));
    const auto input = open_stream(file, path);
    std::array<std::uint8_t, kTfRecordHeader> head{};
    for (std::size_t size = 0; size < head.size();) {
      const std::size_t count = input->read(std::span(head).subspan(size));
      if (count == 0) return false;
      size += count;
    }
    return parse_tfrecord_header(head).has_value();
  } catch (const Error&) {
    return false;
  }
}

// --- the source -------------------------------------------------------------------------------

struct TfRecordSource::File {
  File(std::unique_ptr<ByteReader> stream, RecordFile from)
      : about(std::move(from)), reader(std::move(stream), about.name) {}
  File(std::uint64_t begin, std::uint64_t end, RecordFile from)
      : about(std::move(from)), reader(about.file, about.name, begin, end) {}

  RecordFile about;
  TfRecordReader reader;
  std::uint64_t records = 0;
};

TfRecordSource::TfRecordSource(std::vector<std::string> paths) : paths_(std::move(paths)) {
  bool known = true;
  for (const std::string& path : paths_) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail_errno(errno, "find", path);
    if (S_ISDIR(status.st_mode)) {
      fail(Code::usage, "{}: is a directory, no TFRecord", printable(path));
    }
    known = known && S_ISREG(status.st_mode);
    expected_bytes_ += static_cast<std::uint64_t>(status.st_size);
  }
  if (!known) expected_bytes_ = 0;
}

TfRecordSource::TfRecordSource(Fd input, std::string name) {
  if (isatty(input.get())) {
    fail(Code::usage, "{} is a terminal; give it a TFRecord: … | or < x.tfrecord", printable(name));
  }
  const struct stat status = file_status(input.get(), name);
  if (S_ISREG(status.st_mode)) expected_bytes_ = static_cast<std::uint64_t>(status.st_size);
  open(std::move(input), std::move(name));
}

TfRecordSource::TfRecordSource(std::unique_ptr<ByteReader> input, std::string name) {
  auto stream = decompress(std::move(input), name);
  file_ = std::make_unique<File>(std::move(stream), RecordFile{std::move(name), nullptr, 0});
}

TfRecordSource::~TfRecordSource() = default;

bool TfRecordSource::is_rereadable() const {
  return !paths_.empty() && std::all_of(paths_.begin(), paths_.end(), is_plain_file);
}

bool TfRecordSource::open_next() {
  if (next_path_ == paths_.size()) return false;
  const std::string& path = paths_[next_path_++];
  open(open_file(path, O_RDONLY), path);
  return true;
}

void TfRecordSource::open(Fd input, std::string name) {
  const auto file = std::make_shared<const Fd>(std::move(input));
  const struct stat status = file_status(file->get(), name);
  RecordFile about{name, nullptr, S_ISREG(status.st_mode) ? mtime_ns(status) : 0};
  const off_t begin = S_ISREG(status.st_mode) ? lseek(file->get(), 0, SEEK_CUR) : -1;
  if (begin >= 0) {
    std::array<std::uint8_t, 4> head{};
    const auto start = static_cast<std::uint64_t>(begin);
    const std::size_t size = pread_fully(file->get(), head.data(), head.size(), start, name);
    if (detect_compression(ByteView(head).first(size)) == Compression::none) {
      about.file = file;
      file_ = std::make_unique<File>(start, static_cast<std::uint64_t>(status.st_size),
                                     std::move(about));
      return;
    }
  }
  file_ = std::make_unique<File>(open_stream(file, name), std::move(about));
}

bool TfRecordSource::next(Sample& sample) {
  TfRecord record;
  for (;;) {
    if (!file_ && !open_next()) return false;
    const bool more = file_->reader.next(record);
    const std::uint64_t consumed = file_->reader.consumed();
    consumed_bytes_.store(finished_bytes_ + consumed, std::memory_order_relaxed);
    if (more) {
      sample = sample_of_record(record, file_->records++, file_->about, left_out_);
      return true;
    }
    finished_bytes_ += consumed;
    file_.reset();
  }
}

// --- the sink ---------------------------------------------------------------------------------

TfRecordSink::TfRecordSink(const std::string& path, ExampleOptions options)
    : options_(std::move(options)),
      file_(std::make_unique<AtomicFile>(check_output_file(path, "a TFRecord", "-o tfrecord:-"),
                                         locked_temporary(path), AtomicFile::Sharing::locked)),
      name_(path),
      writer_(make_writer(file_->fd(), compression_for_name(path), path)),
      records_(*writer_) {}

TfRecordSink::TfRecordSink(Fd output, std::string name, ExampleOptions options)
    : options_(std::move(options)), stream_(std::move(output)), name_(std::move(name)) {
  if (isatty(stream_.get())) {
    fail(Code::usage,
         "{} is a terminal, and a TFRecord is not for reading; use -o FILE, > FILE or a |",
         printable(name_));
  }
  writer_ = make_writer(stream_.get(), Compression::none, name_);
  records_.emplace(*writer_);
}

TfRecordSink::~TfRecordSink() = default;

void TfRecordSink::check(const Sample& sample) const {
  for (const Part& part : sample.parts) ExampleSchema::check_part_name(sample.key, part.name);
}

void TfRecordSink::put(const Sample& sample) {
  ExampleRecord record;
  try {
    encode(sample, record);
  } catch (const Error& error) {
    if (error.code() == Code::interrupted || error.code() == Code::usage) throw;
    throw BadSample(error.code(), error.what());
  }
  records_->add(record.pieces());
}

// A first sample that cannot be written decides nothing.
void TfRecordSink::encode(const Sample& sample, ExampleRecord& record) {
  if (schema_) return schema_->encode(sample, record);
  ExampleSchema schema = ExampleSchema::decide(sample, options_);
  schema.encode(sample, record);
  schema_ = std::move(schema);
}

void TfRecordSink::commit() {
  if (records_->offset() == 0) {
    fail(Code::empty,
         "{}: no sample was written, and a TFRecord without records can't be told from a lost one",
         printable(name_));
  }
  // Asked first: what fails must fail before the stream's end is written.
  const bool is_stream_file = !file_ && S_ISREG(file_status(stream_.get(), name_).st_mode);
  records_->finish();
  writer_->finish();
  if (file_) {
    file_->commit(/*sync=*/true);
    return;
  }
  // A full disk may show only now.
  if (is_stream_file) sync_file(stream_.get(), name_);
}

void TfRecordSink::abandon() {
  records_.reset();
  writer_.reset();
  file_.reset();
  stream_.reset();
}

}  // namespace prep
