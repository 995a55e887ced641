// What the headers of an answer say about an object and its bytes.
// Source: RFC 9110; "HeadObject", Amazon S3 API Reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/remote/object.h"
#include "lib/remote/transfers.h"

namespace prep {

// "bytes 0-99/1234", "bytes 0-99/*", "bytes */1234".
struct ContentRange {
  std::optional<std::uint64_t> first, last, total;
};
std::optional<ContentRange> parse_content_range(std::string_view value);

std::optional<std::uint64_t> content_length(const HttpResponse& response);
// Without quotes; a weak one keeps its "W/". "" if there is none.
std::string etag_of(const HttpResponse& response);
// 0: not known.
std::int64_t last_modified_ns(const HttpResponse& response);

// Everything but the size. `url` says which kind of server it is.
ObjectInfo describe_object(const ObjectUrl& url, const HttpResponse& response);

// Whether an If-Match with this ETag can hold, and cannot be more than a header.
bool can_be_matched(std::string_view etag);

}  // namespace prep
