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
      target_(*job_.target),
      needs_checker_(is_digest_possible(job_.object) &&
                     !MultipartEtag::of(job_.object, kMostAhead / 2)),
      needs_order_(needs_checker_ || job_.want_sha256),
      object_(job_.object) {
  begin();
  for (std::uint64_t part = 0; part < target_.parts(); ++part) {
    fetched_.reused += target_.received(part);
  }
}

void FetchTask::begin() {
  next_part_ = frontier_part_ = hashed_ = 0;
  is_restarting_ = false;
  checker_.reset();
  sha256_.reset();
  fetched_.sha256.clear();
  // A size that the server told stays.
  const std::uint64_t known =
      part_size_ == PartSize::known && multipart_ ? multipart_->part_size() : 0;
  multipart_ = MultipartEtag::of(object_, kMostAhead / 2);
  has_parts_ = multipart_.has_value();
  if (known != 0 && multipart_) multipart_ = multipart_->with_part_size(known);
}

ObjectInfo FetchTask::object() {
  const std::lock_guard lock(mutex_);
  return object_;
}

// --- ranges --------------------------------------------------------------------------------------

bool FetchTask::has_more() {
  const std::lock_guard lock(mutex_);
  if (is_failed() || is_restarting_) return false;
  while (next_part_ < target_.parts() &&
         target_.received(next_part_) == target_.part_bytes(next_part_)) {
    ++next_part_;
  }
  return next_part_ < target_.parts();
}

std::optional<FetchTask::Range> FetchTask::next_range() {
  if (!has_more()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!object_.accepts_ranges) {
    next_part_ = target_.parts();
    return Range{frontier(), target_.size() - frontier()};
  }
  const std::uint64_t offset = target_.part_offset(next_part_);
  const bool is_far_ahead = offset > hashed_by_all() + kMostAhead;
  if (is_far_ahead && !streams_.empty()) return std::nullopt;
  const std::uint64_t received = target_.received(next_part_);
  const std::uint64_t length = target_.part_bytes(next_part_) - received;
  ++next_part_;
  return Range{offset + received, length};
}

std::uint64_t FetchTask::frontier() {
  while (frontier_part_ + 1 < target_.parts() &&
         target_.received(frontier_part_) == target_.part_bytes(frontier_part_)) {
    ++frontier_part_;
  }
  return target_.part_offset(frontier_part_) + target_.received(frontier_part_);
}

std::uint64_t FetchTask::hashed_by_all() const {
  std::uint64_t bytes = target_.size();
  if (needs_order_) bytes = std::min(bytes, hashed_);
  if (multipart_) bytes = std::min(bytes, multipart_->next_offset());
  return bytes;
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
  const bool is_next = needs_order_ && !is_hashing_ && block.offset == hashed_;
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
  const std::uint64_t part_size = target_.part_bytes(0);
  while (!rest.empty()) {
    const std::uint64_t part = offset / part_size;
    const std::uint64_t within = offset - target_.part_offset(part);
    const ByteView piece =
        rest.first(std::min<std::uint64_t>(rest.size(), target_.part_bytes(part) - within));
    target_.write(part, within, piece);
    rest = rest.subspan(piece.size());
    offset += piece.size();
  }
}

template <typename Work>
void FetchTask::hash_unlocked(std::unique_lock<std::mutex>& lock, Work work) {
  is_hashing_ = true;
  lock.unlock();
  std::optional<Error> error;
  try {
    work();
  } catch (const Error& caught) {
    error = caught;
  }
  lock.lock();
  is_hashing_ = false;
  if (error) fail_with(*error);
}

bool FetchTask::catch_up(std::unique_lock<std::mutex>& lock) {
  std::uint64_t left = kTurn;
  while (needs_order_ && !is_hashing_ && !is_failed() && hashed_ < frontier()) {
    if (left == 0) return true;
    const std::uint64_t offset = hashed_;
    const std::size_t size =
        static_cast<std::size_t>(std::min({frontier() - offset, left, std::uint64_t{kPiece}}));
    hash_unlocked(lock, [this, offset, size] { read_back(offset, size); });
    hashed_ += size;
    left -= size;
  }
  return digest_parts(lock);
}

// One group a turn. True: there is another.
bool FetchTask::digest_parts(std::unique_lock<std::mutex>& lock) {
  const auto is_ready = [this] {
    return multipart_ && !is_hashing_ && !is_failed() && multipart_->next_bytes() > 0 &&
           multipart_->next_offset() + multipart_->next_bytes() <= frontier();
  };
  if (!is_ready()) return false;
  hash_unlocked(lock, [this] { multipart_->digest(target_.fd(), target_.path()); });
  return is_ready();
}

void FetchTask::read_back(std::uint64_t offset, std::size_t size) {
  thread_local const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(kPiece);
  if (pread_fully(target_.fd(), buffer.get(), size, offset, target_.path()) != size) {
    fail(Code::io, "{}: was cut while it was written", printable(target_.path()));
  }
  digest({buffer.get(), size});
}

void FetchTask::digest(ByteView bytes) {
  if (hashed_ == 0) {
    if (needs_checker_) checker_.emplace(object());
    if (job_.want_sha256) sha256_.emplace(Digest::Kind::sha256);
  }
  if (checker_) checker_->update(bytes);
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
  if (frontier() != target_.size() || hashed_by_all() != target_.size()) return Outcome::running;
  if (part_size_ == PartSize::asked) return Outcome::running;
  const auto verdict = judge();
  if (!verdict && part_size_ == PartSize::secret) return Outcome::undigested;
  if (!verdict) {
    part_size_ = PartSize::asked;
    return Outcome::unsure;
  }
  return finish(*verdict, lock);
}

void FetchTask::set_part_size(std::uint64_t part_size) {
  const std::lock_guard lock(mutex_);
  if (part_size == 0) {
    part_size_ = PartSize::secret;
    return;
  }
  part_size_ = PartSize::known;
  // begin() starts with the size that is right from then on.
  if (part_size != multipart_->part_size()) multipart_ = multipart_->with_part_size(part_size);
}

FetchTask::Outcome FetchTask::finish(ObjectChecker::Verdict verdict,
                                     std::unique_lock<std::mutex>& lock) {
  fetched_.verdict = verdict;
  const bool is_wrong = verdict == ObjectChecker::Verdict::wrong;
  if (is_wrong) {
    target_.reset();
    fetched_.reused = 0;
  }
  if (is_wrong && !std::exchange(was_wrong_, true)) {
    begin();
    return Outcome::again;
  }
  is_concluded_ = true;
  lock.unlock();
  std::optional<Error> error;
  if (is_wrong) {
    error.emplace(Code::corrupt,
                  fmt::format("{}: the bytes that came, twice, are not those of the object: they "
                              "contradict its {}; something on the way damages them",
                              printable(job_.url.text()), fetched_.method));
  }
  job_.done(error, fetched_, false);
  return Outcome::finished;
}

// Without the mutex nobody would digest any more either: nothing is under way.
std::optional<ObjectChecker::Verdict> FetchTask::judge() {
  if (job_.want_sha256) {
    if (!sha256_) sha256_.emplace(Digest::Kind::sha256);  // of nothing
    if (fetched_.sha256.empty()) fetched_.sha256 = sha256_->hex();
  }
  if (has_parts_ && object_.etag_is_md5) return judge_parts();
  if (!checker_) checker_.emplace(object_);
  ObjectChecker::Verdict verdict = ObjectChecker::Verdict::unverified;
  if (needs_checker_) {
    if (!object_.etag_is_md5) checker_->etag_is_no_md5();
    verdict = checker_->finish();
  }
  fetched_.method = checker_->method();
  return verdict;
}

std::optional<ObjectChecker::Verdict> FetchTask::judge_parts() {
  using Verdict = ObjectChecker::Verdict;
  if (multipart_) {
    fetched_.method = multipart_->method();
    if (multipart_->is_right()) return Verdict::verified;
    if (part_size_ == PartSize::guessed) return std::nullopt;
    if (part_size_ == PartSize::known) return Verdict::wrong;
    if (auto next = multipart_->with_next_guess()) {
      multipart_ = std::move(next);
      return std::nullopt;
    }
  }
  fetched_.method = "multipart ETag of parts of an unknown size";
  // Damaged, or cut in another way? Chance does not damage the same bytes twice in the same way.
  const std::string etag = multipart_ ? multipart_->value() : "";
  if (etag == first_etag_) return Verdict::unverified;
  first_etag_ = etag;
  return Verdict::wrong;
}

}  // namespace prep
