// One object's download: which ranges are still to be asked for, and what becomes of their bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lib/core/digest.h"
#include "lib/remote/block_pool.h"
#include "lib/remote/fetcher.h"
#include "lib/remote/multipart_etag.h"

namespace prep {

class FetchTask;

// One request's bytes on their way: filled by the network thread, emptied by one worker at a time.
// The task's mutex guards all but the task.
struct FetchStream {
  explicit FetchStream(std::shared_ptr<FetchTask> of) : task(std::move(of)) {}
  const std::shared_ptr<FetchTask> task;
  ObjectStore::Id id = 0;
  std::deque<Block> blocks;
  bool has_ended = false;     // nothing more will come
  bool is_scheduled = false;  // a worker has it, or will
};
using FetchStreamPtr = std::shared_ptr<FetchStream>;

// Thread-safe. Digests need the bytes in order, and ranges arrive side by side: whoever writes what
// is next in order hashes it at once, out of the cache; what was written ahead is read back from
// the file when its turn has come.
class FetchTask {
 public:
  explicit FetchTask(FetchJob job);

  struct Range {
    std::uint64_t offset = 0, length = 0;
  };
  // The next range to ask for. Nothing: all are asked for, or the digests are too far behind.
  std::optional<Range> next_range();
  // Whether something is left to be asked for.
  bool has_more();
  const FetchJob& job() const { return job_; }
  // The job's, but for what the server turned out not to be able to do.
  ObjectInfo object();

  // A stream belongs to the task from open() until a worker has done what follows end().
  void open(const FetchStreamPtr& stream);
  void described(const ObjectInfo& object);
  // True: the stream has to be given to a worker.
  bool add(FetchStream& stream, Block block);
  bool end(FetchStream& stream, const std::optional<Error>& error, bool changed);
  // Nothing further is asked for.
  void stop(const Error& error);
  // The requests that are pointless now.
  std::vector<ObjectStore::Id> pointless();

  // On a worker: writes and hashes what the stream holds, giving its blocks back. True: there is
  // more to be hashed, by a worker that has nothing more urgent to do.
  bool work(const FetchStreamPtr& stream, BlockPool& pool);
  enum class Outcome {
    running,
    again,       // there are ranges to be asked for once more
    undigested,  // there is nothing to ask for, but more work
    unsure,      // set_part_size() is to be called with what the server says
    finished,    // done() was called
  };
  // After each work().
  Outcome conclude();
  // 0: the server does not tell. The task has to be worked on again.
  void set_part_size(std::uint64_t part_size);

 private:
  void begin();
  void take_block(Block& block, std::unique_lock<std::mutex>& lock);
  bool catch_up(std::unique_lock<std::mutex>& lock);
  bool digest_parts(std::unique_lock<std::mutex>& lock);
  template <typename Work>
  void hash_unlocked(std::unique_lock<std::mutex>& lock, Work work);
  void write(const Block& block);
  void read_back(std::uint64_t offset, std::size_t size);
  void digest(ByteView bytes);
  std::uint64_t frontier();
  std::uint64_t hashed_by_all() const;
  bool is_failed() const { return error_.has_value(); }
  bool is_ended() const;
  void fail_with(const Error& error);
  std::optional<ObjectChecker::Verdict> judge_parts();  // nothing: the size is only a guess
  std::optional<ObjectChecker::Verdict> judge();
  Outcome finish(ObjectChecker::Verdict verdict, std::unique_lock<std::mutex>& lock);

  FetchJob job_;
  FetchTarget& target_;
  const bool needs_checker_, needs_order_;
  std::mutex mutex_;
  ObjectInfo object_;
  std::optional<ObjectChecker> checker_;  // of whoever is hashing, as sha256_
  std::optional<Digest> sha256_;
  std::optional<MultipartEtag> multipart_;
  bool has_parts_ = false;  // an ETag of parts, whether or not their size is known
  Fetched fetched_;
  std::vector<FetchStreamPtr> streams_;
  std::uint64_t next_part_ = 0;      // to be asked for
  std::uint64_t frontier_part_ = 0;  // those before are all there
  std::uint64_t hashed_ = 0;
  bool is_hashing_ = false;
  bool is_restarting_ = false;  // what is under way is pointless; then all begins again
  // Of the parts in which the object was uploaded; `secret`: the server does not tell.
  enum class PartSize { guessed, asked, known, secret } part_size_ = PartSize::guessed;
  std::string first_etag_;  // secret: what the first download's bytes gave
  bool was_wrong_ = false, is_changed_ = false, is_concluded_ = false;
  std::optional<Error> error_;
};

}  // namespace prep
