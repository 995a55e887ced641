#include <catch2/catch.hpp>
#include <chrono>
#include <future>

#include "lib/remote/http_date.h"
#include "lib/remote/transfers.h"
#include "tests/unit/loopback_server.h"

namespace prep::remote_transfers_test {
namespace {

using test::answer;
using test::LoopbackAnswer;
using test::LoopbackRequest;
using test::LoopbackServer;
using Kind = TransferResult::Kind;
using Then = LoopbackAnswer::Then;

// Keeps everything; says "later" to the first piece if told so.
class Collector final : public Receiver {
 public:
  bool on_headers(const HttpResponse&) override { return true; }
  Take on_bytes(ByteView bytes) override {
    if (pauses_left > 0) {
      --pauses_left;
      paused.set_value();
      return Take::later;
    }
    if (cancels) return Take::cancel;
    body += as_text(bytes);
    return Take::taken;
  }
  void on_end(const TransferResult& result) override { end.set_value(result); }
  TransferResult wait() {
    auto future = end.get_future();
    if (future.wait_for(std::chrono::seconds(20)) != std::future_status::ready) FAIL("no end");
    return future.get();
  }

  int pauses_left = 0;
  bool cancels = false;
  std::string body;
  std::promise<void> paused;
  std::promise<TransferResult> end;
};

TransferOptions impatient() {
  TransferOptions options;
  options.stall_s = 0.4;
  options.connect_timeout_s = 2;
  return options;
}

struct Fetch {
  explicit Fetch(Transfers& transfers, const std::string& url, const std::string& method = "GET")
      : id(transfers.start({method, url, {{"x-test", "1"}}, false}, collector)) {}
  std::shared_ptr<Collector> collector = std::make_shared<Collector>();
  Transfers::Id id;
};

TEST_CASE("bodies, headers and the path arrive as they are sent") {
  LoopbackServer server([](const LoopbackRequest& request) {
    return answer(206, request.target, "X-Some: a b \r\nx-Other:c\r\n");
  });
  Transfers transfers(impatient());
  Fetch fetch(transfers, server.url() + "/a/../b//c/%2e?x=1");
  const TransferResult result = fetch.collector->wait();
  CHECK(result.kind == Kind::complete);
  CHECK(result.response.status == 206);
  REQUIRE(result.response.find("x-some"));
  CHECK(*result.response.find("x-some") == "a b");
  CHECK(*result.response.find("x-other") == "c");
  CHECK(result.response.find("nothing") == nullptr);
  CHECK(fetch.collector->body == "/a/../b//c/%2e?x=1");
  CHECK(result.bytes == fetch.collector->body.size());
  CHECK(server.requests()[0].header("x-test") == "1");
  CHECK(server.requests()[0].header("accept-encoding").empty());
}

TEST_CASE("connections are used again, for HEAD and GET alike") {
  LoopbackServer server([](const LoopbackRequest& request) {
    return request.method == "HEAD" ? LoopbackAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"}
                                    : answer(200, "body");
  });
  Transfers transfers(impatient());
  for (int i = 0; i < 3; ++i) {
    Fetch head(transfers, server.url() + "/", "HEAD");
    CHECK(head.collector->wait().kind == Kind::complete);
    CHECK(head.collector->body.empty());
    Fetch get(transfers, server.url() + "/");
    CHECK(get.collector->wait().bytes == 4);
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("redirections are not followed, interim answers not told") {
  LoopbackServer server([](const LoopbackRequest&) {
    LoopbackAnswer reply = answer(302, "", "Location: http://127.0.0.1:1/\r\n");
    reply.bytes = "HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n" + reply.bytes;
    return reply;
  });
  Transfers transfers(impatient());
  Fetch fetch(transfers, server.url() + "/");
  const TransferResult result = fetch.collector->wait();
  CHECK(result.response.status == 302);
  CHECK(result.response.find("x-early") == nullptr);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a body that is cut is cut, however it is announced") {
  const std::string head = GENERATE(std::string("Content-Length: 100\r\n"),
                                    std::string("Transfer-Encoding: chunked\r\n"));
  const Then then = GENERATE(Then::close, Then::reset);
  LoopbackServer server([&](const LoopbackRequest&) {
    const std::string body = head[0] == 'C' ? "half" : "4\r\nhalf\r\n";
    return LoopbackAnswer{"HTTP/1.1 200 OK\r\n" + head + "\r\n" + body, then};
  });
  Transfers transfers(impatient());
  Fetch fetch(transfers, server.url() + "/");
  const TransferResult result = fetch.collector->wait();
  CHECK(result.kind == Kind::cut);
  CHECK(result.response.status == 200);
  CHECK_FALSE(result.message.empty());
}

TEST_CASE("what is stalled is given up, before and within the body") {
  const std::string bytes =
      GENERATE(std::string(), std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
  LoopbackServer server([&](const LoopbackRequest&) { return LoopbackAnswer{bytes, Then::stall}; });
  Transfers transfers(impatient());
  const auto before = std::chrono::steady_clock::now();
  Fetch fetch(transfers, server.url() + "/");
  CHECK(fetch.collector->wait().kind == Kind::stalled);
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(10));
}

TEST_CASE("nobody listens") {
  Transfers transfers(impatient());
  Fetch fetch(transfers, "http://127.0.0.1:1/");
  const TransferResult result = fetch.collector->wait();
  CHECK(result.kind == Kind::refused);
  CHECK(result.response.status == 0);
  Fetch other(transfers, "file:///etc/passwd");
  CHECK(other.collector->wait().kind == Kind::refused);
}

TEST_CASE("a paused exchange loses nothing, and does not count as stalled") {
  const std::string body(3'000'000, 'x');
  LoopbackServer server([&](const LoopbackRequest&) { return answer(200, body); });
  Transfers transfers(impatient());
  const auto collector = std::make_shared<Collector>();
  collector->pauses_left = 1;
  const auto id = transfers.start({"GET", server.url() + "/", {}, false}, collector);
  collector->paused.get_future().wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  transfers.resume(id);
  CHECK(collector->wait().kind == Kind::complete);
  CHECK(collector->body == body);
}

TEST_CASE("exchanges can be cancelled by either side") {
  LoopbackServer server([](const LoopbackRequest&) {
    return LoopbackAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", Then::stall};
  });
  Transfers transfers({});
  Fetch from_outside(transfers, server.url() + "/");
  transfers.cancel(from_outside.id);
  CHECK(from_outside.collector->wait().kind == Kind::cancelled);
  const auto collector = std::make_shared<Collector>();
  collector->cancels = true;
  transfers.start({"GET", server.url() + "/", {}, false}, collector);
  CHECK(collector->wait().kind == Kind::cancelled);
  transfers.cancel(12345);
  transfers.resume(12345);
}

TEST_CASE("the destructor cancels what is under way") {
  LoopbackServer server([](const LoopbackRequest&) { return LoopbackAnswer{"", Then::stall}; });
  const auto collector = std::make_shared<Collector>();
  {
    Transfers transfers({});
    transfers.start({"GET", server.url() + "/", {}, false}, collector);
  }
  CHECK(collector->wait().kind == Kind::cancelled);
}

TEST_CASE("the rate limit holds over all exchanges") {
  const std::string body(200'000, 'x');
  LoopbackServer server([&](const LoopbackRequest&) { return answer(200, body); });
  TransferOptions options = impatient();
  options.bytes_per_s = 800'000;
  Transfers transfers(options);
  const auto before = std::chrono::steady_clock::now();
  Fetch a(transfers, server.url() + "/"), b(transfers, server.url() + "/");
  CHECK(a.collector->wait().bytes == body.size());
  CHECK(b.collector->wait().bytes == body.size());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
  CHECK(took.count() > 0.25);  // 400 kB, of which a tenth of a second's worth is free
  CHECK(took.count() < 10);
}

TEST_CASE("functions are called in order, and later ones later") {
  Transfers transfers({});
  std::string order;
  std::promise<void> done;
  transfers.call_later(0.05, [&] {
    order += "c";
    done.set_value();
  });
  transfers.call([&] { order += "a"; });
  transfers.call([&] { order += "b"; });
  done.get_future().wait();
  CHECK(order == "abc");
}

TEST_CASE("dates of HTTP") {
  CHECK(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == 784111777);
  CHECK(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT") == 0);
  CHECK(parse_http_date("Thu, 29 Feb 2024 23:59:59 GMT") == 1709251199);
  for (const char* text : {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 31 Feb 2024 08:49:37 GMT",
                           "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
                           "Sun, 06 Nov 19x4 08:49:37 GMT"}) {
    CHECK_FALSE(parse_http_date(text));
  }
}

}  // namespace
}  // namespace prep::remote_transfers_test
