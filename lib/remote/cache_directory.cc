#include "lib/remote/cache_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "lib/core/digest.h"
#include "lib/core/error.h"
#include "lib/core/file_io.h"

namespace prep {
namespace {

constexpr std::string_view kFormat = "preptools cache 2\n";

std::uint64_t hex_value(std::string_view digits) {
  return std::stoull(std::string(digits), nullptr, 16);
}

std::unique_ptr<DIR, int (*)(DIR*)> open_directory(const std::string& path) {
  return {opendir(path.c_str()), closedir};
}

void for_each_hash(const std::string& directory, const CacheDirectory::Visit& f) {
  const auto entries = open_directory(directory);
  if (!entries) return;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (const auto hash = CacheHash::in(name)) f(*hash, name.substr(hash->size()));
  }
}

// A name for what is not complete yet.
std::string fresh_name(const std::string& path) { return fmt::format("{}.{}.tmp", path, getpid()); }

}  // namespace

std::optional<std::string> CacheHash::in(std::string_view file_name) {
  const std::string_view hash = file_name.substr(0, kDigits);
  if (hash.size() < kDigits ||
      hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::string(hash);
}

std::uint64_t CacheHash::size(std::string_view hash) {
  return hex_value(hash.substr(kNameDigits + kVersionDigits, kSizeDigits));
}

std::uint64_t CacheHash::name_bits(std::string_view hash) { return hex_value(hash.substr(0, 16)); }

std::uint64_t CacheHash::bits(std::string_view hash) {
  return name_bits(hash) ^ hex_value(hash.substr(kNameDigits, 16)) ^ size(hash);
}

std::string digest_of_fields(std::initializer_list<std::string_view> fields, std::size_t digits) {
  Digest digest(Digest::Kind::sha256);
  for (const std::string_view field : fields) {
    digest.update(as_bytes(std::to_string(field.size()) + ':'));
    digest.update(as_bytes(field));
  }
  return digest.hex().substr(0, digits);
}

CacheDirectory::CacheDirectory(std::string path) : path_(std::move(path)) {
  if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    make_directories(parent_directory(path_));
    if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
      fail_errno(errno, "make the cache", path_);
    }
  }
  check_owner();
  check_format();
}

// Who could write into it could give us bytes of his own.
void CacheDirectory::check_owner() const {
  struct stat st {};
  if (stat(path_.c_str(), &st) != 0) fail_errno(errno, "open the cache", path_);
  if (!S_ISDIR(st.st_mode)) {
    fail(Code::usage, "{}: is to be the cache, and is not a directory", printable(path_));
  }
  if (st.st_uid != geteuid()) {
    fail(Code::usage, "{}: belongs to another user; a cache must be your own", printable(path_));
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && access(in("format").c_str(), F_OK) == 0) {
    fail(Code::usage, "{}: others may write into this cache; clear it, or chmod go-w",
         printable(path_));
  }
}

void CacheDirectory::check_format() const {
  const std::string path = in("format");
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) {
    std::uint8_t text[kFormat.size() + 1];
    const std::size_t size = read_fully(file.get(), text, sizeof text, path);
    if (as_text(ByteView(text, size)) == kFormat) return;
    fail(Code::usage, "{}: is a cache of another version; remove it, or name another directory",
         printable(path_));
  }
  // Nobody's files are to be taken for ours.
  const auto entries = open_directory(path_);
  if (!entries) fail_errno(errno, "open", path_);
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name.starts_with("format")) continue;
    // Another process may have begun with it since.
    if (access(path.c_str(), F_OK) == 0) return check_format();
    fail(Code::usage, "{}: holds other files ({}); a cache must have a directory of its own",
         printable(path_), printable(name));
  }
  if (chmod(path_.c_str(), 0700) != 0) fail_errno(errno, "chmod", path_);
  write_small_file(path, kFormat);
}

std::string CacheDirectory::in(std::string_view name) const { return join_path(path_, name); }

std::string CacheDirectory::object(std::string_view hash) const {
  return in(fmt::format("objects/{}/{}", hash.substr(0, 2), hash));
}

std::string CacheDirectory::partial(std::string_view hash) const {
  return in(fmt::format("partial/{}", hash));
}

std::string CacheDirectory::link(std::string_view name_hash) const {
  return in(fmt::format("current/{}/{}", name_hash.substr(0, 2), name_hash));
}

std::string CacheDirectory::current(std::string_view name_hash) const {
  char target[PATH_MAX];
  const ssize_t length = readlink(link(name_hash).c_str(), target, sizeof target);
  if (length <= 0) return "";
  return CacheHash::in(base_name({target, static_cast<std::size_t>(length)})).value_or("");
}

void CacheDirectory::set_current(std::string_view hash) const {
  const std::string path = link(CacheHash::name(hash));
  const std::string fresh = fresh_name(path);
  const std::string target = fmt::format("../../objects/{}/{}", hash.substr(0, 2), hash);
  make_directories(parent_directory(path));
  unlink(fresh.c_str());
  if (symlink(target.c_str(), fresh.c_str()) != 0 || rename(fresh.c_str(), path.c_str()) != 0) {
    fail_errno(errno, "make the link", path);
  }
}

void CacheDirectory::for_each_object(const Visit& f) const {
  for (int i = 0; i < 256; ++i) for_each_hash(in(fmt::format("objects/{:02x}", i)), f);
}

void CacheDirectory::for_each_partial(const Visit& f) const { for_each_hash(in("partial"), f); }

void CacheDirectory::remove_rests() const {
  for_each_object([&](const std::string& hash, std::string_view rest) {
    const bool is_whole =
        rest.empty() || (rest == ".json" && access(object(hash).c_str(), F_OK) == 0);
    if (!is_whole) unlink((object(hash) + std::string(rest)).c_str());
  });
  for (int i = 0; i < 256; ++i) {
    const std::string links = in(fmt::format("current/{:02x}", i));
    const auto entries = open_directory(links);
    if (!entries) continue;
    while (const dirent* entry = readdir(entries.get())) {
      const std::string path = join_path(links, entry->d_name);
      const bool is_pin = path.ends_with(".pin");
      const std::string& link = is_pin ? path.substr(0, path.size() - 4) : path;
      if (path.ends_with(".tmp") || access(link.c_str(), F_OK) != 0) unlink(path.c_str());
    }
  }
}

void write_small_file(const std::string& path, std::string_view text) {
  AtomicFile file(path, fresh_name(path));
  file.write(as_bytes(text));
  file.commit();
}

}  // namespace prep
