#include "formats/shard_index.h"

#include <algorithm>

#include "lib/core/error.h"

namespace prep {
namespace {

// Its reader splits lines at white space (C's isspace).
bool has_white_space(std::string_view text) {
  return text.find_first_of(" \t\n\v\f\r") != std::string_view::npos;
}

class DaliIndex final : public ShardIndex {
 public:
  void add(const PlacedSample& sample) override {
    std::string line;
    for (const PlacedSample::Part& part : sample.parts) {
      check_indexable(IndexKind::dali, part.path);
      if (!line.empty()) line += ' ';
      line += fmt::format("{} {} {} {}", part.name, part.offset, part.size, part.path);
    }
    lines_ += line + '\n';
    ++samples_;
  }
  std::string finish() const override { return fmt::format("v1.2 {}\n{}", samples_, lines_); }

 private:
  std::string lines_;
  std::uint64_t samples_ = 0;
};

class TfRecordIndex final : public ShardIndex {
 public:
  void add(const PlacedSample& sample) override {
    lines_ += fmt::format("{} {}\n", sample.begin, sample.end - sample.begin);
  }
  std::string finish() const override { return lines_; }

 private:
  std::string lines_;
};

class EnergonIndex final : public ShardIndex {
 public:
  void add(const PlacedSample& sample) override {
    append(offsets_, sample.begin);
    end_ = sample.end;
  }
  std::string finish() const override {
    std::string offsets = offsets_;
    append(offsets, end_);
    return offsets;
  }

 private:
  static void append(std::string& out, std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
  }

  std::string offsets_;
  std::uint64_t end_ = 0;
};

}  // namespace

void check_indexable(IndexKind kind, std::string_view path) {
  if (kind != IndexKind::dali || !has_white_space(path)) return;
  fail(Code::name, "{}: a name with white space, which DALI's index cannot hold", printable(path));
}

std::unique_ptr<ShardIndex> make_shard_index(IndexKind kind) {
  switch (kind) {
    case IndexKind::dali:
      return std::make_unique<DaliIndex>();
    case IndexKind::energon:
      return std::make_unique<EnergonIndex>();
    case IndexKind::tfrecord:
      return std::make_unique<TfRecordIndex>();
    case IndexKind::wids:
      break;
  }
  return nullptr;
}

std::string shard_index_name(IndexKind kind, std::string_view shard) {
  switch (kind) {
    case IndexKind::dali:
      if (shard.ends_with(".tar")) shard.remove_suffix(4);
      break;
    case IndexKind::energon:
    case IndexKind::tfrecord:
      break;
    case IndexKind::wids:
      return "";
  }
  return std::string(shard) + ".idx";
}

}  // namespace prep
