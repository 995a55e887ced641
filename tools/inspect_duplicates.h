// Contents that occur more than once, in bounded memory and without reading everything.
//
// Of each content its fingerprint is noted: a hash of its size and its first bytes. Where two are
// equal, both contents are read and compared by 128 bits of hash. Beyond a few million contents
// only those with a low fingerprint are noted, and the bound gets lower as they become more: a
// sample of contents, not of files, so that of each one that is looked at all copies are seen and
// the count of duplicates can be scaled up (P. Gibbons, "Distinct Sampling for Highly-Accurate
// Answers to Distinct Values Queries", VLDB 2001).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/bytes.h"
#include "lib/core/sample.h"

namespace prep {

class DuplicateFinder {
 public:
  // `most`: contents that are noted, 24 bytes each.
  explicit DuplicateFinder(std::size_t most = std::size_t{1} << 21) : most_(most) {}

  // First, for every content.
  void note(std::uint64_t fingerprint, std::uint64_t bytes, std::string_view origin);
  // Then, once: whether there is anything to compare.
  bool prepare();
  // Whether this content is to be read and handed to compare(). From many threads.
  bool wants(std::string_view origin) const;
  // One thread at a time, in the order of the input.
  static std::string hash(const Content& content);
  void compare(const std::string& hash, std::uint64_t bytes, const std::string& origin);
  // Instead, where contents can't be read again: equal fingerprints are taken for it.
  void trust_fingerprints();

  struct Group {
    std::string first, second;  // two of them; "" where nobody could look
    std::uint64_t copies = 0, bytes_each = 0;
  };
  // The contents with the most copies, at most `most`.
  std::vector<Group> groups(std::size_t most) const;
  // How many could be left out, and what they take; scaled up if only some contents were noted.
  std::uint64_t superfluous() const;
  std::uint64_t superfluous_bytes() const;
  bool is_exact() const { return bound_ == UINT64_MAX; }
  double share_noted() const;
  bool is_compared() const { return !trusted_; }

 private:
  struct Noted {
    std::uint64_t fingerprint, origin, bytes;
    bool operator<(const Noted& other) const {
      return std::pair(fingerprint, origin) < std::pair(other.fingerprint, other.origin);
    }
  };

  std::uint64_t scaled(std::uint64_t count) const;

  const std::size_t most_;
  std::uint64_t bound_ = UINT64_MAX;
  std::vector<Noted> noted_;
  std::vector<std::uint64_t> wanted_;  // origins, sorted
  std::map<std::string, Group> groups_;
  bool trusted_ = false;
};

}  // namespace prep
