#include "lib/remote/simple_http.h"

#include <array>
#include <utility>

#include "lib/core/interrupt.h"
#include "lib/remote/curl_handle.h"

namespace prep {
namespace {

constexpr std::size_t kMaxBody = 1 << 20;

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  std::string& body = *static_cast<std::string*>(user);
  const std::size_t bytes = size * count;
  if (body.size() + bytes > kMaxBody) return 0;
  body.append(data, bytes);
  return bytes;
}

int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return interrupt_signal() != 0;
}

void set_request(CURL* easy, const SimpleRequest& request, curl_slist* headers) {
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request.timeout_ms);
  set_use_proxy(easy, request.use_proxy);
  if (request.method == "GET") return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

SimpleResponse exchange_once(CURL* easy, const SimpleRequest& request) {
  SimpleResponse response;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  const CurlList headers = make_header_list(request.headers);
  set_request(easy, request, headers.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error_text.data());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &response.body);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &on_progress);
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  if (code != CURLE_OK) return {0, error_text[0] ? error_text.data() : curl_easy_strerror(code)};
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return response;
}

}  // namespace

SimpleHttp make_simple_http(std::string ca_bundle, std::string user_agent) {
  return [ca_bundle = std::move(ca_bundle),
          user_agent = std::move(user_agent)](const SimpleRequest& request) {
    const CurlEasy easy = make_curl_easy(ca_bundle, user_agent);
    return exchange_once(easy.get(), request);
  };
}

}  // namespace prep
