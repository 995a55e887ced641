// libcurl's handles, set up as all of our exchanges want them. The one header that shows libcurl.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "lib/remote/sigv4.h"

namespace prep {

// libcurl calls all its handles void*, but each kind has its own way to be freed.
template <auto free_it>
struct FreeCurl {
  void operator()(auto* handle) const { free_it(handle); }
};
using CurlEasy = std::unique_ptr<CURL, FreeCurl<curl_easy_cleanup>>;
using CurlMulti = std::unique_ptr<CURLM, FreeCurl<curl_multi_cleanup>>;
using CurlShare = std::unique_ptr<CURLSH, FreeCurl<curl_share_cleanup>>;
using CurlList = std::unique_ptr<curl_slist, FreeCurl<curl_slist_free_all>>;

// Before anything else of libcurl; thread-safe, and only the first call does it.
void initialise_curl();

// Only http and https, no redirections, no .netrc, no signals, paths as they are, no
// decompression, certificates checked against `ca_bundle` ("": AWS_CA_BUNDLE, the system's).
CurlEasy make_curl_easy(const std::string& ca_bundle, const std::string& user_agent);
// The environment's proxy, or none.
void set_use_proxy(CURL* easy, bool use_proxy);
CurlList make_header_list(const Fields& headers);

}  // namespace prep
