// What is wrong with a file of a data set, and where.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"

namespace prep {

struct Finding {
  enum class Severity { error, warning };

  Severity severity = Severity::error;
  Code code = Code::corrupt;
  std::string file;
  std::optional<std::uint64_t> offset;  // in bytes, before compression
  std::string sample, part;             // "" if it belongs to none
  std::string message;

  // As a compiler speaks: "x.tar: offset 512: sample a: part jpg: it ends early"; one line.
  std::string text() const;
  // The same as a JSON object in one line.
  std::string json() const;
};

// Gathers what is found in one file. A file may be wrong in a million places: all are counted, but
// only some are kept.
class Findings {
 public:
  static constexpr std::size_t kMaxKept = 1000;

  explicit Findings(std::string file) : file_(std::move(file)) {}

  struct Place {
    std::optional<std::uint64_t> offset;
    std::string_view sample{}, part{};
  };
  void error(Code code, const Place& place, std::string message);
  void warn(Code code, const Place& place, std::string message);
  // A warning of which there is one, however often it is called for: "WHAT (3 times)", at the
  // first.
  void tally(Code code, std::uint64_t offset, std::string_view what);

  std::uint64_t errors() const { return errors_; }
  std::uint64_t warnings() const { return warnings_; }
  // By offset; what has none comes last. Call once.
  std::vector<Finding> finish();

 private:
  struct Tallied {
    Code code;
    std::uint64_t first = 0, count = 0;
  };

  std::string file_;
  std::vector<Finding> kept_;
  std::map<std::string, Tallied, std::less<>> tallies_;
  std::uint64_t errors_ = 0, warnings_ = 0;
};

}  // namespace prep
