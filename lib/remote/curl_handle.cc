#include "lib/remote/curl_handle.h"

#include <cstdlib>
#include <new>

#include "lib/core/error.h"

namespace prep {
namespace {

std::string ca_bundle_or_default(const std::string& ca_bundle) {
  if (!ca_bundle.empty()) return ca_bundle;
  const char* named = std::getenv("AWS_CA_BUNDLE");
  return named ? named : "";
}

}  // namespace

void initialise_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) fail(Code::internal, "libcurl: {}", curl_easy_strerror(result));
}

CurlEasy make_curl_easy(const std::string& ca_bundle, const std::string& user_agent) {
  initialise_curl();
  CurlEasy easy(curl_easy_init());
  if (!easy) throw std::bad_alloc();
  CURL* const handle = easy.get();
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  const std::string bundle = ca_bundle_or_default(ca_bundle);
  if (!bundle.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, bundle.c_str());
  const std::string agent = user_agent.empty() ? "preptools" : user_agent;
  curl_easy_setopt(handle, CURLOPT_USERAGENT, agent.c_str());
  return easy;
}

void set_use_proxy(CURL* easy, bool use_proxy) {
  curl_easy_setopt(easy, CURLOPT_PROXY, use_proxy ? nullptr : "");
}

CurlList make_header_list(const Fields& headers) {
  CurlList list;
  for (const auto& [name, value] : headers) {
    // "Name;" is how libcurl wants an empty value to be written.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
    if (!longer) throw std::bad_alloc();
    list.release();
    list.reset(longer);
  }
  return list;
}

}  // namespace prep
