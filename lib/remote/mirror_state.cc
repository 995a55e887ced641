#include "lib/remote/mirror_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::string_view kFirstLine = "prep-stage mirror 1\n";
constexpr std::size_t kBuffer = 64 << 10;
constexpr std::size_t kLargestRecord = 16 << 10;

// The text up to `end`, which is taken off with it. False if there is no `end`.
bool take(std::string_view& text, char end, std::string_view& field) {
  const std::size_t place = text.find(end);
  if (place == std::string_view::npos) return false;
  field = text.substr(0, place);
  text.remove_prefix(place + 1);
  return true;
}

template <typename T>
bool take_number(std::string_view& text, char end, T& number) {
  std::string_view field;
  if (!take(text, end, field)) return false;
  const auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  return error == std::errc() && rest == field.data() + field.size();
}

// Takes a whole record off; false if there is none.
bool take_record(std::string_view& text, MirrorRecord& record) {
  std::string_view rest = text, key, etag;
  if (!take(rest, '\0', key) || !take(rest, '\0', etag) || !take_number(rest, '\0', record.size) ||
      !take_number(rest, '\n', record.mtime_ns)) {
    return false;
  }
  record.key = key;
  record.etag = etag;
  text = rest;
  return true;
}

}  // namespace

class MirrorReader::File {
 public:
  explicit File(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)), path_(path) {
    fill();
    if (std::string_view(buffer_).starts_with(kFirstLine)) {
      used_ = kFirstLine.size();
    } else {
      buffer_.clear();
      file_.reset();
    }
  }

  std::optional<MirrorRecord> next() {
    MirrorRecord record;
    for (;;) {
      std::string_view rest = std::string_view(buffer_).substr(used_);
      if (take_record(rest, record)) {
        used_ = buffer_.size() - rest.size();
        return record;
      }
      if (rest.size() > kLargestRecord || !fill()) return std::nullopt;
    }
  }

 private:
  // More bytes behind those that are left; false at the end.
  bool fill() {
    if (!file_) return false;
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kBuffer);
    const std::size_t read = read_fully(
        file_.get(), reinterpret_cast<std::uint8_t*>(buffer_.data() + before), kBuffer, path_);
    buffer_.resize(before + read);
    return read > 0;
  }

  Fd file_;
  const std::string path_;
  std::string buffer_;
  std::size_t used_ = 0;
};

MirrorReader::MirrorReader(const std::string& path)
    : newer_(std::make_unique<File>(path + ".new")), older_(std::make_unique<File>(path)) {}

MirrorReader::~MirrorReader() = default;

std::optional<MirrorRecord> MirrorReader::next() {
  if (newer_) {
    if (auto record = newer_->next()) {
      last_ = record->key;
      return record;
    }
    newer_.reset();
    do {
      pending_ = older_->next();
    } while (pending_ && !last_.empty() && pending_->key <= last_);
  }
  auto record = std::move(pending_);
  pending_ = record ? older_->next() : std::nullopt;
  return record;
}

MirrorWriter::MirrorWriter(const std::string& path) : path_(path) {
  lock_ = open_file(path + ".lock", O_RDWR | O_CREAT, 0600);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    fail(Code::io, "{}: another run is at work on this mirror", printable(path));
  }
  // What a run that was killed has written.
  if (rename((path + ".next").c_str(), (path + ".new").c_str()) != 0 && errno != ENOENT) {
    fail_errno(errno, "rename", path + ".next");
  }
  old_ = std::make_unique<MirrorReader>(path);
  file_ = open_file(path + ".next", O_WRONLY | O_CREAT | O_EXCL, 0600);
  buffer_ = kFirstLine;
}

MirrorWriter::~MirrorWriter() {
  if (!file_) return;
  try {
    flush();
  } catch (const Error&) {
    // Then the next run looks at the files once more.
  }
}

void MirrorWriter::add(const MirrorRecord& record) {
  buffer_.append(record.key).append(1, '\0').append(record.etag).append(1, '\0');
  buffer_.append(std::to_string(record.size)).append(1, '\0');
  buffer_.append(std::to_string(record.mtime_ns)).append(1, '\n');
  if (buffer_.size() >= kBuffer) flush();
}

void MirrorWriter::flush() {
  write_fully(file_.get(), as_bytes(buffer_), path_);
  buffer_.clear();
}

void MirrorWriter::commit() {
  flush();
  if (fdatasync(file_.get()) != 0) fail_errno(errno, "sync", path_);
  if (rename((path_ + ".next").c_str(), path_.c_str()) != 0) fail_errno(errno, "rename to", path_);
  unlink((path_ + ".new").c_str());
  file_.reset();
}

}  // namespace prep
