#include "lib/remote/object.h"

#include <algorithm>

#include "lib/core/error.h"

namespace prep {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::size_t kMaxKey = 1024;  // bytes, S3's own limit

bool is_bucket_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// More than AWS allows today: older buckets and other servers have capitals and underscores.
bool is_bucket(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), is_bucket_byte);
}

ObjectUrl parse_s3(std::string_view word) {
  const std::string_view rest = word.substr(kS3.size());
  if (rest.starts_with("arn:")) {
    fail(Code::usage, "{}: access points are not supported: name the bucket instead",
         printable(word));
  }
  const std::size_t slash = rest.find('/');
  ObjectUrl url;
  url.bucket = rest.substr(0, slash);
  if (slash != rest.npos) url.key = rest.substr(slash + 1);
  if (!is_bucket(url.bucket)) {
    fail(Code::usage, "{}: \"{}\" is no name of a bucket: write s3://BUCKET/KEY", printable(word),
         printable(url.bucket));
  }
  if (url.key.size() > kMaxKey) {
    fail(Code::usage, "{}: keys have {} bytes at most, this one has {}", printable(word), kMaxKey,
         url.key.size());
  }
  if (url.key.find('\0') != url.key.npos) {
    fail(Code::usage, "{}: a key has no NUL", printable(word));
  }
  return url;
}

bool belongs_in_url(unsigned char c) { return c > ' ' && c < 0x7f && c != '#'; }

ObjectUrl parse_http(std::string_view word) {
  ObjectUrl url;
  url.scheme = ObjectUrl::Scheme::http;
  url.key = word;
  const std::string_view rest = word.substr(word.find("//") + 2);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty()) fail(Code::usage, "{}: there is no host in it", printable(url.text()));
  if (host.find('@') != host.npos) {
    fail(Code::usage, "a URL with a password in it: every process of this machine could read it");
  }
  if (!std::all_of(word.begin(), word.end(), belongs_in_url)) {
    fail(Code::usage, "{}: spaces, \"#\" and bytes that are not ASCII are written as %20, %23, …",
         printable(url.text()));
  }
  return url;
}

}  // namespace

std::string ObjectUrl::text() const {
  if (scheme == Scheme::s3) return fmt::format("{}{}/{}", kS3, bucket, key);
  const std::size_t query = key.find('?');
  return query == key.npos ? key : key.substr(0, query) + "?…";
}

ObjectUrl parse_object_url(std::string_view word) {
  if (word.starts_with(kS3)) return parse_s3(word);
  if (word.starts_with("http://") || word.starts_with("https://")) return parse_http(word);
  fail(Code::usage, "{}: no object: write s3://BUCKET/KEY or http(s)://HOST/PATH", printable(word));
}

}  // namespace prep
