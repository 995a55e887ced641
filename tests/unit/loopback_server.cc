#include "tests/unit/loopback_server.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace prep::test {
namespace {

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  return text;
}

LoopbackRequest parse(const std::string& head) {
  LoopbackRequest request;
  std::istringstream lines(head);
  lines >> request.method >> request.target;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.size() > 1) {
    const std::size_t colon = line.find(':');
    request.headers[lower(line.substr(0, colon))] =
        line.substr(colon + 2, line.size() - colon - 3);  // without "\r"
  }
  return request;
}

bool send_all(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

void reset(int fd) {
  const linger now{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

LoopbackAnswer answer(int status, const std::string& body, const std::string& headers) {
  return {fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                      headers, body)};
}

LoopbackAnswer serve(const LoopbackRequest& request, const std::string& object,
                     const std::string& etag) {
  const std::string tag = fmt::format("ETag: \"{}\"\r\nAccept-Ranges: bytes\r\n", etag);
  if (request.method == "HEAD") {
    return {fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n", object.size(), tag)};
  }
  const std::string range = request.header("range");
  if (range.empty()) return answer(200, object, tag);
  char* end = nullptr;
  const std::size_t first = std::strtoull(range.c_str() + sizeof("bytes=") - 1, &end, 10);
  const std::size_t last =
      std::min<std::size_t>(std::strtoull(end + 1, nullptr, 10), object.size() - 1);
  return answer(206, object.substr(first, last - first + 1),
                tag + fmt::format("Content-Range: bytes {}-{}/{}\r\n", first, last, object.size()));
}

LoopbackServer::LoopbackServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 128) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

LoopbackServer::~LoopbackServer() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
}

std::string LoopbackServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<LoopbackRequest> LoopbackServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void LoopbackServer::accept_all() {
  while (!stopping_) {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, 10) <= 0) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    threads_.emplace_back([this, fd] {
      serve_connection(fd);
      close(fd);
    });
  }
}

void LoopbackServer::serve_connection(int fd) {
  std::string received;
  char buffer[4096];
  while (!stopping_) {
    const std::size_t end = received.find("\r\n\r\n");
    if (end == received.npos) {
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, 10) <= 0) continue;
      const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
      if (n <= 0) return;
      received.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    LoopbackAnswer reply;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(parse(received.substr(0, end + 2)));
      reply = handler_(requests_.back());
    }
    received.erase(0, end + 4);
    if (!send_all(fd, reply.bytes)) return;
    using Then = LoopbackAnswer::Then;
    while (reply.then == Then::stall && !stopping_) usleep(5000);
    if (reply.then == Then::reset) reset(fd);
    if (reply.then != Then::keep) return;
  }
}

}  // namespace prep::test
