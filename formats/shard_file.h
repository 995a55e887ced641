// One shard while it is written: its samples, its indexes, its digests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/compression.h"
#include "formats/digest_writer.h"
#include "formats/shard_body.h"
#include "formats/shard_index.h"
#include "formats/shard_log.h"
#include "lib/core/file_io.h"

namespace prep {

struct ShardFormat {
  ShardContainer container = ShardContainer::tar;
  Compression compression = Compression::none;
  std::vector<IndexKind> indexes;
  std::shared_ptr<const ExampleSchema> schema;  // of a TFRecord
};

// Written by one thread; meanwhile another may compute digests of what was written so far.
class ShardFile {
 public:
  // `name` is relative to `directory`; the file is written as `temporary`, its indexes as names
  // that begin so.
  ShardFile(const std::string& directory, std::string name, std::string split,
            const std::string& temporary, const ShardFormat& format);

  // throws BadSample when nothing of the sample was written, else Error.
  void add(const Sample& sample);
  // All samples are in.
  void finish();

  // Takes a piece of what was written and not yet digested; false if there is none.
  bool digest() { return digests_->digest(); }
  // After finish(): digests the rest, syncs and closes the file, and tells what the shard is.
  FinishedShard seal(std::uint64_t number);
  // Gives the shard its final name, and writes its indexes before.
  void publish();

  std::uint64_t samples() const { return samples_; }
  // Before compression, without the end mark.
  std::uint64_t size() const { return body_->size(); }
  std::uint64_t pax_members() const { return body_->pax_members(); }

 private:
  struct Index {
    std::string name;
    std::unique_ptr<ShardIndex> entries;
    std::string content;
  };

  void count_label(const Sample& sample);

  const std::string directory_, name_, split_, temporary_;
  AtomicFile file_;
  DigestWriter* digests_;               // the lowest part of
  std::unique_ptr<ByteWriter> writer_;  // which may compress
  std::unique_ptr<ShardBody> body_;
  std::vector<Index> indexes_;
  std::uint64_t samples_ = 0;
  std::map<std::string, std::uint64_t> labels_;
};

}  // namespace prep
