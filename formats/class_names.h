// Names of classes with their indexes, and labels of samples out of a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/sample.h"
#include "lib/core/table_options.h"

namespace prep {

// Transparent, so that looking something up makes no string.
struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

// A class's index is its place in the list.
class ClassNames {
 public:
  static constexpr std::size_t kMaxFile = 256 << 20;  // bytes

  ClassNames() = default;
  // throws Error duplicate for a name that comes twice.
  explicit ClassNames(std::vector<std::string> names);
  // A file with a name a line, LF or CRLF, plain, gzip or zstd. Every line is a name, whatever it
  // holds; empty lines may only stand at the end, since in between they would shift the indexes.
  // throws Error not_found, io; corrupt, duplicate, empty or limit, with the lines.
  static ClassNames read(const std::string& path);

  std::optional<std::int64_t> index(std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t, StringHash, std::equal_to<>> indexes_;
};

// Labels of samples, from a table with a column of names (keys, paths or base names) and a column
// of labels. In memory: the names and about 35 bytes a row, and each different label once.
class Labels {
 public:
  // `word` is "labels.csv", "csv:labels.txt" or the like. Which columns are meant is told by their
  // names or by `options`; in a table of two columns without known names, the first holds names.
  // Names are cleaned as those in lists are. Rows without a label are left out.
  // throws Error usage, not_found, io, corrupt; limit over 4 billion rows or labels; duplicate for
  // two different labels of one name, with both lines.
  static Labels read(const std::string& word, const TableOptions& options = {});

  // The label under the most particular of the sample's names that has one: key and part
  // ("n01/a.jpg"), key ("n01/a"), the same without directories ("a.jpg", "a"). Where several parts
  // have one, they must agree: throws Error duplicate. From many threads at once.
  std::optional<std::string_view> find(const Sample& sample) const;
  // Under exactly this name.
  std::optional<std::string_view> find(std::string_view name) const;

  std::size_t size() const { return rows_.size(); }
  // The different labels, in the order in which they came.
  const std::vector<std::string>& labels() const { return labels_; }

 private:
  struct Row {
    std::uint64_t begin;  // of the name in text_; it ends where the next row's begins
    std::uint32_t label;
    std::uint32_t line;
  };

  void add(std::string_view name, std::string_view label, std::uint64_t line);
  std::uint32_t label_number(std::string_view label);
  std::string_view name_of(std::size_t row) const;
  std::size_t place_of(std::string_view name) const;
  void grow();
  std::optional<std::string_view> agreed(std::string_view key,
                                         const std::vector<Part>& parts) const;

  std::string text_;  // all names
  std::vector<Row> rows_;
  std::vector<std::uint32_t> places_;  // hash table of row + 1, 0 where free; at most 2/3 full
  std::vector<std::string> labels_;
  std::unordered_map<std::string, std::uint32_t, StringHash, std::equal_to<>> label_numbers_;
};

}  // namespace prep
