#include "lib/remote/fetch_task.h"

#include <algorithm>
#include <utility>

namespace prep {
namespace {

// How far ranges may run ahead of the digests: about what the page cache surely keeps.
constexpr std::uint64_t kMostAhead = 256 << 20;
// What is read back in one turn: then blocks that came meanwhile are more urgent.
constexpr std::uint64_t kTurn = 4 << 20;
constexpr std::size_t kPiece = 256 << 10;

bool is_digest_possible(const ObjectInfo& object) {
  return !object.etag.empty() || !object.checksum.empty();
}

}  // namespace

FetchTask::FetchTask(FetchJob job)
    : job_(std::move(job)),
      partial_(*job_.partial),
      needs_hashing_(job_.want_sha256 || is_digest_possible(job_.object)),
      object_(job_.object) {
  begin();
  for (std::uint64_t part = 0; part < partial_.parts(); ++part) {
    fetched_.reused += partial_.received(part);
  }
}

void FetchTask::begin() {
  next_part_ = frontier_part_ = hashed_ = 0;
  is_restarting_ = false;
  checker_.reset();
  sha256_.reset();
}

ObjectInfo FetchTask::object() {
  const std::lock_guard lock(mutex_);
  return object_;
}

// --- ranges --------------------------------------------------------------------------------------

bool FetchTask::has_more() {
  const std::lock_guard lock(mutex_);
  if (is_failed() || is_restarting_) return false;
  while (next_part_ < partial_.parts() &&
         partial_.received(next_part_) == partial_.part_bytes(next_part_)) {
    ++next_part_;
  }
  return next_part_ < partial_.parts();
}

std::optional<FetchTask::Range> FetchTask::next_range() {
  if (!has_more()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!object_.accepts_ranges) {
    next_part_ = partial_.parts();
    return Range{frontier(), partial_.size() - frontier()};
  }
  const std::uint64_t offset = partial_.part_offset(next_part_);
  const bool is_far_ahead = needs_hashing_ && offset > hashed_ + kMostAhead;
  if (is_far_ahead && !streams_.empty()) return std::nullopt;
  const std::uint64_t received = partial_.received(next_part_);
  const std::uint64_t length = partial_.part_bytes(next_part_) - received;
  ++next_part_;
  return Range{offset + received, length};
}

std::uint64_t FetchTask::frontier() {
  while (frontier_part_ + 1 < partial_.parts() &&
         partial_.received(frontier_part_) == partial_.part_bytes(frontier_part_)) {
    ++frontier_part_;
  }
  return partial_.part_offset(frontier_part_) + partial_.received(frontier_part_);
}

// --- from the network ----------------------------------------------------------------------------

void FetchTask::open(const FetchStreamPtr& stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(stream);
}

void FetchTask::described(const ObjectInfo& object) {
  const std::lock_guard lock(mutex_);
  object_.etag_is_md5 = object_.etag_is_md5 && object.etag_is_md5;
  if (!checker_ && !object.checksum.empty()) object_.checksum = object.checksum;
}

bool FetchTask::add(FetchStream& stream, Block block) {
  const std::lock_guard lock(mutex_);
  stream.blocks.push_back(std::move(block));
  return !std::exchange(stream.is_scheduled, true);
}

bool FetchTask::end(FetchStream& stream, const std::optional<Error>& error, bool changed) {
  const std::lock_guard lock(mutex_);
  stream.has_ended = true;
  if (error && error->code() == Code::unsupported && object_.accepts_ranges && !is_failed()) {
    object_.accepts_ranges = false;
    is_restarting_ = true;
  } else if (error && !is_restarting_) {
    is_changed_ = is_changed_ || (changed && !is_failed());
    fail_with(*error);
  }
  return !std::exchange(stream.is_scheduled, true);
}

void FetchTask::stop(const Error& error) {
  const std::lock_guard lock(mutex_);
  fail_with(error);
}

void FetchTask::fail_with(const Error& error) {
  if (!error_) error_ = error;
}

std::vector<ObjectStore::Id> FetchTask::pointless() {
  const std::lock_guard lock(mutex_);
  std::vector<ObjectStore::Id> ids;
  if (!is_failed() && !is_restarting_) return ids;
  for (const FetchStreamPtr& stream : streams_) {
    if (!stream->has_ended) ids.push_back(stream->id);
  }
  return ids;
}

// --- on a worker ---------------------------------------------------------------------------------

bool FetchTask::work(const FetchStreamPtr& stream, BlockPool& pool) {
  std::unique_lock lock(mutex_);
  while (!stream->blocks.empty()) {
    Block block = std::move(stream->blocks.front());
    stream->blocks.pop_front();
    try {
      take_block(block, lock);
    } catch (const Error& error) {
      if (!lock) lock.lock();
      fail_with(error);
    }
    pool.give_back(std::move(block.data));
  }
  // What comes from here on is for another worker.
  stream->is_scheduled = false;
  if (stream->has_ended) std::erase(streams_, stream);
  return catch_up(lock);
}

void FetchTask::take_block(Block& block, std::unique_lock<std::mutex>& lock) {
  if (is_failed()) return;
  const bool is_next = needs_hashing_ && !is_hashing_ && block.offset == hashed_;
  if (is_next) is_hashing_ = true;
  lock.unlock();
  try {
    write(block);
    if (is_next) digest(block.view());
  } catch (const Error&) {
    lock.lock();
    if (is_next) is_hashing_ = false;
    throw;
  }
  lock.lock();
  if (!is_next) return;
  hashed_ += block.size;
  is_hashing_ = false;
}

// A block may lie across parts.
void FetchTask::write(const Block& block) {
  ByteView rest = block.view();
  std::uint64_t offset = block.offset;
  // All parts but the last are of one size.
  const std::uint64_t part_size = partial_.part_bytes(0);
  while (!rest.empty()) {
    const std::uint64_t part = offset / part_size;
    const std::uint64_t within = offset - partial_.part_offset(part);
    const ByteView piece =
        rest.first(std::min<std::uint64_t>(rest.size(), partial_.part_bytes(part) - within));
    partial_.write(part, within, piece);
    rest = rest.subspan(piece.size());
    offset += piece.size();
  }
}

bool FetchTask::catch_up(std::unique_lock<std::mutex>& lock) {
  std::uint64_t left = kTurn;
  while (needs_hashing_ && !is_hashing_ && !is_failed() && hashed_ < frontier()) {
    if (left == 0) return true;
    const std::uint64_t offset = hashed_;
    const std::size_t size =
        static_cast<std::size_t>(std::min({frontier() - offset, left, std::uint64_t{kPiece}}));
    is_hashing_ = true;
    lock.unlock();
    std::optional<Error> error;
    try {
      read_back(offset, size);
    } catch (const Error& caught) {
      error = caught;
    }
    lock.lock();
    is_hashing_ = false;
    if (error) fail_with(*error);
    hashed_ += size;
    left -= size;
  }
  return false;
}

void FetchTask::read_back(std::uint64_t offset, std::size_t size) {
  thread_local const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(kPiece);
  if (pread_fully(partial_.fd(), buffer.get(), size, offset, partial_.path()) != size) {
    fail(Code::io, "{}: was cut while it was written", printable(partial_.path()));
  }
  digest({buffer.get(), size});
}

void FetchTask::digest(ByteView bytes) {
  if (!checker_) {
    checker_.emplace(object());
    if (job_.want_sha256) sha256_.emplace(Digest::Kind::sha256);
  }
  checker_->update(bytes);
  if (sha256_) sha256_->update(bytes);
}

// --- the end -------------------------------------------------------------------------------------

bool FetchTask::is_ended() const { return streams_.empty() && !is_hashing_; }

FetchTask::Outcome FetchTask::conclude() {
  std::unique_lock lock(mutex_);
  if (is_concluded_ || !is_ended()) return Outcome::running;
  if (is_failed()) {
    is_concluded_ = true;
    lock.unlock();
    job_.done(error_, fetched_, is_changed_);
    return Outcome::finished;
  }
  if (is_restarting_) {
    begin();
    return Outcome::again;
  }
  const std::uint64_t size = partial_.size();
  if (frontier() != size || (needs_hashing_ && hashed_ != size)) return Outcome::running;
  is_concluded_ = true;
  lock.unlock();
  return finish_sound();
}

// Nobody else touches the task any more.
FetchTask::Outcome FetchTask::finish_sound() {
  if (is_right()) {
    job_.done(std::nullopt, fetched_, false);
    return Outcome::finished;
  }
  partial_.reset();
  fetched_.reused = 0;
  if (!was_wrong_) {
    was_wrong_ = true;
    const std::lock_guard lock(mutex_);
    is_concluded_ = false;
    begin();
    return Outcome::again;
  }
  job_.done(Error(Code::corrupt,
                  fmt::format("{}: the bytes that came, twice, are not those of the object: they "
                              "contradict its {}; something on the way damages them",
                              printable(job_.url.text()), fetched_.method)),
            fetched_, false);
  return Outcome::finished;
}

bool FetchTask::is_right() {
  if (!checker_) checker_.emplace(object_);
  if (!needs_hashing_) {
    fetched_.method = checker_->method();
    return true;
  }
  if (job_.want_sha256) {
    if (!sha256_) sha256_.emplace(Digest::Kind::sha256);  // of nothing
    fetched_.sha256 = sha256_->hex();
  }
  if (!object_.etag_is_md5) checker_->etag_is_no_md5();
  fetched_.verdict = checker_->finish();
  fetched_.method = checker_->method();
  return fetched_.verdict != ObjectChecker::Verdict::wrong;
}

}  // namespace prep
