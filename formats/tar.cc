#include "formats/tar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

#include "lib/core/error.h"

namespace prep {
namespace {

// How much of one sample's data is held in memory.
constexpr std::uint64_t kMemoryPerSample = 64 << 20;

std::string member_origin(std::string_view archive, std::string_view member) {
  std::string origin(archive);
  return origin.append(": ").append(member);
}

}  // namespace

// --- the source: its archives -----------------------------------------------------------------

struct TarSource::Archive {
  Archive(std::unique_ptr<TarInput> from, std::string named)
      : name(std::move(named)), input(std::move(from)), reader(*input, name) {}

  std::string name;
  std::unique_ptr<TarInput> input;
  TarReader reader;
  std::shared_ptr<const Fd> file;  // set if contents can be ranges of it
  std::int64_t mtime_ns = 0;       // of a regular file
};

TarSource::TarSource(std::vector<std::string> paths) : paths_(std::move(paths)) {
  bool known = true;
  for (const std::string& path : paths_) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail_errno(errno, "find", path);
    if (S_ISDIR(status.st_mode)) fail(Code::usage, "{}: is a directory, no tar", printable(path));
    known = known && S_ISREG(status.st_mode);
    expected_bytes_ += static_cast<std::uint64_t>(status.st_size);
  }
  if (!known) expected_bytes_ = 0;
}

TarSource::TarSource(Fd input, std::string name) {
  if (isatty(input.get())) {
    fail(Code::usage, "{} is a terminal; give it a tar: … | or < x.tar", printable(name));
  }
  const struct stat status = file_status(input.get(), name);
  if (S_ISREG(status.st_mode)) expected_bytes_ = static_cast<std::uint64_t>(status.st_size);
  open(std::move(input), std::move(name));
}

TarSource::TarSource(std::unique_ptr<ByteReader> input, std::string name) {
  auto stream = std::make_unique<TarStreamInput>(decompress(std::move(input), name));
  archive_ = std::make_unique<Archive>(std::move(stream), std::move(name));
}

TarSource::~TarSource() = default;

bool TarSource::is_rereadable() const {
  return !paths_.empty() && std::all_of(paths_.begin(), paths_.end(), is_plain_file);
}

bool TarSource::open_next() {
  if (next_path_ == paths_.size()) return false;
  const std::string& path = paths_[next_path_++];
  open(open_file(path, O_RDONLY), path);
  return true;
}

void TarSource::open(Fd input, std::string name) {
  const auto file = std::make_shared<const Fd>(std::move(input));
  const struct stat status = file_status(file->get(), name);
  const off_t begin = S_ISREG(status.st_mode) ? lseek(file->get(), 0, SEEK_CUR) : -1;
  std::uint8_t head[4];
  const bool plain =
      begin >= 0 &&
      detect_compression(ByteView(head).first(
          pread_fully(file->get(), head, sizeof head, static_cast<std::uint64_t>(begin), name))) ==
          Compression::none;
  std::unique_ptr<TarInput> bytes;
  if (plain) {
    bytes = std::make_unique<TarFileInput>(file, name, static_cast<std::uint64_t>(begin),
                                           static_cast<std::uint64_t>(status.st_size));
  } else {
    bytes =
        std::make_unique<TarStreamInput>(decompress(std::make_unique<FdReader>(file, name), name));
  }
  archive_ = std::make_unique<Archive>(std::move(bytes), std::move(name));
  if (plain) archive_->file = file;
  if (S_ISREG(status.st_mode)) archive_->mtime_ns = mtime_ns(status);
}

// Returns the sample that the archive ends with.
std::optional<Sample> TarSource::close() {
  if (const std::uint64_t more = archive_->reader.more_archives()) {
    left_out_["end mark inside a tar (concatenated archives)"] += more;
  }
  finished_bytes_ += archive_->input->consumed();
  archive_.reset();
  return with_fault(grouper_.finish());
}

// --- the source: its samples ------------------------------------------------------------------

bool TarSource::next(Sample& sample) {
  std::optional<Sample> complete;
  TarMember member;
  while (!complete) {
    if (!archive_ && !open_next()) return false;
    complete = archive_->reader.next(member) ? take(member) : close();
    consumed_bytes_.store(finished_bytes_ + (archive_ ? archive_->input->consumed() : 0),
                          std::memory_order_relaxed);
  }
  sample = std::move(*complete);
  return true;
}

namespace {

// Why a member is no part, in words; "" for a regular file.
std::string unsuitable(const TarMember& member) {
  switch (member.type) {
    case '1':
      return fmt::format(
          "is a hard link to '{}' in the archive; pack it with tar "
          "--hard-dereference",
          printable(member.link));
    case '2':
      return fmt::format("is a symbolic link to '{}'; pack it with tar --dereference",
                         printable(member.link));
    case '3':
    case '4':
      return "is a device";
    case '6':
      return "is a named pipe";
    case 'M':
      return "is continued from another volume; join the volumes first";
    case '0':
    case '7':
    case 'S':
      return member.sparse ? "is stored without its holes; pack it without tar --sparse" : "";
    default:
      return fmt::format("is of the unknown type '{}'",
                         printable(std::string_view(&member.type, 1)));
  }
}

// v7 has no type for directories: a slash at the end says it. 'D' is GNU's, from incremental dumps.
bool is_directory(const TarMember& member) {
  return member.type == '5' || member.type == 'D' ||
         (member.type == '0' && member.name.ends_with('/'));
}

// As a directory is read: nothing below a hidden directory is taken either.
bool has_hidden_step(std::string_view path) {
  return path.starts_with('.') || path.find("/.") != std::string_view::npos;
}

}  // namespace

std::optional<Sample> TarSource::take(const TarMember& member) {
  if (is_directory(member)) {
    ++left_out_["directory in a tar"];
    return std::nullopt;
  }
  if (member.type == 'V') {
    ++left_out_["volume label in a tar"];
    return std::nullopt;
  }
  std::string path = member.name;
  std::optional<Error> fault;
  try {
    bool stripped_root = false;
    path = clean_path(member.name, &stripped_root);
    if (stripped_root) ++left_out_["leading '/' of a name in a tar"];
  } catch (const Error& error) {
    fault = Error(error.code(), fmt::format("{}: {}", printable(archive_->name), error.what()));
  }
  if (!fault && has_hidden_step(path)) {
    ++left_out_["hidden file"];
    return std::nullopt;
  }
  if (const std::string why = unsuitable(member); !fault && !why.empty()) {
    fault = Error(Code::unsupported,
                  fmt::format("{}: {}", printable(member_origin(archive_->name, path)), why));
  }
  return add_part(path, member, std::move(fault));
}

// A fault belongs to the whole sample: without that part it would look complete and not be.
std::optional<Sample> TarSource::add_part(const std::string& path, const TarMember& member,
                                          std::optional<Error> fault) {
  const auto [key, part] = split_key(path);
  const bool starts_sample = parts_ == 0 || key != key_;
  std::optional<Sample> complete;
  if (starts_sample) {
    complete = with_fault(grouper_.finish());
    key_ = key;
  }
  ++parts_;
  std::string origin = member_origin(archive_->name, path);
  const auto content = fault ? std::make_shared<MemoryContent>(Bytes(), std::move(origin))
                             : load(member, std::move(origin));
  grouper_.add(path, content);
  if (!fault_) fault_ = std::move(fault);
  return complete;
}

// Hands out a complete sample, and makes ready for another.
std::optional<Sample> TarSource::with_fault(std::optional<Sample> sample) {
  if (sample && fault_) sample->fault = std::move(fault_);
  fault_.reset();
  parts_ = 0;
  memory_ = 0;
  spilled_.reset();
  spilled_size_ = 0;
  return sample;
}

// --- the source: its bytes --------------------------------------------------------------------

std::shared_ptr<const Content> TarSource::load(const TarMember& member, std::string origin) {
  // What the archive's file was last modified at is what matters to a rerun: a tar that was made
  // anew may well hold members that are older than the output.
  const std::int64_t mtime = archive_->mtime_ns ? archive_->mtime_ns : member.mtime_ns;
  if (archive_->file) {
    return std::make_shared<RangeContent>(archive_->file, member.data_offset, member.size,
                                          std::move(origin), mtime);
  }
  if (member.size > kMemoryPerSample - memory_) return spill(member, std::move(origin));
  const auto size = static_cast<std::size_t>(member.size);
  auto* block = static_cast<std::uint8_t*>(std::malloc(size + 1));
  if (!block) throw std::bad_alloc();
  Bytes bytes = Bytes::take_malloc(block, size);
  archive_->reader.read({block, size});
  memory_ += size;
  return std::make_shared<MemoryContent>(std::move(bytes), std::move(origin), mtime);
}

namespace {

// A file without a name, which vanishes with its descriptor.
Fd open_unnamed_file() {
  const char* variable = std::getenv("TMPDIR");
  const std::string directory = variable && *variable ? variable : "/var/tmp";
  Fd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // A file system without O_TMPFILE.
  std::string path = join_path(directory, "prep-XXXXXX");
  file.reset(mkostemp(path.data(), O_CLOEXEC));
  if (!file) fail_errno(errno, "create a temporary file in", directory);
  unlink(path.c_str());
  return file;
}

}  // namespace

std::shared_ptr<const Content> TarSource::spill(const TarMember& member, std::string origin) {
  if (!spilled_) spilled_ = std::make_shared<const Fd>(open_unnamed_file());
  std::vector<std::uint8_t> piece(1 << 20);
  for (std::uint64_t left = member.size; left > 0;) {
    const std::size_t count = archive_->reader.read(piece);
    write_fully(spilled_->get(), ByteView(piece).first(count),
                "temporary file for " + origin + " (TMPDIR says where)");
    left -= count;
  }
  const std::uint64_t offset = std::exchange(spilled_size_, spilled_size_ + member.size);
  return std::make_shared<RangeContent>(spilled_, offset, member.size, std::move(origin),
                                        archive_->mtime_ns ? archive_->mtime_ns : member.mtime_ns);
}

// --- the sink ---------------------------------------------------------------------------------

TarSink::TarSink(const std::string& path)
    : file_(std::make_unique<AtomicFile>(check_output_file(path, "a tar", "-o -"),
                                         locked_temporary(path), AtomicFile::Sharing::locked)),
      name_(path),
      writer_(make_writer(file_->fd(), compression_for_name(path), path)),
      tar_(*writer_) {}

TarSink::TarSink(Fd output, std::string name) : stream_(std::move(output)), name_(std::move(name)) {
  if (isatty(stream_.get())) {
    fail(Code::usage, "{} is a terminal, and a tar is not for reading; use -o FILE, > FILE or a |",
         printable(name_));
  }
  writer_ = make_writer(stream_.get(), Compression::none, name_);
  tar_.emplace(*writer_);
}

TarSink::~TarSink() = default;

void TarSink::check(const Sample& sample) const { TarSampleWriter::check(sample); }

void TarSink::put(const Sample& sample) { tar_->add(sample); }

void TarSink::commit() {
  // Asked first: what fails must fail before the stream's end is written.
  const bool is_stream_file = !file_ && S_ISREG(file_status(stream_.get(), name_).st_mode);
  tar_->finish();
  writer_->finish();
  if (file_) {
    file_->commit(/*sync=*/true);
    return;
  }
  // A full disk may show only now.
  if (is_stream_file) sync_file(stream_.get(), name_);
}

Tally TarSink::warnings() const {
  if (!tar_ || tar_->pax_members() == 0) return {};
  return {{kPaxWarning, tar_->pax_members()}};
}

void TarSink::abandon() {
  tar_.reset();
  writer_.reset();
  file_.reset();
  stream_.reset();
}

}  // namespace prep
