// An HTTP server on 127.0.0.1 that answers, byte for byte, as a test wants it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace prep::test {

struct LoopbackRequest {
  std::string method, target;                  // "/bucket/key?a=b"
  std::map<std::string, std::string> headers;  // names in lower case
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct LoopbackAnswer {
  std::string bytes;  // head and body
  enum class Then { keep, close, reset, stall } then = Then::keep;
};

// "HTTP/1.1 STATUS …", Content-Length, the headers ("Name: value\r\n"…), the body.
LoopbackAnswer answer(int status, const std::string& body, const std::string& headers = "");

// The range that a request asks for of `object`, or all of it, with this ETag.
LoopbackAnswer serve(const LoopbackRequest& request, const std::string& object,
                     const std::string& etag);

class LoopbackServer {
 public:
  using Handler = std::function<LoopbackAnswer(const LoopbackRequest&)>;
  // `handler` is called by one thread at a time.
  explicit LoopbackServer(Handler handler);
  ~LoopbackServer();

  std::string url() const;  // "http://127.0.0.1:PORT"
  std::vector<LoopbackRequest> requests() const;
  int connections() const { return connections_; }

 private:
  void accept_all();
  void serve_connection(int fd);

  Handler handler_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  std::vector<LoopbackRequest> requests_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace prep::test
