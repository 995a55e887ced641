#include "formats/shard_file.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lib/core/error.h"

namespace prep {
namespace {

// What is read back at a time: it stays in a core's own cache.
constexpr std::size_t kPiece = 256 << 10;
// So much is digested in one go, and so much is sent on its way to the disk in one go: what is left
// for the sync at the end then is little.
constexpr std::uint64_t kStep = 4 << 20, kFlush = 16 << 20;
constexpr std::uint64_t kLongestLabel = 20;

}  // namespace

ShardFile::ShardFile(const std::string& directory, std::string name, std::string split,
                     const std::string& temporary, const ShardFormat& format)
    : directory_(directory),
      name_(std::move(name)),
      split_(std::move(split)),
      file_(join_path(directory_, name_), temporary),
      writer_(make_writer(file_.fd(), format.compression, file_.path())),
      body_(make_shard_body(format.container, *writer_, format.schema)),
      piece_(kPiece) {
  for (const IndexKind kind : format.indexes) {
    if (kind == IndexKind::wids) md5_.emplace(Digest::Kind::md5);
    if (auto index = make_shard_index(kind)) {
      indexes_.push_back({shard_index_name(kind, name_), std::move(index), ""});
    }
  }
}

void ShardFile::add(const Sample& sample) {
  const PlacedSample placed = body_->add(sample);
  for (Index& index : indexes_) index.entries->add(placed);
  count_label(sample);
  ++samples_;
  written_.store(writer_->written(), std::memory_order_release);
}

// Labels are counted for the manifest; what is no whole number is no label.
void ShardFile::count_label(const Sample& sample) {
  for (const Part& part : sample.parts) {
    if (part.name != "cls" || part.content->size() > kLongestLabel) continue;
    const Bytes bytes = part.content->load();
    std::string_view text = bytes.text();
    while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
    std::int64_t label = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
    if (error == std::errc() && end == text.data() + text.size()) ++labels_[std::to_string(label)];
  }
}

void ShardFile::finish() {
  body_->finish();
  writer_->finish();
  written_.store(writer_->written(), std::memory_order_release);
}

bool ShardFile::digest_piece() {
  const std::uint64_t left = written_.load(std::memory_order_acquire) - digested_;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_.size()));
  if (size == 0) return false;
  if (pread_fully(file_.fd(), piece_.data(), size, digested_, file_.path()) != size) {
    fail(Code::io, "{}: the file is shorter than what was written to it", printable(file_.path()));
  }
  const ByteView piece = ByteView(piece_).first(size);
  sha256_.update(piece);
  if (md5_) md5_->update(piece);
  digested_ += size;
  return true;
}

bool ShardFile::digest() {
  const std::lock_guard lock(digest_mutex_);
  const std::uint64_t end = digested_ + kStep;
  bool did = false;
  while (digested_ < end && digest_piece()) did = true;
  if (digested_ - flushed_ >= kFlush) {
    // Only a hint: what fails here will fail again in the sync, which is not ignored.
    (void)sync_file_range(file_.fd(), static_cast<off_t>(flushed_),
                          static_cast<off_t>(digested_ - flushed_), SYNC_FILE_RANGE_WRITE);
    flushed_ = digested_;
  }
  return did;
}

FinishedShard ShardFile::seal(std::uint64_t number) {
  while (digest()) {
  }
  FinishedShard shard;
  shard.number = number;
  shard.record = {name_, split_, samples_, digested_, sha256_.hex(), md5_ ? md5_->hex() : ""};
  shard.labels = labels_;
  for (Index& index : indexes_) {
    index.content = index.entries->finish();
    index.entries.reset();
    shard.files.push_back({index.name, index.content.size(),
                           hex_digest(Digest::Kind::sha256, as_bytes(index.content))});
  }
  shard.mtime_ns = file_.sync();
  file_.close();
  return shard;
}

void ShardFile::publish() {
  for (const Index& index : indexes_) {
    const std::string path = join_path(directory_, index.name);
    AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
    file.write(as_bytes(index.content));
    file.commit();
  }
  file_.commit();
}

}  // namespace prep
