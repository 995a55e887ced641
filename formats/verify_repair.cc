#include "formats/verify_repair.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "formats/compression.h"
#include "formats/shard_set.h"
#include "formats/tar_sample_writer.h"
#include "formats/tfrecord_writer.h"
#include "formats/tree.h"
#include "formats/verify_input.h"
#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/version.h"

namespace prep {
namespace {

constexpr char kMark[] = ".prep-verify.partial";
constexpr char kLostName[] = "lost.jsonl";
constexpr std::size_t kPiece = 1 << 20;

bool is_new_or_empty(const std::string& path) {
  bool is_empty = true;
  for_each_entry(path, [&](int, const dirent&) { return is_empty = false; });
  return is_empty;
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
  file.write(as_bytes(content));
  file.commit(/*sync=*/true);
}

// Copies a file to an output that is not complete yet.
void copy_file(const std::string& from, AtomicFile& to) {
  const Fd file = open_file(from, O_RDONLY);
  std::vector<std::uint8_t> piece(kPiece);
  while (const std::size_t count = read_fully(file.get(), piece.data(), piece.size(), from)) {
    to.write(ByteView(piece).first(count));
  }
}

// What is in a file by now, read back.
void digest_file(const AtomicFile& file, bool with_md5, ShardRecord& record) {
  const auto descriptor = std::make_shared<const Fd>(dup(file.fd()));
  if (lseek(descriptor->get(), 0, SEEK_SET) != 0) fail_errno(errno, "read", file.path());
  DigestedFile digested(std::make_unique<FdReader>(descriptor, file.path()), {true, with_md5});
  digested.drain();
  record.bytes = digested.bytes();
  record.sha256 = digested.sha256();
  record.md5 = digested.md5();
}

LostSample lost_sample(const std::string& file, const VerifiedSample& sample, std::string why) {
  return {file, sample.placed.begin, sample.placed.end, sample.placed.key, "", std::move(why)};
}

// How many samples they are: a member's key may be that of another entry.
std::uint64_t count_samples(const std::vector<LostSample>& all) {
  std::set<std::string_view> keys;
  std::uint64_t nameless = 0;
  for (const LostSample& lost : all) {
    if (lost.sample.empty() && lost.member.empty()) {
      ++nameless;
    } else {
      keys.insert(lost.sample.empty() ? split_key(lost.member).first : lost.sample);
    }
  }
  return keys.size() + nameless;
}

// --- which samples ----------------------------------------------------------------------------

bool same_bytes(const Fd& file, const PlacedSample::Part& a, const PlacedSample::Part& b,
                const std::string& name) {
  if (a.size != b.size) return false;
  std::vector<std::uint8_t> x(kPiece), y(kPiece);
  for (std::uint64_t done = 0; done < a.size;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, a.size - done));
    if (pread_fully(file.get(), x.data(), size, a.offset + done, name) != size ||
        pread_fully(file.get(), y.data(), size, b.offset + done, name) != size ||
        std::memcmp(x.data(), y.data(), size) != 0) {
      return false;
    }
    done += size;
  }
  return true;
}

// The samples of a tar with their parts put together.
class Collector {
 public:
  Collector(const ShardReport& report, const std::string& name) : report_(report), name_(name) {}

  std::vector<VerifiedSample> run() {
    for (const VerifiedSample& sample : report_.kept) add(sample);
    for (VerifiedSample& sample : samples_) drop_copies(sample);
    return std::move(samples_);
  }

 private:
  void add(const VerifiedSample& sample) {
    if (sample.is_repeated) {
      samples_.push_back(sample);
      return;
    }
    const auto [found, is_new] = by_key_.insert({sample.placed.key, samples_.size()});
    if (is_new) {
      samples_.push_back(sample);
      return;
    }
    VerifiedSample& first = samples_[found->second];
    first.placed.parts.insert(first.placed.parts.end(), sample.placed.parts.begin(),
                              sample.placed.parts.end());
    if (first.damage.empty()) first.damage = sample.damage;
    if (!first.label) first.label = sample.label;
  }

  void drop_copies(VerifiedSample& sample) const {
    std::vector<PlacedSample::Part> parts;
    for (PlacedSample::Part& part : sample.placed.parts) {
      const auto twin = std::find_if(parts.begin(), parts.end(),
                                     [&](const auto& other) { return other.name == part.name; });
      if (twin == parts.end()) {
        parts.push_back(std::move(part));
      } else if (!same_bytes(*report_.archive, *twin, part, name_) && sample.damage.empty()) {
        sample.damage =
            fmt::format("its part {} comes twice, with different content", printable(twin->name));
      }
    }
    sample.placed.parts = std::move(parts);
  }

  const ShardReport& report_;
  const std::string& name_;
  std::vector<VerifiedSample> samples_;
  std::unordered_map<std::string, std::size_t> by_key_;
};

// --- writing ----------------------------------------------------------------------------------

// One new shard. Offsets are those of its own bytes.
class ShardWriter {
 public:
  ShardWriter(const std::string& path, const std::string& name, const ShardReport& report)
      : report_(report),
        name_(name),
        compression_(compression_for_name(name)),
        file_(path, locked_temporary(path), AtomicFile::Sharing::locked),
        out_(make_writer(file_.fd(), compression_, path)) {
    if (report.container == ShardContainer::tar) {
      tar_.emplace(*out_);
    } else {
      records_.emplace(*out_);
    }
    if (compression_ != Compression::none) return;
    for (const IndexKind kind : report.indexes) indexes_.push_back(make_shard_index(kind));
  }

  // throws BadSample for one that can't be written.
  void add(const VerifiedSample& sample) {
    const PlacedSample placed = tar_ ? add_members(sample) : add_record(sample);
    for (auto& index : indexes_) {
      try {
        if (index) index->add(placed);
      } catch (const Error&) {
        index.reset();  // there is none that could say it
      }
    }
  }

  // Writes the rest, and the indexes beside the shard.
  void finish(const std::string& directory, bool with_md5, RepairedShard& shard) {
    tar_ ? tar_->finish() : records_->finish();
    out_->finish();
    digest_file(file_, with_md5, *shard.record);
    for (std::size_t i = 0; i < indexes_.size(); ++i) {
      if (!indexes_[i]) continue;
      const std::string content = indexes_[i]->finish();
      const std::string name = shard_index_name(report_.indexes[i], name_);
      write_file(join_path(directory, name), content);
      shard.indexes.push_back(
          {name, content.size(), hex_digest(Digest::Kind::sha256, as_bytes(content))});
    }
    file_.commit(/*sync=*/true);
  }

 private:
  PlacedSample add_members(const VerifiedSample& sample) {
    Sample out;
    out.key = sample.placed.key;
    for (const PlacedSample::Part& part : sample.placed.parts) {
      out.parts.push_back({part.name, std::make_shared<RangeContent>(report_.archive, part.offset,
                                                                     part.size, part.path, 0)});
    }
    try {
      TarSampleWriter::check(out);
    } catch (const Error& error) {
      throw BadSample(error.code(), error.what());
    }
    return tar_->add(out);
  }

  PlacedSample add_record(const VerifiedSample& sample) {
    const std::uint64_t begin = sample.placed.begin + kTfRecordHeader;
    const std::uint64_t size = sample.placed.end - kTfRecordFooter - begin;
    const Bytes record = RangeContent(report_.archive, begin, size, name_, 0).load();
    const ByteView piece = record.view();
    const TfRecordWriter::Place place = records_->add({&piece, 1});
    return {sample.placed.key, place.offset, place.offset + place.size, {}};
  }

  const ShardReport& report_;
  const std::string name_;
  const Compression compression_;
  AtomicFile file_;
  std::unique_ptr<ByteWriter> out_;
  std::optional<TarSampleWriter> tar_;  // or
  std::optional<TfRecordWriter> records_;
  std::vector<std::unique_ptr<ShardIndex>> indexes_;
};

}  // namespace

std::string LostSample::text() const {
  std::string what = fmt::format("{} bytes", end - begin);
  if (!sample.empty()) what = "sample " + printable(sample);
  if (!member.empty()) what = "member " + printable(member);
  return fmt::format("{}: offset {}: {}: lost: {}", printable(file), begin, what, why);
}

std::string LostSample::json() const {
  nlohmann::ordered_json line{{"file", json_text(file)}, {"offset", begin}, {"end", end}};
  if (!sample.empty()) line["sample"] = json_text(sample);
  if (!member.empty()) line["member"] = json_text(member);
  line["lost"] = json_text(why);
  return line.dump();
}

Repair::Repair(std::string directory, const VerifyPlan& plan)
    : directory_(std::move(directory)), plan_(plan) {
  if (!is_new_or_empty(directory_)) {
    fail(Code::usage, "{}: --repair needs a directory that is new or empty", printable(directory_));
  }
  std::set<std::string> names;
  for (const VerifyItem& item : plan.items) {
    if (item.kind != VerifyItem::Kind::shard) continue;
    if (item.path == "-") {
      fail(Code::usage, "--repair needs a file; save standard input as one first");
    }
    if (!names.insert(item.name).second) {
      fail(Code::usage, "{}: two shards are called so; repair them one by one",
           printable(item.name));
    }
  }
  make_directories(directory_);
  write_file(join_path(directory_, kMark), "");
}

void Repair::set_container(ShardContainer container) {
  const std::lock_guard lock(mutex_);
  if (!container_) container_ = container;
  if (*container_ != container) {
    fail(Code::usage, "there are tars and TFRecords; repair them one after the other");
  }
}

RepairedShard Repair::write(const VerifyItem& item, const ShardReport& report) {
  if (!report.archive) {
    return {std::nullopt, {}, {}, {}, {{item.path, 0, 0, "", "", "it could not be read"}}};
  }
  set_container(report.container);
  // Under a wrong name it is better written anew.
  const bool is_well_named = report.compression == compression_for_name(item.name);
  if (report.is_intact && is_well_named) return copy(item, report);
  RepairedShard shard;
  for (const LostBytes& lost : report.lost) {
    shard.lost.push_back({item.path, lost.begin, lost.end, "", lost.name, lost.why});
  }
  shard.record = ShardRecord{item.name, "", 0, 0, "", ""};
  if (item.shard.expected) shard.record->split = item.shard.expected->split;
  ShardWriter writer(join_path(directory_, item.name), item.name, report);
  const auto samples =
      report.container == ShardContainer::tar ? Collector(report, item.path).run() : report.kept;
  for (const VerifiedSample& sample : samples) {
    if (!sample.damage.empty()) {
      shard.lost.push_back(lost_sample(item.path, sample, sample.damage));
      continue;
    }
    try {
      writer.add(sample);
    } catch (const BadSample& error) {
      shard.lost.push_back(lost_sample(item.path, sample, error.what()));
      continue;
    }
    ++shard.record->samples;
    if (sample.label) ++shard.labels[*sample.label];
  }
  std::stable_sort(shard.lost.begin(), shard.lost.end(),
                   [](const LostSample& a, const LostSample& b) { return a.begin < b.begin; });
  if (shard.record->samples == 0) {
    shard.record.reset();
    return shard;
  }
  writer.finish(directory_, item.set->has_wids, shard);
  shard.index_kinds = report.indexes;
  return shard;
}

// A sound shard stays byte for byte what it was.
RepairedShard Repair::copy(const VerifyItem& item, const ShardReport& report) const {
  RepairedShard shard;
  shard.record = ShardRecord{item.name, "", report.samples, 0, "", ""};
  if (item.shard.expected) shard.record->split = item.shard.expected->split;
  shard.labels = report.labels;
  const std::string path = join_path(directory_, item.name);
  AtomicFile file(path, locked_temporary(path), AtomicFile::Sharing::locked);
  copy_file(item.path, file);
  digest_file(file, item.set->has_wids, *shard.record);
  if (report.compression == Compression::none) {
    shard.index_kinds = report.indexes;
    for (const IndexKind kind : report.indexes) {
      const auto index = make_shard_index(kind);
      for (const VerifiedSample& sample : report.kept) index->add(sample.placed);
      const std::string content = index->finish();
      const std::string name = shard_index_name(kind, item.name);
      write_file(join_path(directory_, name), content);
      shard.indexes.push_back(
          {name, content.size(), hex_digest(Digest::Kind::sha256, as_bytes(content))});
    }
  }
  file.commit(/*sync=*/true);
  return shard;
}

void Repair::add(const VerifyItem& item, RepairedShard shard) {
  if (shard.record) {
    saved_ += shard.record->samples;
    shards_.push_back(std::move(*shard.record));
  }
  std::move(shard.indexes.begin(), shard.indexes.end(), std::back_inserter(files_));
  for (const IndexKind kind : shard.index_kinds) {
    if (std::find(index_kinds_.begin(), index_kinds_.end(), kind) == index_kinds_.end()) {
      index_kinds_.push_back(kind);
    }
  }
  if (item.set->has_wids &&
      std::find(index_kinds_.begin(), index_kinds_.end(), IndexKind::wids) == index_kinds_.end()) {
    index_kinds_.push_back(IndexKind::wids);
  }
  for (const auto& [label, count] : shard.labels) labels_[label] += count;
  lost_count_ += count_samples(shard.lost);
  for (const LostSample& lost : shard.lost) lost_lines_ += lost.json() + "\n";
}

// --- the whole --------------------------------------------------------------------------------

namespace {

// The only manifest of a plan; null if there is none, or several.
const Manifest* only_manifest(const VerifyPlan& plan) {
  const Manifest* found = nullptr;
  for (const auto& set : plan.sets) {
    if (!set->manifest) continue;
    if (found) return nullptr;
    found = &*set->manifest;
  }
  return found;
}

const char* compression_name(std::string_view shard) {
  switch (compression_for_name(shard)) {
    case Compression::gzip:
      return "gzip";
    case Compression::zstd:
      return "zstd";
    case Compression::none:
      break;
  }
  return "none";
}

}  // namespace

std::uint64_t Repair::lost_samples() const {
  const Manifest* manifest = only_manifest(plan_);
  if (!manifest) return lost_count_;
  std::uint64_t expected = 0;
  for (const ShardRecord& shard : manifest->shards) expected += shard.samples;
  return expected - std::min(expected, saved_);
}

Manifest Repair::manifest() const {
  Manifest manifest;
  const Manifest* before = only_manifest(plan_);
  manifest.tool = "prep-verify";
  manifest.tool_version = kVersion;
  manifest.settings = {{"repaired", before ? before->settings : nlohmann::ordered_json()}};
  manifest.container = container_name(*container_);
  manifest.compression = compression_name(shards_.front().name);
  manifest.shards = shards_;
  manifest.files = files_;
  if (before) {
    manifest.listing = before->listing;
    manifest.schema = before->schema;
    manifest.classes = before->classes;
    manifest.dropped = before->dropped;
    manifest.repeated = before->repeated;
    manifest.failed = before->failed;
  }
  // What is left of each class.
  auto labels = labels_;
  for (ClassRecord& record : manifest.classes)
    record.samples = std::exchange(labels[record.index], 0);
  for (const auto& [label, count] : labels) {
    if (count > 0) manifest.classes.push_back({"", label, count});
  }
  return manifest;
}

void Repair::finish() {
  if (shards_.empty()) fail(Code::empty, "no sample could be saved");
  write_file(join_path(directory_, kLostName), lost_lines_);
  write_shard_set(directory_, manifest(), index_kinds_);
  const std::string mark = join_path(directory_, kMark);
  if (unlink(mark.c_str()) != 0) fail_errno(errno, "remove", mark);
}

}  // namespace prep
