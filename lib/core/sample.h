// A sample: a key and named parts whose bytes are read when first asked for.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/core/error.h"

namespace prep {

class Fd;

// A range of a file that can be read again at any time.
struct FileRange {
  std::shared_ptr<const Fd> file;  // stays open; or, if null,
  std::string path;                // is opened for each use, from its beginning to its end
  std::uint64_t offset = 0;        // both 0 with `path`
  std::uint64_t size = 0;
};

// Where a part's bytes come from. One thread at a time uses a Content.
class Content {
 public:
  virtual ~Content() = default;

  // In bytes. May have to ask the file system: throws Error not_found or io.
  virtual std::uint64_t size() const = 0;
  // The bytes [offset, offset + length), clipped to the size. throws Error io, not_found, or
  // truncated where the source holds less than it promised.
  virtual Bytes read(std::uint64_t offset, std::uint64_t length) const = 0;
  Bytes load() const { return read(0, size()); }

  // When the source was last modified, in nanoseconds since 1970; 0 where that means nothing.
  virtual std::int64_t mtime_ns() const { return 0; }
  // The memory that this content holds on to before it is asked for anything.
  virtual std::uint64_t resident_bytes() const { return 0; }
  // Whether reading it is reading this file, by device and inode.
  virtual bool is_file(const struct stat&) const { return false; }
  // Where the bytes lie in a file, if they do: what can be kept instead of the content, for
  // millions of samples. Cheap, asks nobody.
  virtual std::optional<FileRange> range() const { return std::nullopt; }
  // Whether it is a few bytes that the source made up itself (a label from a table): they can be
  // kept for millions of samples.
  virtual bool is_literal() const { return false; }
  // For messages: "raw/n01/1.jpg", "x.tar: n01/1.jpg". Not escaped.
  virtual std::string origin() const = 0;
};

// Bytes in memory that came from `origin`.
class MemoryContent final : public Content {
 public:
  MemoryContent(Bytes bytes, std::string origin, std::int64_t mtime_ns = 0)
      : bytes_(std::move(bytes)), origin_(std::move(origin)), mtime_ns_(mtime_ns) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override;
  std::int64_t mtime_ns() const override { return mtime_ns_; }
  std::uint64_t resident_bytes() const override { return bytes_.size(); }
  std::string origin() const override { return origin_; }

 private:
  Bytes bytes_;
  std::string origin_;
  std::int64_t mtime_ns_;
};

// A few bytes that a source or a tool made up: a label, a caption from a table.
class LiteralContent final : public Content {
 public:
  LiteralContent(std::string text, std::string origin, std::int64_t mtime_ns = 0)
      : bytes_(Bytes::take(std::move(text))), origin_(std::move(origin)), mtime_ns_(mtime_ns) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Bytes read(std::uint64_t offset, std::uint64_t length) const override;
  std::int64_t mtime_ns() const override { return mtime_ns_; }
  std::uint64_t resident_bytes() const override { return bytes_.size(); }
  bool is_literal() const override { return true; }
  std::string origin() const override { return origin_; }

 private:
  Bytes bytes_;
  std::string origin_;
  std::int64_t mtime_ns_;
};

struct Part {
  std::string name;  // what follows the first dot of the base name: "jpg", "seg.png"; "" if none
  std::shared_ptr<const Content> content;
};

struct Sample {
  std::string key;  // the path up to the first dot of the base name
  std::vector<Part> parts;
  // Set by a source that found something which cannot become a sound sample (an unreadable
  // directory, a name with ".."). The engine counts it as read and failed.
  std::optional<Error> fault;
  // Which of several outputs it goes to, where the sink has more than one and a plan says so.
  std::uint64_t destination = 0;
};

// The path that a part has in a container: key, or key + "." + part.
std::string part_path(std::string_view key, std::string_view part);

// Splits a path at the first dot of its base name; a base name that starts with a dot ("dir/.x")
// or has none gives an empty part and the whole path as key.
std::pair<std::string_view, std::string_view> split_key(std::string_view path);

// Whether the base name starts with a dot: hidden files and macOS's "._x" are left out.
bool is_hidden(std::string_view path);

// A path as it may stand in a sample's key: leading "./" and doubled slashes removed, a leading "/"
// removed (then `*stripped_root` is set). throws Error name for "", for "..", and for a NUL byte.
std::string clean_path(std::string_view path, bool* stripped_root = nullptr);

// Joins files that follow each other in a stream into samples: feed paths in order; a sample is
// complete when the next path has another key.
class Grouper {
 public:
  static constexpr std::size_t kMaxParts = 10'000;

  // Adds a part; when `path` starts another key, the sample before it is returned. A part name met
  // twice in one sample sets that sample's fault (duplicate). throws Error limit for a sample of
  // more than kMaxParts.
  std::optional<Sample> add(std::string_view path, std::shared_ptr<const Content> content);
  // What is left at the end.
  std::optional<Sample> finish();

 private:
  std::optional<Sample> pending_;
};

}  // namespace prep
