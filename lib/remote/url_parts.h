// A URL taken apart, as far as a server's address is concerned.
#pragma once

#include <string>
#include <string_view>

namespace prep {

struct UrlParts {
  std::string scheme;  // "http" or "https"
  std::string host;    // in lower case, without the scheme's own port: "localhost:7480", "[::1]"
  std::string path;    // without "/" at its end: "" or "/x"

  // Without port; of an IPv6 address without brackets.
  std::string host_name() const;
};

// `host` is "" if it is no URL of http or https, or has a user, a query or a fragment.
UrlParts split_url(std::string_view url);

}  // namespace prep
