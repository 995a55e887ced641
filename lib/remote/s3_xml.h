// The XML documents that S3 and STS answer with, read from hostile servers too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/remote/object.h"

namespace prep {

// A page of ListObjectsV2 with encoding-type=url. Keys are decoded to their exact bytes; should a
// server ignore the encoding, they are taken as they are.
struct ListPage {
  std::vector<ObjectInfo> objects;
  std::vector<std::string> common_prefixes;
  bool is_truncated = false;
  std::string next_token;  // not empty if is_truncated
};
// throws Error corrupt, limit (more than 16 MB; a key of more than 1,024 bytes is corrupt).
ListPage parse_list_page(std::string_view xml);

// An error as S3 or STS words it. Its texts are the server's: show them through printable().
struct S3Error {
  std::string code, message, region, request_id;  // code "": the body was no S3 error
};
S3Error parse_s3_error(std::string_view xml);

// What STS answers to AssumeRole and AssumeRoleWithWebIdentity.
struct StsCredentials {
  std::string access_key, secret_key, session_token, expiration;
};
// throws Error corrupt, without a word of the document, which may hold secrets.
StsCredentials parse_sts_credentials(std::string_view xml);

}  // namespace prep
