#include "formats/catalog.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "lib/core/error.h"
#include "lib/core/key_hash.h"

namespace prep {
namespace {

// Entries lie in blocks; a larger one gets a block of its own.
constexpr std::size_t kBlock = 4 << 20;

enum class Kind : std::uint8_t { file, range, literal };

void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_text(std::string_view text, std::string& out) {
  put_varint(text.size(), out);
  out.append(text);
}

}  // namespace

// Reads back what put_varint() and put_text() wrote; nothing else ever stands there.
class Catalog::Cursor {
 public:
  explicit Cursor(const std::uint8_t* at) : at_(at) {}
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const std::uint8_t byte = *at_++;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view text() {
    const std::uint64_t size = varint();
    const std::string_view text(reinterpret_cast<const char*>(at_), size);
    at_ += size;
    return text;
  }

 private:
  const std::uint8_t* at_;
};

struct Catalog::Names {
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint64_t> numbers;

  std::uint64_t number(std::string_view name) {
    const auto [entry, is_new] = numbers.try_emplace(std::string(name), names.size());
    if (is_new) names.push_back(entry->first);
    return entry->second;
  }
};

struct Catalog::Digest {
  Digest() { XXH3_128bits_reset(&state); }
  void text(std::string_view value) {
    number(value.size());
    XXH3_128bits_update(&state, value.data(), value.size());
  }
  void number(std::uint64_t value) { XXH3_128bits_update(&state, &value, sizeof value); }
  XXH3_state_t state;
};

Catalog::Catalog() : names_(std::make_unique<Names>()), digest_(std::make_unique<Digest>()) {}
Catalog::~Catalog() = default;
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;

// --- writing ------------------------------------------------------------------------------------

std::uint8_t* Catalog::allocate(std::size_t size) {
  if (block_size_ - block_used_ < size) {
    block_size_ = std::max(size, kBlock);
    block_used_ = 0;
    // Not value-initialised: a page that is not used costs nothing.
    blocks_.emplace_back(new std::uint8_t[block_size_]);
    allocated_ += block_size_;
  }
  std::uint8_t* place = blocks_.back().get() + block_used_;
  block_used_ += size;
  return place;
}

std::uint64_t Catalog::file_number(const FileRange& range, std::int64_t mtime_ns) {
  const auto [entry, is_new] = file_numbers_.try_emplace(range.file.get(), files_.size());
  if (is_new) files_.push_back({range.file, mtime_ns});
  return entry->second;
}

// A part's origin is nearly always something that many samples share, the key, and something that
// many share again: "raw/" n01/1 ".jpg".
void Catalog::append_part(const Sample& sample, const Part& part, std::string& entry) {
  const Content& content = *part.content;
  const std::optional<FileRange> range = content.range();
  if (!range && !content.is_literal()) {
    fail(
        Code::usage,
        "{}: its bytes come by only once (a stream, or a compressed tar), but what was asked for "
        "needs to know all samples before the first is written; unpack it to a file or a directory "
        "first",
        printable(content.origin()));
  }
  const std::uint64_t size = content.size();
  const std::int64_t mtime = content.mtime_ns();
  const Kind kind = !range ? Kind::literal : range->file ? Kind::range : Kind::file;
  const std::string origin = content.origin();
  const std::size_t key = origin.rfind(sample.key);
  put_varint(static_cast<std::uint64_t>(kind) | (key == std::string::npos ? 4 : 0), entry);
  put_varint(names_->number(part.name), entry);
  if (key == std::string::npos) {
    put_text(origin, entry);
  } else {
    put_varint(names_->number(origin.substr(0, key)), entry);
    put_varint(names_->number(origin.substr(key + sample.key.size())), entry);
  }
  put_varint(size, entry);
  if (kind == Kind::literal) entry.append(content.load().text());
  if (kind == Kind::range) {
    put_varint(file_number(*range, mtime), entry);
    put_varint(range->offset, entry);
  }
  digest_->text(part.name);
  digest_->number(size);
  digest_->number(static_cast<std::uint64_t>(mtime));
  if (kind == Kind::literal) digest_->text(content.load().text());
}

void Catalog::add(const Sample& sample, std::uint32_t label) {
  std::string entry;
  put_text(sample.key, entry);
  put_varint(label, entry);
  put_varint(sample.parts.size(), entry);
  digest_->text(sample.key);
  digest_->number(sample.parts.size());
  for (const Part& part : sample.parts) append_part(sample, part, entry);
  std::uint8_t* place = allocate(entry.size());
  std::memcpy(place, entry.data(), entry.size());
  samples_.push_back(place);
}

void Catalog::regroup() {
  // The first sample of each key, by 128-bit hashes of the keys: (hash, index), sorted.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> order;
  order.reserve(samples_.size());
  for (std::uint64_t i = 0; i < samples_.size(); ++i) order.emplace_back(key_hash(key(i)), i);
  std::sort(order.begin(), order.end());
  std::vector<bool> joined(samples_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint64_t first = order[i].second;
    if (joined[first]) continue;
    std::optional<Sample> whole;
    for (std::size_t j = i + 1; j < order.size() && order[j].first == order[i].first; ++j) {
      const std::uint64_t other = order[j].second;
      if (joined[other] || key(other) != key(first)) continue;
      if (!whole) whole = sample(first);
      Sample rest = sample(other);
      std::move(rest.parts.begin(), rest.parts.end(), std::back_inserter(whole->parts));
      joined[other] = true;
    }
    if (!whole) continue;
    add(*whole, label(first));
    samples_[first] = samples_.back();
    samples_.pop_back();
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (!joined[i]) samples_[kept++] = samples_[i];
  }
  samples_.resize(kept);
}

// --- reading ------------------------------------------------------------------------------------

std::string_view Catalog::key(std::uint64_t index) const { return Cursor(samples_[index]).text(); }

std::uint32_t Catalog::label(std::uint64_t index) const {
  Cursor cursor(samples_[index]);
  cursor.text();
  return static_cast<std::uint32_t>(cursor.varint());
}

Part Catalog::read_part(Cursor& cursor, std::string_view key) const {
  const std::uint64_t flags = cursor.varint();
  Part part{names_->names[cursor.varint()], nullptr};
  std::string origin;
  if (flags & 4) {
    origin = cursor.text();
  } else {
    origin = names_->names[cursor.varint()];
    origin.append(key).append(names_->names[cursor.varint()]);
  }
  switch (static_cast<Kind>(flags & 3)) {
    case Kind::file:
      part.content = std::make_shared<FileContent>(std::move(origin), cursor.varint());
      break;
    case Kind::literal:
      part.content =
          std::make_shared<LiteralContent>(std::string(cursor.text()), std::move(origin));
      break;
    case Kind::range: {
      const std::uint64_t size = cursor.varint();
      const OpenFile& file = files_[cursor.varint()];
      const std::uint64_t offset = cursor.varint();
      part.content =
          std::make_shared<RangeContent>(file.file, offset, size, std::move(origin), file.mtime_ns);
    }
  }
  return part;
}

Sample Catalog::sample(std::uint64_t index) const {
  Cursor cursor(samples_[index]);
  Sample sample;
  sample.key = cursor.text();
  cursor.varint();  // the label
  const std::uint64_t parts = cursor.varint();
  sample.parts.reserve(parts);
  for (std::uint64_t i = 0; i < parts; ++i) sample.parts.push_back(read_part(cursor, sample.key));
  return sample;
}

std::vector<Catalog::PartSize> Catalog::part_sizes(std::uint64_t index) const {
  Cursor cursor(samples_[index]);
  cursor.text();
  cursor.varint();
  std::vector<PartSize> sizes(cursor.varint());
  for (PartSize& part : sizes) {
    const std::uint64_t flags = cursor.varint();
    part.name = names_->names[cursor.varint()];
    if (flags & 4) {
      cursor.text();
    } else {
      cursor.varint();
      cursor.varint();
    }
    if (static_cast<Kind>(flags & 3) == Kind::literal) {
      part.size = cursor.text().size();
      continue;
    }
    part.size = cursor.varint();
    if (static_cast<Kind>(flags & 3) == Kind::range) {
      cursor.varint();
      cursor.varint();
    }
  }
  return sizes;
}

std::string Catalog::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&digest_->state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::uint64_t Catalog::memory() const {
  return allocated_ + samples_.capacity() * sizeof(samples_[0]);
}

}  // namespace prep
