// Names of shards, from a pattern: "shards/train-%06d.tar", "out/{split}-%05d-of-%05d.tfrecord".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prep {

// The first %d (or %06d) is the shard's number within its split, from 0; a second one the number of
// shards of the split; "{split}" the split's name; "%%" a percent sign.
class ShardPattern {
 public:
  // Whether a path has a "%d" or the like, and so is a pattern.
  static bool matches(std::string_view path);

  // throws Error usage for another conversion, for more than two, or for names that are not UTF-8,
  // which a manifest could not hold.
  explicit ShardPattern(std::string_view pattern);

  bool needs_total() const { return has_total_; }
  bool needs_split() const { return has_split_; }
  // The part of the path above the first placeholder: where the manifest lies.
  const std::string& directory() const { return directory_; }
  // A shard's path, relative to directory().
  std::string name(std::string_view split, std::uint64_t index, std::uint64_t total) const;
  // Whether name() could give this for one of these splits ("" for none), with any numbers.
  bool may_give(std::string_view name, const std::vector<std::string>& splits) const;
  const std::string& text() const { return text_; }

 private:
  enum class Kind { text, index, total, split };
  struct Piece {
    Kind kind;
    std::string text;       // of `text`
    std::size_t width = 0;  // of the numbers
  };

  void parse(std::string_view pattern);
  static bool match(const Piece* piece, const Piece* end, std::string_view name,
                    std::string_view split);

  std::string text_, directory_;
  std::vector<Piece> pieces_;  // below the directory
  bool has_total_ = false, has_split_ = false;
};

}  // namespace prep
