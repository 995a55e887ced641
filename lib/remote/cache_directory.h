// Where in a cache's directory what is (cache.h has the picture), and whose directory it is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace prep {

// The names of stored objects. The size is part of them, so that a file that was cut off is told
// from a whole one, and a place is reserved by a name alone:
//
//     32 hex digits of the digest of endpoint, bucket and key; 16 of the version's (the ETag); the
//     size in 16 hex digits
struct CacheHash {
  static constexpr std::size_t kNameDigits = 32, kVersionDigits = 16, kSizeDigits = 16;
  static constexpr std::size_t kDigits = kNameDigits + kVersionDigits + kSizeDigits;

  // Of a file's name, which may go on behind it.
  static std::optional<std::string> in(std::string_view file_name);
  static std::string name(std::string_view hash) { return std::string(hash.substr(0, 32)); }
  static std::uint64_t size(std::string_view hash);
  static std::uint64_t name_bits(std::string_view hash);  // of the object, whatever its version
  static std::uint64_t bits(std::string_view hash);
};

// Lower-case hex, of SHA-256.
std::string digest_of_fields(std::initializer_list<std::string_view> fields, std::size_t digits);

class CacheDirectory {
 public:
  // Makes it, for the user alone, if need be. throws Error io; usage for a directory that holds
  // other things, or is somebody else's.
  explicit CacheDirectory(std::string path);

  const std::string& path() const { return path_; }
  std::string in(std::string_view name) const;
  std::string object(std::string_view hash) const;
  std::string description(std::string_view hash) const { return object(hash) + ".json"; }
  std::string partial(std::string_view hash) const;
  std::string reservation(std::string_view hash) const { return partial(hash) + ".room"; }
  std::string link(std::string_view name_hash) const;
  std::string pin(std::string_view name_hash) const { return link(name_hash) + ".pin"; }
  std::string use_lock() const { return in("use.lock"); }
  std::string fetch_lock() const { return in("fetch.lock"); }

  // The hash of an object's newest version; "" if none is stored.
  std::string current(std::string_view name_hash) const;
  void set_current(std::string_view hash) const;  // throws Error io

  // Calls f(hash, what follows it in the file's name), in no order.
  using Visit = std::function<void(const std::string& hash, std::string_view rest)>;
  void for_each_object(const Visit& f) const;
  void for_each_partial(const Visit& f) const;
  // What killed processes have left: links to nothing, descriptions of nothing, files that were not
  // complete. Not while anybody else may be changing something.
  void remove_rests() const;

 private:
  void check_owner() const;
  void check_format() const;
  std::string path_;
};

// All or nothing, under a name that only this process uses until it is complete.
void write_small_file(const std::string& path, std::string_view text);

}  // namespace prep
