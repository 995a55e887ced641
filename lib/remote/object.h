// What a word on the command line or in a listing names: an object of a store, and one version of
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prep {

// "s3://bucket/key" (the key's bytes as they are, nothing is decoded) or "http(s)://host/path".
struct ObjectUrl {
  enum class Scheme { s3, http };
  Scheme scheme = Scheme::s3;
  std::string bucket;  // s3 only
  std::string key;     // s3: may be "" (the bucket) or a prefix; http: the whole URL

  // For messages, through printable(): as the user wrote it, but for the query of an http URL,
  // which may be a signature that lets anybody in.
  std::string text() const;
};

// throws Error usage.
ObjectUrl parse_object_url(std::string_view word);

// One version of an object: what a listing or a HEAD says.
struct ObjectInfo {
  std::string key;  // exact bytes
  std::uint64_t size = 0;
  std::string etag;           // without quotes; "" where the server gives none
  std::int64_t mtime_ns = 0;  // since 1970; 0: unknown
  // "crc32c:AAAAAA==": x-amz-checksum-*, if the server gave one. "crc32c:": a listing says that
  // there is one of that kind, and a HEAD with x-amz-checksum-mode would tell it.
  std::string checksum;
  bool accepts_ranges = true;  // false where an http server refuses them
  // False where it cannot be: x-amz-server-side-encryption is aws:kms or aws:kms:dsse, there is an
  // x-amz-server-side-encryption-customer-algorithm, or the server is not one of S3's kind.
  bool etag_is_md5 = true;
};

}  // namespace prep
