#include "formats/shard_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::uint64_t kLongestLabel = 20;

}  // namespace

ShardFile::ShardFile(const std::string& directory, std::string name, std::string split,
                     const std::string& temporary, const ShardFormat& format)
    : directory_(directory),
      name_(std::move(name)),
      split_(std::move(split)),
      temporary_(temporary),
      file_(join_path(directory_, name_), temporary),
      digests_(nullptr) {
  const auto wants = [&](IndexKind kind) {
    return std::find(format.indexes.begin(), format.indexes.end(), kind) != format.indexes.end();
  };
  auto digests = std::make_unique<DigestWriter>(file_.fd(), file_.path(), wants(IndexKind::wids));
  digests_ = digests.get();
  writer_ = compress(std::move(digests), format.compression);
  body_ = make_shard_body(format.container, *writer_, format.schema);
  for (const IndexKind kind : format.indexes) {
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
}

FinishedShard ShardFile::seal(std::uint64_t number) {
  DigestWriter::Digests digests = digests_->digests();
  FinishedShard shard;
  shard.number = number;
  shard.record = {name_, split_, samples_, writer_->written(), digests.sha256, digests.md5};
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
  make_directories(parent_directory(file_.path()));  // of a split, maybe
  for (const Index& index : indexes_) {
    const std::string path = join_path(directory_, index.name);
    AtomicFile file(path, temporary_ + ".idx");
    file.write(as_bytes(index.content));
    file.commit();
  }
  file_.commit();
}

}  // namespace prep
