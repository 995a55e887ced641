// HTTP exchanges, many at once, on one thread: libcurl's multi interface over epoll.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "lib/core/bytes.h"
#include "lib/remote/sigv4.h"

namespace prep {

struct TransferOptions {
  double connect_timeout_s = 10;
  double stall_s = 30;  // under stall_bytes_per_s for that long: given up
  std::uint64_t stall_bytes_per_s = 1000;
  std::uint64_t bytes_per_s = 0;  // --limit-rate, all transfers together; 0: none
  std::string ca_bundle;          // "": AWS_CA_BUNDLE, the system's
  std::string user_agent;
};

struct HttpRequest {
  std::string method = "GET";  // or "HEAD"
  std::string url;             // as it goes over the wire
  Fields headers;
  bool use_proxy = true;  // what the environment names (http_proxy, https_proxy, no_proxy)
};

struct HttpResponse {
  int status = 0;
  Fields headers;  // names in lower case
  // Null: there is none of that name.
  const std::string* find(std::string_view name) const;
};

// How an exchange ended. Status codes are not judged here.
struct TransferResult {
  enum class Kind {
    complete,   // all bytes that the server promised, if it promised any
    cut,        // the body ended before that, or the connection broke
    stalled,    // too slow for too long, or no connection in time
    refused,    // no connection, no such host
    insecure,   // TLS: the certificate
    cancelled,  // the receiver wanted no more
  } kind = Kind::complete;
  std::string message;  // libcurl's, for people
  HttpResponse response;
  std::uint64_t bytes = 0;  // taken by the receiver
};

// What takes an exchange's bytes. Called on the network thread: must not wait.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // Before the first byte; of a redirection or an error too. false: cancel.
  virtual bool on_headers(const HttpResponse& response) = 0;
  enum class Take { taken, later, cancel };
  // `later`: nothing of it was taken; the exchange pauses until Transfers::resume(), which may come
  // before this returns.
  virtual Take on_bytes(ByteView bytes) = 0;
  // Last call. The receiver may begin new exchanges from here.
  virtual void on_end(const TransferResult& result) = 0;
};

// Thread-safe. Connections stay open between exchanges. Callbacks come from one thread, one at a
// time, and must not throw. Redirections are not followed, bodies not decompressed; certificates
// are checked, ~/.netrc and ~/.curlrc not read.
class Transfers {
 public:
  explicit Transfers(TransferOptions options);
  // Cancels what is under way; functions that were to be called later are not called.
  ~Transfers();

  using Id = std::uint64_t;
  Id start(HttpRequest request, std::shared_ptr<Receiver> receiver);
  // Unknown ids (of exchanges that ended meanwhile) are no error.
  void resume(Id id);
  void cancel(Id id);
  // Calls a function on the network thread, in order, after `seconds`.
  void call(std::function<void()> function);
  void call_later(double seconds, std::function<void()> function);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace prep
