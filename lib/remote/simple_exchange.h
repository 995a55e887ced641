// A plain HTTP exchange for those who need one answer now and then (STS, metadata services); handed
// in, so that tests need no network.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace prep {

// `timeout_ms` bounds all of it; redirects are not followed, and a body of more than 1 MB is status
// 0.
struct SimpleRequest {
  std::string method = "GET", url, body;
  std::vector<std::pair<std::string, std::string>> headers;
  long timeout_ms = 1000;
  bool use_proxy = true;  // never for the metadata service
};
struct SimpleResponse {
  int status = 0;  // 0: no answer, `body` says why
  std::string body;
};
using SimpleHttp = std::function<SimpleResponse(const SimpleRequest&)>;

// Asks up to `attempts` times, while there is no answer, or one that says that the server is in
// trouble or has too much to do.
SimpleResponse ask_repeatedly(const SimpleRequest& request, int attempts, const SimpleHttp& http);

}  // namespace prep
