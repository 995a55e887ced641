#include "lib/remote/object_headers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "lib/remote/ascii.h"
#include "lib/remote/http_date.h"

namespace prep {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // A file's size is a signed number for the operating system.
  if (text.empty() || error != std::errc() || stop != end || value > INT64_MAX) return std::nullopt;
  return value;
}

// The strongest last.
constexpr std::array<std::string_view, 5> kChecksums = {"crc32", "crc32c", "crc64nvme", "sha1",
                                                        "sha256"};

std::string checksum_of(const HttpResponse& response) {
  std::string checksum;
  for (const std::string_view kind : kChecksums) {
    const std::string* value = response.find("x-amz-checksum-" + std::string(kind));
    if (value && !value->empty()) checksum = std::string(kind) + ":" + *value;
  }
  return checksum;
}

bool is_etag_md5(const HttpResponse& response) {
  const std::string* encryption = response.find("x-amz-server-side-encryption");
  const bool is_kms = encryption && encryption->starts_with("aws:kms");
  return !is_kms && !response.find("x-amz-server-side-encryption-customer-algorithm");
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  if (ascii_lower(value.substr(0, 6)) != "bytes ") return std::nullopt;
  value.remove_prefix(6);
  const std::size_t slash = value.find('/');
  if (slash == value.npos) return std::nullopt;
  const std::string_view range = value.substr(0, slash), total = value.substr(slash + 1);
  ContentRange result;
  if (total != "*" && !(result.total = number(total))) return std::nullopt;
  if (range == "*") return result;
  const std::size_t dash = range.find('-');
  if (dash == range.npos) return std::nullopt;
  result.first = number(range.substr(0, dash));
  result.last = number(range.substr(dash + 1));
  if (!result.first || !result.last || *result.first > *result.last) return std::nullopt;
  if (result.total && *result.last >= *result.total) return std::nullopt;
  return result;
}

std::optional<std::uint64_t> content_length(const HttpResponse& response) {
  const std::string* value = response.find("content-length");
  return value ? number(*value) : std::nullopt;
}

std::string etag_of(const HttpResponse& response) {
  const std::string* value = response.find("etag");
  if (!value) return "";
  std::string_view tag = *value;
  const bool is_weak = tag.starts_with("W/");
  if (is_weak) tag.remove_prefix(2);
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
    tag = tag.substr(1, tag.size() - 2);
  return (is_weak ? "W/" : "") + std::string(tag);
}

std::int64_t last_modified_ns(const HttpResponse& response) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  const std::string* value = response.find("last-modified");
  const auto seconds = value ? parse_http_date(*value) : std::nullopt;
  if (!seconds || *seconds > INT64_MAX / kNanoseconds || *seconds < INT64_MIN / kNanoseconds) {
    return 0;
  }
  return *seconds * kNanoseconds;
}

ObjectInfo describe_object(const ObjectUrl& url, const HttpResponse& response) {
  ObjectInfo object;
  object.key = url.key;
  object.etag = etag_of(response);
  object.mtime_ns = last_modified_ns(response);
  if (url.scheme == ObjectUrl::Scheme::s3) {
    object.checksum = checksum_of(response);
    object.etag_is_md5 = is_etag_md5(response);
    return object;
  }
  object.etag_is_md5 = false;
  const std::string* ranges = response.find("accept-ranges");
  object.accepts_ranges = ranges && ascii_lower(*ranges) == "bytes";
  return object;
}

bool can_be_matched(std::string_view etag) {
  return !etag.empty() && !etag.starts_with("W/") &&
         std::all_of(etag.begin(), etag.end(),
                     [](unsigned char c) { return c > ' ' && c < 0x7f && c != '"'; });
}

}  // namespace prep
