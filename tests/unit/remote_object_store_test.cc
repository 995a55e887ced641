#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <future>

#include "lib/remote/connection_governor.h"
#include "lib/remote/object_headers.h"
#include "lib/remote/object_store.h"
#include "lib/remote/retry.h"
#include "lib/remote/store_failure.h"
#include "tests/unit/loopback_server.h"

namespace prep::remote_object_store_test {
namespace {

using Catch::Contains;
using test::answer;
using test::LoopbackAnswer;
using test::LoopbackRequest;
using test::LoopbackServer;
using Then = LoopbackAnswer::Then;

StoreOptions options_for(const LoopbackServer& server) {
  setenv("AWS_ACCESS_KEY_ID", "AKIDTEST", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "verysecret", 1);
  setenv("AWS_CONFIG_FILE", "/dev/null", 1);
  setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
  setenv("no_proxy", "127.0.0.1", 1);
  StoreOptions options;
  options.endpoint.endpoint_url = server.url();
  options.endpoint.region = "us-east-1";
  options.transfer.stall_s = 0.4;
  options.retries = 4;
  return options;
}

const ObjectUrl kUrl{ObjectUrl::Scheme::s3, "bucket", "a key"};

ObjectInfo object_of(const std::string& body, const std::string& etag = "tag") {
  ObjectInfo object;
  object.key = kUrl.key;
  object.size = body.size();
  object.etag = etag;
  return object;
}

std::string error_xml(const std::string& code, const std::string& more = "") {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>why</Message>" + more +
         "<RequestId>R1</RequestId></Error>";
}

class Reader final : public ObjectStore::Reader {
 public:
  explicit Reader(std::uint64_t from) : next(from) {}
  Receiver::Take on_bytes(std::uint64_t offset, ByteView bytes) override {
    if (offset != next) in_order = false;
    next += bytes.size();
    body += as_text(bytes);
    return Receiver::Take::taken;
  }
  void on_done(const std::optional<Error>& error, bool is_changed) override {
    changed = is_changed;
    end.set_value(error);
  }
  std::uint64_t next;
  bool in_order = true, changed = false;
  std::string body;
  std::promise<std::optional<Error>> end;
};

struct Read {
  Read(ObjectStore& store, const ObjectInfo& object, std::uint64_t offset, std::uint64_t length,
       const ObjectUrl& url = kUrl)
      : reader(std::make_shared<Reader>(offset)) {
    store.read(url, object, offset, length, reader);
    error = reader->end.get_future().get();
    CHECK(reader->in_order);
  }
  std::shared_ptr<Reader> reader;
  std::optional<Error> error;
  std::string message() const { return error ? error->what() : ""; }
};

std::string body_of(std::size_t size) {
  std::string body(size, '\0');
  for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>(i * 7 + i / 251);
  return body;
}

TEST_CASE("ranges are asked for by version, whole objects without a range") {
  const std::string body = body_of(100'000);
  LoopbackServer server([&](const LoopbackRequest& r) { return test::serve(r, body, "tag"); });
  ObjectStore store(options_for(server));
  Read part(store, object_of(body), 1000, 5000);
  CHECK_FALSE(part.error);
  CHECK(part.reader->body == body.substr(1000, 5000));
  Read whole(store, object_of(body), 0, body.size());
  CHECK(whole.reader->body == body);
  const auto requests = server.requests();
  CHECK(requests[0].target == "/bucket/a%20key");
  CHECK(requests[0].header("range") == "bytes=1000-5999");
  CHECK(requests[0].header("if-match") == "\"tag\"");
  CHECK_THAT(requests[0].header("authorization"), Contains("AKIDTEST"));
  CHECK(requests[1].header("range").empty());
  CHECK(store.counters().bytes == 105'000);
}

TEST_CASE("of no bytes nothing is asked") {
  LoopbackServer server([](const LoopbackRequest&) { return answer(500, ""); });
  ObjectStore store(options_for(server));
  CHECK_FALSE(Read(store, object_of(""), 0, 0).error);
  CHECK(server.requests().empty());
}

TEST_CASE("a read goes on behind the last byte that came") {
  const std::string body = body_of(300'000);
  const Then then = GENERATE(Then::close, Then::reset, Then::stall);
  int count = 0;
  LoopbackServer server([&](const LoopbackRequest& r) {
    LoopbackAnswer reply = test::serve(r, body, "tag");
    if (++count <= 2) {
      reply.bytes.resize(100'000);
      reply.then = then;
    }
    return reply;
  });
  ObjectStore store(options_for(server));
  Read read(store, object_of(body), 0, body.size());
  CHECK(read.message() == "");
  CHECK(read.reader->body == body);
  CHECK(server.requests().size() == 3);
  CHECK(server.requests()[1].header("range").substr(0, 8) != "bytes=0-");
  CHECK(store.counters().retries == 2);
}

TEST_CASE("faults that pass are tried again") {
  const std::string body = body_of(1000);
  const int status = GENERATE(500, 502, 503, 504, 429, 408);
  int count = 0;
  LoopbackServer server([&](const LoopbackRequest& r) {
    return ++count == 1 ? answer(status, error_xml("Some")) : test::serve(r, body, "tag");
  });
  ObjectStore store(options_for(server));
  Read read(store, object_of(body), 0, body.size());
  CHECK(read.message() == "");
  CHECK(read.reader->body == body);
  CHECK(store.counters().slow_downs == (status == 503 || status == 429 ? 1 : 0));
}

TEST_CASE("answers that look like success and are not") {
  const std::string body = body_of(1000);
  const std::string tag = "ETag: \"tag\"\r\n";
  const std::vector<LoopbackAnswer> bad = {
      answer(200, error_xml("InternalError")),
      answer(206, body.substr(100, 100), tag + "Content-Range: bytes 101-200/1000\r\n"),
      answer(206, body.substr(100, 100), tag),
      answer(206, body.substr(100, 50), tag + "Content-Range: bytes 100-199/1000\r\n"),
      answer(200, body, tag),  // all of it
      answer(204, "", tag),
      {"HTTP/1.1 206 X\r\n" + tag + "Content-Range: bytes 100-199/1000\r\n\r\n" +
           body.substr(100, 4),
       Then::close},
      {"HTTP/1.1 206 X\r\n" + tag + "Content-Range: bytes 100-199/1000\r\n\r\n" +
           body.substr(100, 150),
       Then::close},
  };
  const std::size_t which = GENERATE(range(std::size_t{0}, std::size_t{8}));
  int count = 0;
  LoopbackServer server([&](const LoopbackRequest& r) {
    return ++count == 1 ? bad[which] : test::serve(r, body, "tag");
  });
  ObjectStore store(options_for(server));
  Read read(store, object_of(body), 100, 100);
  CAPTURE(which);
  CHECK(read.message() == "");
  CHECK(read.reader->body == body.substr(100, 100));
  CHECK(count == 2);
}

TEST_CASE("a server that ignores ranges is found out") {
  const std::string body = body_of(1000);
  LoopbackServer server(
      [&](const LoopbackRequest&) { return answer(200, body, "ETag: \"tag\"\r\n"); });
  ObjectStore store(options_for(server));
  Read middle(store, object_of(body), 100, 100);
  REQUIRE(middle.error);
  CHECK(middle.error->code() == Code::unsupported);
  ObjectInfo object = object_of(body);
  object.accepts_ranges = false;
  Read rest(store, object, 100, 900);
  CHECK(rest.message() == "");
  CHECK(rest.reader->body == body.substr(100));
  CHECK(server.requests().back().header("range").empty());
}

TEST_CASE("another version is told as such, at once") {
  const std::string body = body_of(1000);
  const std::vector<LoopbackAnswer> other = {
      answer(412, error_xml("PreconditionFailed")), answer(416, error_xml("InvalidRange")),
      answer(206, body.substr(100, 100), "ETag: \"new\"\r\nContent-Range: bytes 100-199/1000\r\n"),
      answer(206, body.substr(100, 100), "ETag: \"tag\"\r\nContent-Range: bytes 100-199/1001\r\n")};
  const std::size_t which = GENERATE(range(std::size_t{0}, std::size_t{4}));
  LoopbackServer server([&](const LoopbackRequest&) { return other[which]; });
  ObjectStore store(options_for(server));
  Read read(store, object_of(body), 100, 100);
  REQUIRE(read.error);
  CHECK(read.reader->changed);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("errors that do not pass are told at once, without secrets") {
  const int status = GENERATE(403, 404);
  LoopbackServer server([&](const LoopbackRequest&) {
    return answer(status, error_xml(status == 403 ? "AccessDenied" : "NoSuchKey"),
                  "x-amz-request-id: REQ7\r\n");
  });
  ObjectStore store(options_for(server));
  Read read(store, object_of("12345"), 0, 5);
  REQUIRE(read.error);
  CHECK(read.error->code() == (status == 403 ? Code::io : Code::not_found));
  for (const std::string part : {"s3://bucket/a key", "REQ7", "us-east-1"}) {
    CHECK_THAT(read.message(), Contains(part));
  }
  CHECK_THAT(read.message(), Contains(server.url()));
  CHECK_THAT(read.message(), !Contains("verysecret"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("retries end") {
  LoopbackServer server([](const LoopbackRequest&) {
    return answer(503, error_xml("SlowDown"), "Retry-After: 0\r\n");
  });
  StoreOptions options = options_for(server);
  options.retries = 2;
  ObjectStore store(options);
  Read read(store, object_of("12345"), 0, 5);
  CHECK_THAT(read.message(), Contains("tried 3 times") && Contains("SlowDown"));
  CHECK(server.requests().size() == 3);
}

TEST_CASE("the region that the server names is used from then on") {
  const std::string body = body_of(10);
  const int status = GENERATE(301, 307, 400);
  const bool in_header = GENERATE(true, false);
  LoopbackServer server([&](const LoopbackRequest& r) {
    if (r.header("authorization").find("/eu-west-1/s3/") != std::string::npos) {
      return test::serve(r, body, "tag");
    }
    return in_header ? answer(status, "", "x-amz-bucket-region: eu-west-1\r\n")
                     : answer(status, error_xml("AuthorizationHeaderMalformed",
                                                "<Region>eu-west-1</Region>"));
  });
  ObjectStore store(options_for(server));
  CHECK(Read(store, object_of(body), 0, 10).message() == "");
  CHECK(Read(store, object_of(body), 0, 10).message() == "");
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a region that is none is not believed") {
  LoopbackServer server([&](const LoopbackRequest&) {
    return answer(301, "", "x-amz-bucket-region: evil.example/\r\n");
  });
  ObjectStore store(options_for(server));
  CHECK_THAT(Read(store, object_of("12345"), 0, 5).message(), Contains("evil.example"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a clock that is wrong is corrected, for HEAD too") {
  const std::string body = body_of(10);
  LoopbackServer server([&](const LoopbackRequest& r) {
    if (r.header("x-amz-date").substr(0, 8) == "20010203") return test::serve(r, body, "tag");
    const std::string date = "Date: Sat, 03 Feb 2001 04:05:06 GMT\r\n";
    return r.method == "HEAD"
               ? LoopbackAnswer{"HTTP/1.1 403 X\r\nContent-Length: 9\r\n" + date + "\r\n"}
               : answer(403, error_xml("RequestTimeTooSkewed"), date);
  });
  ObjectStore store(options_for(server));
  const bool head_first = GENERATE(true, false);
  if (head_first) CHECK(store.head(kUrl).size == 10);
  CHECK(Read(store, object_of(body), 0, 10).message() == "");
  CHECK(server.requests().size() == (head_first ? 3 : 2));
}

TEST_CASE("expired credentials are looked for once more, and once only") {
  setenv("AWS_SESSION_TOKEN", "old", 1);
  const std::string body = body_of(10);
  const bool gets_better = GENERATE(true, false);
  LoopbackServer server([&](const LoopbackRequest& r) {
    if (r.header("x-amz-security-token") == "new") return test::serve(r, body, "tag");
    if (gets_better) setenv("AWS_SESSION_TOKEN", "new", 1);
    return answer(400, error_xml("ExpiredToken"));
  });
  ObjectStore store(options_for(server));
  Read read(store, object_of(body), 0, 10);
  CHECK(read.error.has_value() == !gets_better);
  CHECK(server.requests().size() == 2);
  unsetenv("AWS_SESSION_TOKEN");
}

std::string page(const std::vector<std::string>& keys, const std::string& next) {
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>";
  for (const std::string& key : keys) {
    xml += "<Contents><Key>" + key + "</Key><Size>3</Size><ETag>\"e\"</ETag></Contents>";
  }
  xml += next.empty() ? "<IsTruncated>false</IsTruncated>"
                      : "<IsTruncated>true</IsTruncated><NextContinuationToken>" + next +
                            "</NextContinuationToken>";
  return xml + "</ListBucketResult>";
}

std::vector<std::string> keys_of(ObjectStore& store, std::size_t most = 100) {
  std::vector<std::string> keys;
  store.list({ObjectUrl::Scheme::s3, "bucket", "p/"}, [&](ObjectInfo&& object) {
    keys.push_back(object.key);
    return keys.size() < most;
  });
  return keys;
}

TEST_CASE("listings go on from page to page, through faults") {
  int count = 0;
  LoopbackServer server([&](const LoopbackRequest& r) {
    CHECK_THAT(r.target, Contains("prefix=p%2F") && Contains("list-type=2"));
    switch (++count) {
      case 1:
        return answer(200, error_xml("InternalError"));
      case 2:
        return LoopbackAnswer{"HTTP/1.1 200 OK\r\n\r\n" + page({"p/a"}, "t1").substr(0, 90),
                              Then::close};
      default:
        return r.target.find("continuation-token=t%2B1") != std::string::npos
                   ? answer(200, page({"p/c"}, ""))
                   : answer(200, page({"p/a", "p/b%20"}, "t+1"));
    }
  });
  ObjectStore store(options_for(server));
  CHECK(keys_of(store) == std::vector<std::string>{"p/a", "p/b ", "p/c"});
  CHECK(keys_of(store, 1) == std::vector<std::string>{"p/a"});
}

TEST_CASE("listings that cannot be") {
  const std::string xml = GENERATE(as<std::string>{}, page({"p/a"}, "same"), page({"q"}, ""));
  LoopbackServer server([&](const LoopbackRequest&) { return answer(200, xml); });
  ObjectStore store(options_for(server));
  CHECK_THROWS_AS(keys_of(store), Error);
}

TEST_CASE("plain HTTP: sizes, ranges, servers that refuse HEAD") {
  const std::string body = body_of(1000);
  const bool refuses_head = GENERATE(true, false);
  const bool has_ranges = GENERATE(true, false);
  LoopbackServer server([&](const LoopbackRequest& r) {
    CHECK(r.header("authorization").empty());
    if (r.method == "HEAD" && refuses_head) {
      return LoopbackAnswer{"HTTP/1.1 405 X\r\nContent-Length: 0\r\n\r\n"};
    }
    if (has_ranges) return test::serve(r, body, "tag");
    return r.method == "HEAD"
               ? LoopbackAnswer{"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"tag\"\r\n\r\n"}
               : answer(200, body, "ETag: \"tag\"\r\n");
  });
  ObjectStore store(options_for(server));
  const ObjectUrl url{ObjectUrl::Scheme::http, "", server.url() + "/x?sig=1"};
  const ObjectInfo object = store.head(url);
  CHECK(object.size == 1000);
  CHECK(object.etag == "tag");
  CHECK(object.accepts_ranges == has_ranges);
  CHECK_FALSE(object.etag_is_md5);
  Read read(store, object, 0, 1000, url);
  CHECK(read.reader->body == body);
  CHECK(store.endpoint_name(url) == server.url());
}

TEST_CASE("a store that goes away tells its readers") {
  LoopbackServer server([](const LoopbackRequest&) { return LoopbackAnswer{"", Then::stall}; });
  const auto reader = std::make_shared<Reader>(0);
  {
    StoreOptions options = options_for(server);
    options.transfer.stall_s = 30;
    ObjectStore store(options);
    store.read(kUrl, object_of("12345"), 0, 5, reader);
  }
  const auto error = reader->end.get_future().get();
  REQUIRE(error);
  CHECK(error->code() == Code::interrupted);
}

// --- the pieces ----------------------------------------------------------------------------------

TEST_CASE("ranges in headers") {
  const auto range = parse_content_range("bytes 5-9/100");
  REQUIRE(range);
  CHECK(range->first == 5u);
  CHECK(range->last == 9u);
  CHECK(range->total == 100u);
  CHECK(parse_content_range("bytes */100")->total == 100u);
  CHECK_FALSE(parse_content_range("bytes 5-9/*")->total);
  for (const char* text : {"", "5-9/100", "bytes 9-5/100", "bytes 5-100/100", "bytes -5/100",
                           "bytes 5-9", "bytes 5-9/99999999999999999999"}) {
    CHECK_FALSE(parse_content_range(text));
  }
}

TEST_CASE("what headers say of an object") {
  HttpResponse response{200,
                        {{"etag", "\"abc\""},
                         {"x-amz-server-side-encryption", "aws:kms"},
                         {"x-amz-checksum-crc32c", "AAAAAA=="}}};
  const ObjectInfo object = describe_object(kUrl, response);
  CHECK(object.etag == "abc");
  CHECK_FALSE(object.etag_is_md5);
  CHECK(object.checksum == "crc32c:AAAAAA==");
  CHECK(etag_of({200, {{"etag", "W/\"x\""}}}) == "W/x");
  CHECK(can_be_matched("abc-3"));
  CHECK_FALSE(can_be_matched("W/x"));
  CHECK_FALSE(can_be_matched("a\r\nb: c"));
  CHECK_FALSE(can_be_matched(""));
}

TEST_CASE("pauses between tries") {
  std::mt19937_64 random(1);
  for (int failures = 0; failures < 40; ++failures) {
    const double delay = retry_delay_s(failures, std::nullopt, random);
    CHECK(delay >= 0);
    CHECK(delay <= std::min(20.0, 0.1 * std::pow(2, failures)));
  }
  CHECK(retry_delay_s(1, 7, random) >= 7);
  CHECK(retry_delay_s(1, 1e9, random) <= 61);
  CHECK(parse_retry_after("120", 0) == 120.0);
  CHECK(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", 784111770) == 7.0);
  CHECK_FALSE(parse_retry_after("soon", 0));
}

TEST_CASE("progress renews the budget, but not a byte a time") {
  RetryBudget budget(2);
  CHECK(budget.spend());
  CHECK(budget.spend());
  budget.progress(1000);
  CHECK_FALSE(budget.spend());
  budget.progress(64 << 10);
  CHECK(budget.spend());
  CHECK(budget.tries() == 4);
}

// What a governor does when `n` requests at once bring rate_of(n) bytes a second.
template <typename Rate>
void run(ConnectionGovernor& governor, double from, double until, Rate rate_of) {
  double bytes = 1e6 * from;
  for (double now = from; now < until; now += 0.01) {
    bytes += 0.01 * rate_of(governor.target());
    governor.observe(now, static_cast<std::uint64_t>(bytes), 0, 0, true);
  }
}

TEST_CASE("connections grow while that pays off, and give way") {
  ConnectionGovernor governor(0, 64);
  CHECK(governor.target() == 8);
  run(governor, 0, 2, [](int n) { return 1e6 * n; });
  CHECK(governor.target() == 64);
  governor.observe(2, 1'000'000'000, 0, 5, true);
  CHECK(governor.target() == 32);
  governor.observe(2.1, 1'000'000'000, 0, 9, true);  // the same complaint
  CHECK(governor.target() == 32);
}

TEST_CASE("connections stay where more of them bring nothing") {
  ConnectionGovernor governor(0, 64);
  run(governor, 0, 2, [](int) { return 1e8; });
  CHECK(governor.target() == 8);
  CHECK(ConnectionGovernor(3, 64).target() == 3);
  CHECK(ConnectionGovernor(300, 64).target() == 64);
}

}  // namespace
}  // namespace prep::remote_object_store_test
